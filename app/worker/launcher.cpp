// SPDX-License-Identifier: Apache-2.0
#include "app/worker/launcher.h"

#include "app/worker/workerprocess.h"
#include "model/core/text.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace shardboard {

namespace {

bool isOnPath(const std::string& program)
{
    const char* path = std::getenv("PATH");
    std::string rest = path != nullptr ? path : "";
    while (!rest.empty()) {
        const auto end = rest.find(':');
        if (access((rest.substr(0, end) + "/" + program).c_str(), X_OK) == 0)
            return true;
        rest = end == std::string::npos ? "" : rest.substr(end + 1);
    }
    return false;
}

std::string quoted(const std::string& text)
{
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

bool isFile(const std::string& path)
{
    std::error_code ignored; // a name that no file can have names none
    return std::filesystem::is_regular_file(path, ignored);
}

bool isList(const std::string& hosts) { return hosts.find('/') == std::string::npos && !isFile(hosts); }

/// A list as mpirun reads it, which takes slots that are no number as any number of them. Empty, or what is wrong.
std::string whyNoList(const std::string& hosts)
{
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = hosts.find(',', begin);
        const std::string entry = hosts.substr(begin, end == std::string::npos ? end : end - begin);
        const auto colon = entry.find(':');
        const std::string name = entry.substr(0, colon);
        if (name.empty() || name.front() == '-' || name.find_first_of(" \t\n") != std::string::npos)
            return "'" + entry + "' is no host";
        if (colon == std::string::npos)
            continue;
        const auto places = parseInteger(entry.substr(colon + 1));
        if (!places || *places < 1)
            return "'" + entry.substr(colon + 1) + "' of '" + entry + "' is not a number of processes";
    }
    return {};
}

/// The same of a hostfile.
std::string whyNoHostfile(const std::string& path)
{
    if (!isFile(path))
        return "there is no hostfile '" + path + "'";
    std::ifstream file(path);
    if (!file)
        return "the hostfile '" + path + "' cannot be read";
    for (std::string line; std::getline(file, line);)
        if (const auto first = line.find_first_not_of(" \t\r"); first != std::string::npos && line[first] != '#')
            return {};
    return "the hostfile '" + path + "' names no host";
}

} // namespace

Result<EngineStart> engineStartOf(const Arguments& arguments, const std::string& backend)
{
    EngineStart out;
    out.engine = arguments.text("--engine");
    out.hosts = arguments.text("--hosts");
    const auto ranks = arguments.integer("--ranks", 0, 1, 4096);
    if (!ranks.ok())
        return ranks.error();
    out.ranks = ranks.value();
    for (const char* option : { "--ranks", "--hosts" }) {
        if (arguments.has(option) && backend != "mpi" && backend != "nccl")
            return usageError(option, "it is for the backends mpi and nccl", "leave it out, or name one of these with --backend");
        if (arguments.has(option) && !out.engine.empty())
            return usageError(option, "it is for mpirun when that is started here", "give it to mpirun or srun in --engine");
        if (arguments.has(option) && std::getenv("SHARDBOARD_ENGINE") != nullptr)
            return usageError(option, "SHARDBOARD_ENGINE says how the worker is started", "give it to mpirun or srun there");
    }
    if (!arguments.has("--hosts"))
        return out;
    if (const std::string wrong = isList(out.hosts) ? whyNoList(out.hosts) : whyNoHostfile(out.hosts); !wrong.empty())
        return inputError("--hosts", wrong, "name hosts as host1:2,host2:2, or a hostfile");
    return out;
}

Result<std::string> engineCommandFor(const std::string& backend, const EngineStart& start, std::int64_t devices)
{
    const bool together = backend == "mpi" || (backend == "nccl" && (start.ranks > 1 || !start.hosts.empty()));
    if (!start.engine.empty() || !together || std::getenv("SHARDBOARD_ENGINE") != nullptr)
        return start.engine;
    if (!isOnPath("mpirun"))
        return Error { ErrorCode::Engine, "--backend",
                       "the backend " + backend + " is started by mpirun for that, which is not here",
                       "install openmpi-bin, or name the command with --engine (srun …)" };
    const bool here = start.hosts.empty();
    const std::int64_t cores = std::max<std::int64_t>(2, std::thread::hardware_concurrency());
    const std::int64_t processes = start.ranks > 0 || !here ? start.ranks : std::clamp<std::int64_t>(devices, 1, cores);
    std::string command = "exec env";
    if (geteuid() == 0) // the user is asked whether that is wise by whoever made this machine, not by us
        command += " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    command += " mpirun";
    if (processes > 0)
        command += " -n " + std::to_string(processes);
    // More processes than cores are fine: who waits sleeps.
    command += " --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 ";
    if (here)
        command += "--mca btl self,vader ";
    else // between hosts as Open MPI finds best, or has been told for this machine
        command += (isList(start.hosts) ? "--host " : "--hostfile ") + quoted(start.hosts) + " ";
    return command + quoted(WorkerProcess::ownEngine());
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "app/worker/workercommand.h"

#include "app/worker/hosts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
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

} // namespace

std::string ownEngine()
{
    std::array<char, 4096> path {};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string self(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    const auto slash = self.rfind('/');
    return slash == std::string::npos ? "shardboard-engine" : self.substr(0, slash + 1) + "shardboard-engine";
}

std::string chosenCommand(const std::string& setting)
{
    const char* variable = std::getenv("SHARDBOARD_ENGINE");
    return variable != nullptr && *variable != '\0' ? variable : setting;
}

std::optional<std::string> programAlone(const std::string& command)
{
    const auto begin = command.find_first_not_of(" \t");
    if (begin == std::string::npos)
        return ownEngine();
    std::string word = command.substr(begin, command.find_last_not_of(" \t") + 1 - begin);
    const bool inQuotes = word.size() > 2 && (word.front() == '"' || word.front() == '\'') && word.back() == word.front();
    if (inQuotes)
        word = word.substr(1, word.size() - 2);
    const bool readOtherwise = word.find_first_of(inQuotes ? "\"'\\$`" : " \t\n\"'\\$`;&|<>()*?[]{}#~=!") != std::string::npos;
    return readOtherwise ? std::nullopt : std::optional(word);
}

std::optional<std::string> mpirunCommand(const std::string& program, std::int64_t processes, const std::string& hosts)
{
    if (!isOnPath("mpirun"))
        return std::nullopt;
    std::string command = "exec env";
    if (geteuid() == 0) // the user is asked whether that is wise by whoever made this machine, not by us
        command += " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    command += " mpirun";
    if (processes > 0)
        command += " -n " + std::to_string(processes);
    // More processes than cores are fine: who waits sleeps.
    command += " --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 ";
    if (hosts.empty())
        command += "--mca btl self,vader ";
    else // between hosts as Open MPI finds best, or has been told for this machine
        command += (isHostList(hosts) ? "--host " : "--hostfile ") + quoted(hosts) + " ";
    return command + quoted(program);
}

Result<std::string> engineCommandFor(const std::string& backend, const EngineStart& start, std::int64_t devices)
{
    const bool severalProcesses = backend == "mpi" || (backend == "nccl" && (start.ranks > 1 || !start.hosts.empty()));
    if (!start.engine.empty() || !severalProcesses || !chosenCommand({}).empty())
        return start.engine;
    const std::int64_t cores = std::max<std::int64_t>(2, std::thread::hardware_concurrency());
    const bool chooses = start.ranks == 0 && start.hosts.empty();
    auto command = mpirunCommand(ownEngine(), chooses ? std::clamp<std::int64_t>(devices, 1, cores) : start.ranks, start.hosts);
    if (!command)
        return Error { ErrorCode::Engine, "--backend",
                       "the backend " + backend + " is started by mpirun for that, which is not here",
                       "install openmpi-bin, or name the command with --engine (srun …)" };
    return *std::move(command);
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/launcher.h"

#include "app/ctl/workerprocess.h"

#include <algorithm>
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

Result<EngineStart> engineStartOf(const Arguments& arguments, const std::string& backend)
{
    EngineStart out;
    out.engine = arguments.text("--engine");
    out.hosts = arguments.text("--hosts");
    const auto ranks = arguments.integer("--ranks", 0, 1, 4096);
    if (!ranks.ok())
        return ranks.error();
    out.ranks = ranks.value();
    for (const char* option : { "--ranks", "--hosts" })
        if (arguments.has(option) && ((backend != "mpi" && backend != "nccl") || !out.engine.empty()))
            return usageError(option, "it is for the backends mpi and nccl where mpirun is started here", "give it to mpirun or srun in --engine");
    if (out.hosts.find('/') != std::string::npos && access(out.hosts.c_str(), R_OK) != 0)
        return inputError("--hosts", "there is no hostfile '" + out.hosts + "'", "name one, or hosts as host1:2,host2:2");
    return out;
}

Result<std::string> engineCommandFor(const std::string& backend, const EngineStart& start, std::int64_t devices)
{
    const bool together = backend == "mpi" || (backend == "nccl" && (start.ranks > 1 || !start.hosts.empty()));
    if (!start.engine.empty() || !together || std::getenv("SHARDBOARD_ENGINE") != nullptr)
        return start.engine;
    if (!isOnPath("mpirun"))
        return Error { ErrorCode::Engine, "--backend", "the backend " + backend + " is started by mpirun for that, which is not here",
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
        command += (access(start.hosts.c_str(), R_OK) == 0 ? "--hostfile " : "--host ") + quoted(start.hosts) + " ";
    return command + quoted(WorkerProcess::ownEngine());
}

} // namespace shardboard

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

Result<std::string> engineCommandFor(const std::string& backend, const std::string& engine, std::int64_t ranks, std::int64_t devices)
{
    if (!engine.empty() || backend != "mpi" || std::getenv("SHARDBOARD_ENGINE") != nullptr)
        return engine;
    if (!isOnPath("mpirun"))
        return Error { ErrorCode::Engine, "--backend", "the backend mpi is started by mpirun, which is not here",
                       "install openmpi-bin, or name the command with --engine (srun …)" };
    const std::int64_t cores = std::max<std::int64_t>(2, std::thread::hardware_concurrency());
    const std::int64_t processes = ranks > 0 ? ranks : std::clamp<std::int64_t>(devices, 1, cores);
    std::string command = "exec env";
    if (geteuid() == 0) // the user is asked whether that is wise by whoever made this machine, not by us
        command += " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    // More processes than cores are fine: who waits sleeps.
    command += " mpirun -n " + std::to_string(processes) + " --oversubscribe --bind-to none --mca btl self,vader --mca mpi_yield_when_idle 1 ";
    return command + quoted(WorkerProcess::ownEngine());
}

} // namespace shardboard

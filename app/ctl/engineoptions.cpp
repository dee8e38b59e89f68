// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/engineoptions.h"

#include "app/worker/hosts.h"

namespace shardboard {

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
        if (arguments.has(option) && !chosenCommand({}).empty())
            return usageError(option, "SHARDBOARD_ENGINE says how the worker is started", "give it to mpirun or srun there");
    }
    if (!arguments.has("--hosts"))
        return out;
    if (const auto status = checkHosts(out.hosts, "--hosts"); !status.ok())
        return status.error();
    return out;
}

} // namespace shardboard

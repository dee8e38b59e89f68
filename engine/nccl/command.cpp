// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/command.h"

#include "engine/machine/failure.h"
#include "engine/nccl/rankcheck.h"
#include "engine/nccl/ranks.h"
#ifdef SHARDBOARD_NCCL
#include "engine/cuda/cudaruntime.h"
#include "engine/nccl/gpuassignment.h"
#include "engine/nccl/library.h"
#endif

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace shardboard::engine::nccl {

namespace {

constexpr int kCannot = 4;

#ifdef SHARDBOARD_NCCL
int check(int count)
{
    if (const std::string missing = cuda::whyNoGpu(); !missing.empty())
        throw Failure { "backend", missing, "nccl" };
    if (!whyProcessesAreApart(1, [](const char* name) { return std::getenv(name); }).empty())
        throw Failure {
            "backend",
            "it drives all GPUs of a machine from one process, and a launcher has started several; start it without mpirun or "
            "srun, or try several processes with --conformance nccl",
            "nccl"
        };
    const int there = cuda::gpuCount();
    count = count > 0 ? count : there;
    if (count < 2 || count > there)
        throw Failure { "backend",
                        there < 2 ? "it takes 2 GPUs or more, a rank on each, and there is 1"
                                  : std::to_string(count) + " GPUs were asked for and there are " + std::to_string(there),
                        "nccl" };
    std::vector<std::unique_ptr<cuda::Runtime>> owned;
    std::vector<cuda::Runtime*> gpus;
    for (int device = 0; device < count; ++device) {
        owned.push_back(cuda::makeCudaRuntime(device));
        gpus.push_back(owned.back().get());
    }
    Library library(gpus);
    Process process(library.functions(), [&](const Communicator& wanted, int& number) { return library.split(wanted, number); });
    Ranks ranks(gpus, process);
    const RanksChecked checked = checkRanks(ranks, count, 200, 5);
    std::printf("%d reshard steps on %d GPUs by NCCL, %zu communicators: %s\n", checked.steps, count, process.communicators() + 1,
                checked.wrong.empty() ? "all as on the CPU" : checked.wrong.c_str());
    return checked.wrong.empty() && checked.steps > 0 ? 0 : 1;
}
#else
int check(int)
{
    throw Failure { "backend", "this build has no CUDA or no header of NCCL (nccl.h, 2.18 or newer); install both and build again",
                    "nccl" };
}
#endif

} // namespace

int checkCommand(int ranks)
{
    try {
        return check(ranks);
    } catch (const Failure& failure) { // what is missing here is a failure of the backend; everything else is one of NCCL
        const bool tried = failure.code != "backend";
        std::printf(tried ? "NCCL failed: %s\n" : "NCCL was not tried: %s\n", failure.message.c_str());
        return tried ? 1 : kCannot;
    } catch (const std::exception& e) {
        std::printf("NCCL failed: %s\n", e.what());
        return 1;
    }
}

} // namespace shardboard::engine::nccl

// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/command.h"

#include "engine/failure.h"
#include "engine/nccl/ranks.h"
#ifdef SHARDBOARD_NCCL
#include "engine/cuda/cudaruntime.h"
#include "engine/nccl/library.h"
#endif

#include <cstdio>
#include <exception>

namespace shardboard::engine::nccl {

namespace {

constexpr int kCannot = 4;

#ifdef SHARDBOARD_NCCL
int check(int count)
{
    if (const std::string missing = cuda::whyNoGpu(); !missing.empty())
        throw Failure { "backend", missing, "nccl" };
    const int there = cuda::gpuCount();
    count = count > 0 ? count : there;
    if (count < 2 || count > there)
        throw Failure { "backend", "it takes 2 GPUs or more, a rank on each, and there " + std::string(there == 1 ? "is 1" : "are " + std::to_string(there)), "nccl" };
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
int check(int) { throw Failure { "backend", "this build has no CUDA or no header of NCCL (nccl.h); install both and build again", "nccl" }; }
#endif

} // namespace

int checkCommand(int ranks)
{
    try {
        return check(ranks);
    } catch (const Failure& failure) {
        std::printf("NCCL was not tried: %s\n", failure.message.c_str());
    } catch (const std::exception& e) {
        std::printf("NCCL was not tried: %s\n", e.what());
    }
    return kCannot;
}

} // namespace shardboard::engine::nccl

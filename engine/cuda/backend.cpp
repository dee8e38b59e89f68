// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/backend.h"

#include "engine/cuda/cudaexecutor.h"
#include "engine/cuda/cudaruntime.h"

#include <memory>

namespace shardboard::engine {

namespace {

/// One GPU and its executor, made with the first run and kept: the libraries take long to start.
struct Gpu {
    std::unique_ptr<cuda::Runtime> runtime = cuda::makeCudaRuntime();
    cuda::CudaExecutor executor { *runtime };
};

RunOutcome runOnGpu(const Program& program, const RunOptions& options, const RunHooks& hooks, const RunLimits& limits)
{
    static std::unique_ptr<Gpu> gpu; // one run at a time: the worker sees to that
    try {
        if (gpu == nullptr)
            gpu = std::make_unique<Gpu>();
    } catch (const Failure& failure) {
        return failure;
    }
    RunOutcome outcome = runProgramOn(gpu->executor, program, options, hooks, limits);
    if (const auto* failure = std::get_if<Failure>(&outcome); failure != nullptr && failure->code == "internal")
        gpu.reset(); // after an error of the driver nothing of it can be used again
    return outcome;
}

} // namespace

Backend cudaBackend()
{
    Backend cuda;
    cuda.name = "cuda";
    cuda.claims = { DType::F32, DType::BF16, DType::F16 };
    cuda.unusable = cuda::whyNoGpu();
    if (!cuda.usable())
        return cuda;
    const cuda::GpuFacts facts = cuda::gpuFacts();
    cuda.devices.push_back({ { "name", facts.name }, { "threads", facts.multiprocessors }, { "memory_bytes", facts.memoryBytes } });
    cuda.run = runOnGpu;
    return cuda;
}

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/backend.h"

#include "engine/calibrate/calibrate.h"
#include "engine/cuda/cudaexecutor.h"
#include "engine/cuda/cudaruntime.h"

#include <functional>
#include <memory>

namespace shardboard::engine {

namespace {

/// One GPU and its executor, made with the first run and kept: the libraries take long to start.
struct Gpu {
    std::unique_ptr<cuda::Runtime> runtime = cuda::makeCudaRuntime();
    cuda::CudaExecutor executor { *runtime };
};

std::unique_ptr<Gpu>& theGpu()
{
    static std::unique_ptr<Gpu> gpu; // one run at a time: the worker sees to that
    return gpu;
}

/// Does it on the GPU. After an error of the driver nothing of it can be used again.
template <class Outcome>
Outcome onGpu(const std::function<Outcome(Gpu&)>& work)
{
    std::unique_ptr<Gpu>& gpu = theGpu();
    try {
        if (gpu == nullptr)
            gpu = std::make_unique<Gpu>();
    } catch (const Failure& failure) {
        return failure;
    }
    Outcome outcome = work(*gpu);
    if (const auto* failure = std::get_if<Failure>(&outcome); failure != nullptr && failure->code == "internal")
        gpu.reset();
    return outcome;
}

RunOutcome runOnGpu(const RunRequest& request)
{
    return onGpu<RunOutcome>([&](Gpu& gpu) { return runProgram(request, gpu.executor); });
}

} // namespace

Backend cudaBackend()
{
    Backend cuda;
    cuda.name = "cuda";
    cuda.onGpus = true;
    cuda.claims = { DType::F32, DType::BF16, DType::F16 };
    cuda.unusable = cuda::whyNoGpu();
    if (!cuda.usable())
        return cuda;
    const cuda::GpuFacts facts = cuda::gpuFacts();
    cuda.devices.push_back({ { "name", facts.name }, { "threads", facts.multiprocessors }, { "memory_bytes", facts.memoryBytes } });
    cuda.run = runOnGpu;
    cuda.calibrate = [name = facts.name](const CalibrationOptions& options, const CalibrateHooks& hooks) {
        return onGpu<std::variant<Calibration, Failure>>([&](Gpu& gpu) { return calibrateOn(gpu.executor, name, options, hooks); });
    };
    return cuda;
}

} // namespace shardboard::engine

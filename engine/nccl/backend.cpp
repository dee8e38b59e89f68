// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/backend.h"

#include "engine/cuda/cudaruntime.h"
#include "engine/nccl/functions.h"
#include "engine/nccl/ncclexecutor.h"
#include "model/plan/planjson.h"
#ifdef SHARDBOARD_NCCL
#include "engine/nccl/library.h"
#endif
#ifdef SHARDBOARD_MPI
#include "engine/mpi/mpibackend.h"
#endif

#include <memory>
#include <vector>

namespace shardboard::engine {

namespace {

/// What the machine or the build lacks; empty: nothing.
std::string whatIsMissing()
{
#ifndef SHARDBOARD_NCCL
    return "this build has no header of NCCL (nccl.h, 2.18 or newer); install libnccl-dev and build again";
#else
    if (std::string missing = cuda::whyNoGpu(); !missing.empty())
        return missing;
    if (std::string missing = nccl::whyNoNccl(); !missing.empty())
        return missing;
#ifdef SHARDBOARD_MPI
    if (hasOthers())
        return "it drives all GPUs of one machine from one process, and this worker is one of several that a launcher started, which is not "
               "supported; start shardboard-engine on the machine with the GPUs without mpirun or srun";
#endif
    return {};
#endif
}

#ifdef SHARDBOARD_NCCL
/// GPUs with NCCL between them, made with the first run on so many devices and kept: libraries and communicators take long to start.
struct Machine {
    explicit Machine(int count)
    {
        for (int device = 0; device < count; ++device) {
            runtimes.push_back(cuda::makeCudaRuntime(device));
            gpus.push_back(runtimes.back().get());
        }
        library = std::make_unique<nccl::Library>(gpus);
        process = std::make_unique<nccl::Process>(
            library->functions(), [this](const nccl::Communicator& wanted, int& number) { return library->split(wanted, number); });
        executor = std::make_unique<nccl::NcclExecutor>(gpus, *process);
    }

    std::vector<std::unique_ptr<cuda::Runtime>> runtimes;
    std::vector<cuda::Runtime*> gpus;
    std::unique_ptr<nccl::Library> library;
    std::unique_ptr<nccl::Process> process;
    std::unique_ptr<nccl::NcclExecutor> executor;
};

RunOutcome runOnGpus(const Program& program, const RunOptions& options, const RunHooks& hooks, const RunLimits& limits)
{
    static std::unique_ptr<Machine> machine; // one run at a time: the worker sees to that
    const std::int64_t devices = program.plan.mesh.deviceCount();
    if (std::string missing = nccl::whyTooFew(devices, cuda::gpuCount()); !missing.empty())
        return Failure { "backend", std::move(missing), "options.backend" };
    try {
        if (machine != nullptr && machine->gpus.size() != static_cast<std::size_t>(devices))
            machine.reset();
        if (machine == nullptr)
            machine = std::make_unique<Machine>(static_cast<int>(devices));
    } catch (const Failure& failure) {
        return failure;
    }
    RunOutcome outcome = runProgramOn(*machine->executor, program, options, hooks, limits);
    if (const auto* failure = std::get_if<Failure>(&outcome); failure != nullptr && failure->code == "internal") {
        machine->library->abandon(); // after an error nothing of it can be used again
        machine.reset();
    }
    return outcome;
}
#endif

} // namespace

Backend ncclBackend()
{
    Backend nccl;
    nccl.name = "nccl";
    nccl.claims = { DType::F32, DType::BF16, DType::F16 };
    nccl.unusable = whatIsMissing();
#ifdef SHARDBOARD_NCCL
    if (!nccl.usable())
        return nccl;
    for (int device = 0; device < cuda::gpuCount(); ++device) {
        const cuda::GpuFacts facts = cuda::gpuFacts(device);
        nccl.devices.push_back({ { "name", facts.name }, { "threads", facts.multiprocessors }, { "memory_bytes", facts.memoryBytes } });
    }
    nccl.mostDevices = cuda::gpuCount();
    nccl.run = runOnGpus;
#endif
    return nccl;
}

} // namespace shardboard::engine

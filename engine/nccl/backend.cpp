// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/backend.h"

#include "engine/cuda/cudaruntime.h"
#include "engine/nccl/functions.h"
#include "engine/nccl/gpuassignment.h"
#include "engine/nccl/ncclexecutor.h"
#include "model/plan/program.h"
#ifdef SHARDBOARD_NCCL
#include "engine/nccl/library.h"
#endif
#ifdef SHARDBOARD_MPI
#include "engine/mpi/mpibackend.h"
#include "engine/nccl/multiprocess.h"
#endif

#include <cstdlib>
#include <memory>
#include <unistd.h>
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
    return {};
#endif
}

int launchedProcesses()
{
#ifdef SHARDBOARD_MPI
    return processCount();
#else
    return 1;
#endif
}

#ifdef SHARDBOARD_NCCL
/// All GPUs that the processes of a launcher see, if there are any.
std::vector<nccl::GpuInfo> gpusHere()
{
    std::vector<nccl::GpuInfo> out;
    for (int device = 0; device < cuda::gpuCount(); ++device) {
        const cuda::GpuFacts facts = cuda::gpuFacts(device);
        out.push_back({ facts.id, facts.name, facts.multiprocessors, facts.memoryBytes });
    }
    return out;
}

/// GPUs with NCCL between them, made with the first run on so many devices and kept: libraries and communicators take long to
/// start.
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

RunOutcome runOnGpus(const RunRequest& request)
{
    static std::unique_ptr<Machine> machine; // one run at a time: the worker sees to that
    const std::int64_t devices = request.program.plan.mesh.deviceCount();
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
    RunOutcome outcome = runProgram(request, *machine->executor);
    if (const auto* failure = std::get_if<Failure>(&outcome); failure != nullptr && failure->code == "internal") {
        machine->library->abandon(); // after an error nothing of it can be used again
        machine.reset();
    }
    return outcome;
}

#ifdef SHARDBOARD_MPI
/// The GPUs of this process as ranks among those of others.
class RealLocalRanks : public nccl::LocalRanks {
public:
    explicit RealLocalRanks(const nccl::LocalGpus::JoinRequest& request)
    {
        for (const int device : request.gpus) {
            m_runtimes.push_back(cuda::makeCudaRuntime(device));
            m_gpus.push_back(m_runtimes.back().get());
        }
        nccl::Library::Among among;
        among.ranks = static_cast<std::size_t>(request.ranks);
        among.first = static_cast<std::size_t>(request.first);
        among.choose = [gpus = request.gpus](std::size_t own) { return cuda::chooseGpu(gpus[own]); };
        among.id = request.id;
        m_library = std::make_unique<nccl::Library>(m_gpus, among, request.stopped);
    }
    const std::vector<cuda::Runtime*>& gpus() const override { return m_gpus; }
    std::vector<nccl::Functions> functions() override { return m_library->functions(); }
    std::string split(const nccl::Communicator& wanted, int& number) override { return m_library->split(wanted, number); }
    void abandon() override { m_library->abandon(); }

private:
    std::vector<std::unique_ptr<cuda::Runtime>> m_runtimes;
    std::vector<cuda::Runtime*> m_gpus;
    std::unique_ptr<nccl::Library> m_library;
};

class RealGpus : public nccl::LocalGpus {
public:
    nccl::ProcessGpus visibleGpus() override
    {
        nccl::ProcessGpus out;
        out.missing = whatIsMissing();
        try {
            if (out.missing.empty())
                out.gpus = gpusHere();
        } catch (const Failure& failure) { // a GPU that is broken here is not the end of all processes
            out.missing = failure.message;
        }
        char name[256] = "";
        gethostname(name, sizeof name - 1);
        const char* id = std::getenv("NCCL_HOSTID"); // what NCCL goes by
        out.host = id != nullptr ? id : name;
        return out;
    }
    std::vector<std::byte> uniqueId() override { return nccl::Library::uniqueId(); }
    std::unique_ptr<nccl::LocalRanks> join(const JoinRequest& request) override
    {
        return std::make_unique<RealLocalRanks>(request);
    }
};
#endif
#endif

} // namespace

#if defined(SHARDBOARD_MPI) && defined(SHARDBOARD_NCCL)
mpi::ProcessBackend ncclProcessBackend()
{
    static const mpi::ProcessBackend backend = nccl::ncclProcessBackend(std::make_shared<RealGpus>());
    return backend;
}
#endif

Backend ncclBackend()
{
    Backend nccl;
    nccl.name = "nccl";
    nccl.onGpus = true;
    nccl.claims = { DType::F32, DType::BF16, DType::F16 };
    nccl.unusable = whatIsMissing();
    if (nccl.usable())
        nccl.unusable = nccl::whyProcessesAreApart(launchedProcesses(), [](const char* name) { return std::getenv(name); });
#ifdef SHARDBOARD_NCCL
    if (!nccl.usable())
        return nccl;
#ifdef SHARDBOARD_MPI
    if (launchedProcesses() > 1)
        return nccl::multiProcessBackend("nccl", ncclProcessBackend());
#endif
    for (const nccl::GpuInfo& gpu : gpusHere())
        nccl.devices.push_back({ { "name", gpu.name }, { "threads", gpu.multiprocessors }, { "memory_bytes", gpu.memoryBytes } });
    nccl.mostDevices = cuda::gpuCount();
    nccl.run = runOnGpus;
#endif
    return nccl;
}

} // namespace shardboard::engine

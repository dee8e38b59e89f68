// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/backend.h"

#include "engine/cuda/cudaruntime.h"
#include "engine/nccl/functions.h"
#include "engine/nccl/ncclexecutor.h"
#include "engine/nccl/seats.h"
#include "model/io/wire/planjson.h"
#ifdef SHARDBOARD_NCCL
#include "engine/nccl/library.h"
#endif
#ifdef SHARDBOARD_MPI
#include "engine/mpi/mpibackend.h"
#include "engine/nccl/together.h"
#include "engine/worker/backendparts.h"
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

int processesTogether()
{
#ifdef SHARDBOARD_MPI
    return processCount();
#else
    return 1;
#endif
}

#ifdef SHARDBOARD_NCCL
/// All GPUs that the processes of a launcher see, if there are any.
std::vector<nccl::SeenGpu> seenGpus()
{
    std::vector<nccl::SeenGpu> out;
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

#ifdef SHARDBOARD_MPI
/// The GPUs of this process as ranks among those of others.
class RealJoint : public nccl::Joint {
public:
    explicit RealJoint(const nccl::OwnGpus::Joining& joining)
    {
        for (const int device : joining.gpus) {
            m_runtimes.push_back(cuda::makeCudaRuntime(device));
            m_gpus.push_back(m_runtimes.back().get());
        }
        nccl::Library::Among among;
        among.ranks = static_cast<std::size_t>(joining.ranks);
        among.first = static_cast<std::size_t>(joining.first);
        among.choose = [gpus = joining.gpus](std::size_t own) { return cuda::chooseGpu(gpus[own]); };
        among.id = joining.id;
        m_library = std::make_unique<nccl::Library>(m_gpus, among, joining.stopped);
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

class RealGpus : public nccl::OwnGpus {
public:
    nccl::Seen seen() override
    {
        nccl::Seen out;
        out.missing = whatIsMissing();
        try {
            if (out.missing.empty())
                out.gpus = seenGpus();
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
    std::unique_ptr<nccl::Joint> join(const Joining& joining) override { return std::make_unique<RealJoint>(joining); }
};
#endif
#endif

} // namespace

#if defined(SHARDBOARD_MPI) && defined(SHARDBOARD_NCCL)
mpi::Part ncclPart() { return nccl::ncclPart(std::make_shared<RealGpus>()); }
#endif

Backend ncclBackend()
{
    Backend nccl;
    nccl.name = "nccl";
    nccl.claims = { DType::F32, DType::BF16, DType::F16 };
    nccl.unusable = whatIsMissing();
    if (nccl.usable())
        nccl.unusable = nccl::whyNotTogether(processesTogether(), [](const char* name) { return std::getenv(name); });
#ifdef SHARDBOARD_NCCL
    if (!nccl.usable())
        return nccl;
#ifdef SHARDBOARD_MPI
    if (processesTogether() > 1)
        return nccl::ncclTogether("nccl", backendParts().at("nccl"));
#endif
    for (const nccl::SeenGpu& gpu : seenGpus())
        nccl.devices.push_back({ { "name", gpu.name }, { "threads", gpu.multiprocessors }, { "memory_bytes", gpu.memoryBytes } });
    nccl.mostDevices = cuda::gpuCount();
    nccl.run = runOnGpus;
#endif
    return nccl;
}

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/run/backend.h"

#ifdef SHARDBOARD_WITH_CUDA
#include "engine/cuda/backend.h"
#include "engine/nccl/backend.h"
#endif
#include "engine/ops/gemm.h"
#include "engine/devices/machine.h"
#ifdef SHARDBOARD_MPI
#include "engine/worker/backendparts.h"
#include "engine/mpi/mpibackend.h"
#endif

#include <algorithm>

namespace shardboard::engine {

Backend cpuBackend()
{
    Backend cpu;
    cpu.name = "cpu";
    cpu.claims = { DType::F32, DType::BF16, DType::F16 };
    cpu.devices.push_back(
        { { "name", processorName() + ", " + gemmName() }, { "threads", usableCores() }, { "memory_bytes", availableMemory() } });
    cpu.run = runProgram;
    cpu.calibrate = [](const CalibrationOptions& options, const CalibrateHooks& hooks) { return calibrate(options, hooks); };
    return cpu;
}

const std::vector<Backend>& backends()
{
    static const std::vector<Backend> list = [] {
        std::vector<Backend> all { cpuBackend() };
#ifdef SHARDBOARD_MPI
        all.push_back(mpiBackend());
#else
        Backend mpi;
        mpi.name = "mpi";
        mpi.unusable = "this build has no MPI; install Open MPI with its headers (libopenmpi-dev, openmpi-bin) and build again";
        all.push_back(std::move(mpi));
#endif
#ifdef SHARDBOARD_WITH_CUDA
        all.push_back(cudaBackend());
        all.push_back(ncclBackend());
#else
        for (const char* name : { "cuda", "nccl" }) {
            Backend missing;
            missing.name = name;
            missing.unusable = "this build has no CUDA; install the CUDA toolkit (nvcc) and build again";
            all.push_back(std::move(missing));
        }
#endif
        return all;
    }();
    return list;
}

#ifdef SHARDBOARD_MPI
const mpi::Parts& backendParts()
{
    static const mpi::Parts parts = [] {
        mpi::Parts all;
#ifdef SHARDBOARD_NCCL
        all.emplace("nccl", ncclPart());
#endif
        return all;
    }();
    return parts;
}
#endif

std::variant<const Backend*, Failure> backendNamed(const std::string& name, const std::string& where)
{
    const auto& all = backends();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Backend& backend) { return backend.name == name; });
    if (found == all.end()) {
        std::string known;
        for (const Backend& backend : all)
            known += (known.empty() ? "" : ", ") + backend.name;
        return Failure { "backend", "this build has no backend '" + name + "', it has " + known, where };
    }
    if (!found->usable())
        return Failure { "backend", "the backend '" + name + "' cannot be used: " + found->unusable, where };
    return &*found;
}

RunOutcome runOnBackend(const Program& program, const RunOptions& options, const RunHooks& hooks, const RunLimits& limits)
{
    const auto backend = backendNamed(options.backend, "options.backend");
    if (const auto* failure = std::get_if<Failure>(&backend))
        return *failure;
    return std::get<const Backend*>(backend)->run(program, options, hooks, limits);
}

} // namespace shardboard::engine

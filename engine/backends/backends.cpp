// SPDX-License-Identifier: Apache-2.0
#include "engine/backends/backends.h"

#include "engine/cpu/backend.h"
#ifdef SHARDBOARD_WITH_CUDA
#include "engine/cuda/backend.h"
#include "engine/nccl/backend.h"
#endif

#ifdef SHARDBOARD_MPI
#include "engine/mpi/mpibackend.h"
#endif

#include <algorithm>

namespace shardboard::engine {

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
mpi::ProcessBackends processBackends()
{
    mpi::ProcessBackends all;
#ifdef SHARDBOARD_NCCL
    all.emplace("nccl", ncclProcessBackend());
#endif
    return all;
}
#endif

std::variant<const Backend*, Failure> backendNamed(const std::string& name, const std::string& where)
{
    const auto& all = backends();
    const auto found = std::ranges::find_if(all, [&](const Backend& backend) { return backend.name == name; });
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

RunOutcome runOnBackend(const RunRequest& request)
{
    const auto backend = backendNamed(request.options.backend, "options.backend");
    if (const auto* failure = std::get_if<Failure>(&backend))
        return *failure;
    return std::get<const Backend*>(backend)->run(request);
}

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// The backend `nccl` over the processes of a launcher: each has as many ranks, one GPU for each, and does its part of every run
// (engine/mpi/processbackend.h). The GPUs and the library are behind an interface, so that all of it is tested without them.
#pragma once

#include "engine/mpi/processbackend.h"
#include "engine/nccl/gpuassignment.h"
#include "engine/nccl/process.h"
#include "engine/run/backend.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace shardboard::engine::cuda {
class Runtime;
}

namespace shardboard::engine::nccl {

/// The ranks of this process, a GPU for each, within those of all processes.
class LocalRanks {
public:
    virtual ~LocalRanks() = default;
    virtual const std::vector<cuda::Runtime*>& gpus() const = 0; ///< of the own ranks, in their order
    virtual std::vector<Functions> functions() = 0; ///< by rank of all; empty ones for those of other processes
    virtual std::string split(const Communicator& wanted, int& number) = 0;
    /// After an error or a cancel, before anything else goes: nothing that waits for another process waits any longer.
    virtual void abandon() = 0;
};

/// The GPUs of this process, and how they join those of the others. All but visibleGpus() may throw Failure.
class LocalGpus {
public:
    virtual ~LocalGpus() = default;
    virtual ProcessGpus visibleGpus() = 0;
    virtual std::vector<std::byte> uniqueId() = 0; ///< at most kUniqueIdBytes; asked for in the first process
    struct JoinRequest {
        int ranks = 0; ///< of all
        int first = 0; ///< own one
        std::vector<int> gpus; ///< numbers of the own GPUs, for the ranks from `first` on
        std::vector<std::byte> id; ///< from the first process
        std::function<bool()> stopped; ///< looked at while others are waited for: throw Stopped when it says so
    };
    /// Called by all processes at about the same time.
    virtual std::unique_ptr<LocalRanks> join(const JoinRequest& request) = 0;
};
inline constexpr std::size_t kUniqueIdBytes = 128;

/// What each process does. What joins the GPUs is kept from run to run as long as all goes well.
mpi::ProcessBackend ncclProcessBackend(std::shared_ptr<LocalGpus> own);
/// For the first process of several: asks all what they have. `name` is that of the backend.
Backend multiProcessBackend(const std::string& name, const mpi::ProcessBackend& backend);

} // namespace shardboard::engine::nccl

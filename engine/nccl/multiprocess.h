// SPDX-License-Identifier: Apache-2.0
// The backend `nccl` over the processes of a launcher: each has as many ranks, one GPU for each, and does its part of every run
// (engine/mpi/parts.h). The GPUs and the library are behind an interface, so that all of it is tested without them.
#pragma once

#include "engine/run/backend.h"
#include "engine/mpi/parts.h"
#include "engine/nccl/process.h"
#include "engine/nccl/seats.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace shardboard::engine::cuda {
class Runtime;
}

namespace shardboard::engine::nccl {

/// The GPUs of this process as ranks among those of others.
class Joint {
public:
    virtual ~Joint() = default;
    virtual const std::vector<cuda::Runtime*>& gpus() const = 0; ///< of the own ranks, in their order
    virtual std::vector<Functions> functions() = 0; ///< by rank of all; empty ones for those of other processes
    virtual std::string split(const Communicator& wanted, int& number) = 0;
    /// After an error or a cancel, before anything else goes: nothing that waits for another process waits any longer.
    virtual void abandon() = 0;
};

/// What this process has, and how it comes together with the others. All but seen() may throw Failure.
class OwnGpus {
public:
    virtual ~OwnGpus() = default;
    virtual Seen seen() = 0;
    virtual std::vector<std::byte> uniqueId() = 0; ///< at most kUniqueIdBytes; asked for in the first process
    struct Joining {
        int ranks = 0; ///< of all
        int first = 0; ///< own one
        std::vector<int> gpus; ///< numbers of the own GPUs, for the ranks from `first` on
        std::vector<std::byte> id; ///< from the first process
        std::function<bool()> stopped; ///< looked at while others are waited for: throw Stopped when it says so
    };
    /// Called by all processes at about the same time.
    virtual std::unique_ptr<Joint> join(const Joining& joining) = 0;
};
inline constexpr std::size_t kUniqueIdBytes = 128;

/// What each process does. What joins the GPUs is kept from run to run as long as all goes well.
mpi::Part ncclPart(std::shared_ptr<OwnGpus> own);
/// For the first process of several: asks all what they have. `name` is that of the backend.
Backend ncclTogether(const std::string& name, const mpi::Part& part);

} // namespace shardboard::engine::nccl

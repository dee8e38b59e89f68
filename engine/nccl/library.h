// SPDX-License-Identifier: Apache-2.0
// NCCL itself for the GPUs of this process, alone or with those of other processes: communicators, and the functions that a Process
// calls. The library is loaded when this is made; the build needs its header alone.
#pragma once

#include "engine/cuda/runtime.h"
#include "engine/nccl/process.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardboard::engine::nccl {

class Library {
public:
    /// One communicator of all (ncclCommInitAll), rank i on GPU i, whose runtime is gpus[i]: calls go to the stream of that
    /// runtime, in order with its kernels. The runtimes must outlive it. Throws Failure "backend" with what is missing, "internal"
    /// with NCCL's error.
    explicit Library(const std::vector<cuda::Runtime*>& gpus);

    /// Where several processes make one communicator of all.
    struct Among {
        std::size_t ranks = 0; ///< of all
        std::size_t first = 0; ///< of the ranks of this process, which follow each other
        /// Makes the GPU of an own rank that for which this thread calls libraries; empty, or what went wrong.
        std::function<std::string(std::size_t own)> choose;
        std::vector<std::byte> id; ///< what uniqueId() gave in one of them
    };
    /// ncclCommInitRank for every GPU of this process, gpus[i] being that of rank first + i. All processes do this at about the
    /// same time. The communicators do not block: while this waits for others it asks `stopped` and throws Stopped when it says so.
    Library(const std::vector<cuda::Runtime*>& gpus, const Among& among, std::function<bool()> stopped);
    /// Of a new communicator: bytes that all its processes need. Throws as the constructors do.
    static std::vector<std::byte> uniqueId();
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    /// After an error, before anything else goes: aborts all communicators, since a rank that waits for a lost one waits for ever,
    /// and its stream with it. Nothing can be asked for afterwards.
    void abandon();

    /// By rank of all; empty ones for those of other processes.
    std::vector<Functions> functions();
    /// ncclCommSplit of the communicator of all, on every rank, in one group; ranks without a color are in none.
    std::string split(const Communicator& wanted, int& number);

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace shardboard::engine::nccl

// SPDX-License-Identifier: Apache-2.0
// NCCL itself for several GPUs of this process: communicators, and the functions that a Process calls. The library is loaded when
// this is made; the build needs its header alone.
#pragma once

#include "engine/cuda/runtime.h"
#include "engine/nccl/process.h"

#include <memory>
#include <vector>

namespace shardboard::engine::nccl {

class Library {
public:
    /// One communicator of all (ncclCommInitAll), rank i on GPU i, whose runtime is gpus[i]: calls go to the stream of that runtime, in
    /// order with its kernels. The runtimes must outlive it. Throws Failure "backend" with what is missing, "internal" with NCCL's error.
    explicit Library(const std::vector<cuda::Runtime*>& gpus);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    /// After an error, before anything else goes: aborts all communicators, since a rank that waits for a lost one waits for ever, and
    /// its stream with it. Nothing can be asked for afterwards.
    void abandon();

    std::vector<Functions> functions();
    /// ncclCommSplit of the communicator of all, on every rank, in one group; ranks without a color are in none.
    std::string split(const Communicator& wanted, int& number);

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace shardboard::engine::nccl

// SPDX-License-Identifier: Apache-2.0
// What is called of NCCL, as a table: the library's functions, or a recorder that plays all ranks in a test.
#pragma once

#include "engine/nccl/callplan.h"

#include <cstddef>
#include <functional>
#include <string>

namespace shardboard::engine::nccl {

/// Of one rank. `communicator` is the index in the plan; the table knows the rank's handle for it. Each returns an empty text, or
/// what went wrong.
struct Functions {
    std::function<std::string()> groupStart;
    std::function<std::string()> groupEnd;
    std::function<std::string(const void* from, void* to, std::size_t count, Element, ReduceOp, int communicator)> allReduce;
    std::function<std::string(const void* from, void* to, std::size_t count, Element, int communicator)> allGather;
    std::function<std::string(const void* from, void* to, std::size_t count, Element, ReduceOp, int communicator)> reduceScatter;
    std::function<std::string(const void* from, void* to, std::size_t count, Element, ReduceOp, int root, int communicator)> reduce;
    std::function<std::string(const void* from, std::size_t count, Element, int peer, int communicator)> send;
    std::function<std::string(void* to, std::size_t count, Element, int peer, int communicator)> receive;
    /// What the GPU itself does between the calls.
    std::function<std::string(const Call& call, const void* from, void* to, Element)> local;
};

struct Buffers {
    std::byte* before = nullptr;
    std::byte* after = nullptr;
    std::byte* staging = nullptr;
    Element element = Element::F32;
};

/// Makes the calls of one rank in order. Throws Failure "internal" with the call that failed.
void execute(const RankPlan& plan, const Functions& functions, const Buffers& buffers);

/// Empty, or why NCCL cannot be used here: no library, no GPU, not enough of them.
std::string whyNoNccl();

} // namespace shardboard::engine::nccl

// SPDX-License-Identifier: Apache-2.0
// A reshard step as calls of NCCL, planned as data: which communicators there are and who is in them, and for each rank its calls
// in order, with what is copied before and after them. A pure function, so that it is tested without a GPU. A rank is a
// logical device (a mesh position).
#pragma once

#include "engine/devices/collective.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard::engine::nccl {

/// One ncclCommSplit of all ranks: ranks with the same color form a group, in the order of their keys.
struct Communicator {
    std::vector<int> axes; ///< mesh axes along which it spans
    std::vector<int> color; ///< by rank
    std::vector<int> key; ///< by rank: its number within its group
    std::vector<std::vector<std::int64_t>> groups; ///< by color: ranks in order of their keys

    const std::vector<std::int64_t>& groupOf(std::int64_t rank) const
    {
        return groups[static_cast<std::size_t>(color[static_cast<std::size_t>(rank)])];
    }
};
Communicator communicatorOf(const Mesh& mesh, const std::vector<int>& axes);

/// Which buffer of a rank: its shard before the step, the one after it, or memory for what is on its way.
enum class Buffer { Before, After, Staging };

struct BufferOffset {
    Buffer buffer = Buffer::Before;
    std::int64_t offset = 0; ///< elements
};

enum class What { GroupStart, GroupEnd, AllReduce, AllGather, ReduceScatter, Reduce, Send, Receive, Local };

struct Call {
    What what = What::Local;
    int communicator = -1; ///< index into StepPlan::communicators
    std::int64_t count = 0; ///< as NCCL counts: of AllGather what a rank sends, of ReduceScatter what a rank gets
    ReduceOp op = ReduceOp::Sum;
    int peer = -1; ///< of Send and Receive, or the root of Reduce: a key
    BufferOffset from;
    BufferOffset to;
    // Local: the region is copied (or added, or its maximum taken) from a row-major buffer of `fromBox` to one of `toBox`.
    Box region;
    Box fromBox;
    Box toBox;
    Combine combine = Combine::Copy;
};

struct RankPlan {
    std::vector<Call> calls;
    std::int64_t staging = 0; ///< elements
};

struct StepPlan {
    std::vector<Communicator> communicators;
    std::vector<RankPlan> ranks;
};

/// Collectives of NCCL where the shards are as it wants them (equal, and in the order of the ranks; those that are not contiguous
/// go through staging), reduces to one root after the other where parts differ in size, and sends for all else.
/// Throws Failure "bad-plan" as transfersOf does.
StepPlan planStep(const ReshardStep& step, const Sharded& before, const Sharded& after, const std::string& where);

} // namespace shardboard::engine::nccl

// SPDX-License-Identifier: Apache-2.0
// Plans for the ranks of all GPUs: of a step on a mesh that has some of them, and of buffers that go from GPU to GPU as they are.
// Pure functions, as planStep().
#pragma once

#include "engine/devices/deviceranks.h"
#include "engine/nccl/callplan.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardboard::engine::nccl {

/// By mesh position the rank (its GPU).
std::vector<int> ranksOf(const Mesh& mesh, const DeviceRanks& deviceRanks);

/// Positions of a mesh become ranks; GPUs that are not in the mesh have no color (-1), are in no group and make no calls.
Communicator onRanks(const Communicator& communicator, const std::vector<int>& rankOf, std::size_t ranks);
StepPlan onRanks(StepPlan plan, const std::vector<int>& rankOf, std::size_t ranks);
/// All ranks in one group.
Communicator everyone(std::size_t ranks);

struct Move {
    int from = 0; ///< rank
    int to = 0;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::int64_t count = 0; ///< elements; of none nothing is called
};
/// All of them in one group of sends and receives, within a rank by a copy. Sender and receiver are in one group of `among`.
/// Offsets are counted from `bases`, by rank, as `Before` and `After`.
StepPlan planMoves(const Communicator& among, const std::vector<Move>& moves, const std::vector<std::byte*>& bases,
                   Element element);

} // namespace shardboard::engine::nccl

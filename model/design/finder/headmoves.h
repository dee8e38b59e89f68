// SPDX-License-Identifier: Apache-2.0
// What a plan moves because heads lie on two devices.
#pragma once

#include "model/design/finder/finder.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace shardboard {

struct HeadMoves {
    std::int64_t bytes = 0; ///< in a step
    std::set<int> axes; ///< mesh axes over which
    std::string first; ///< `block/self_attn.q_heads`
};

struct HeadMovesOfPlan {
    std::map<TensorId, HeadMoves> ofWeights; ///< of the projection into heads or out of them
    std::map<OpId, HeadMoves> ofOperations; ///< where no projection is near
};

/// Counted is an activation that arrives cut inside of heads where it is split into heads or merged of them, and what stays cut
/// over the same mesh axes with its parts beginning elsewhere. What is gathered for its use, as fully sharded weights are, moves
/// for another reason.
HeadMovesOfPlan headMoves(const FinderInput& input);

} // namespace shardboard

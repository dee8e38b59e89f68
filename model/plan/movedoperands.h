// SPDX-License-Identifier: Apache-2.0
// Which operands the picker had to move: what upstream warns of or refuses with on_reshard.
#pragma once

#include "model/plan/plan.h"

#include <string>
#include <vector>

namespace shardboard {

struct MovedOperand {
    std::string where; ///< segment/operation
    std::string what; ///< `moves o_proj.out from P(…) to P(…): all-reduce over model`
    std::string fix; ///< the explicit reshard to write before it
    std::int64_t bytes = 0; ///< of its collectives, per device and step
};

/// In program order. Operations that say themselves what is to move are left out: a module's gather, and what becomes of the
/// gradients of weights.
std::vector<MovedOperand> movedOperands(const Graph& graph, const Plan& plan);

} // namespace shardboard

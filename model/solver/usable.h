// SPDX-License-Identifier: Apache-2.0
// Strategies that can be in an assignment without a forbidden cost, as far as looking at one edge at a time tells.
#pragma once

#include "model/solver/problem.h"

#include <vector>

namespace shardboard::solver {

/// Costs from here on stand for "not allowed".
inline constexpr std::int64_t kForbidden = 100'000'000'000'000'000;

/// By strategy, 1 or 0: its own cost is allowed, and on every edge some usable strategy of the other node makes an allowed cost.
/// All of them where a node would be left without any: then every assignment has a forbidden cost.
std::vector<char> usableStrategies(const Problem& problem);

} // namespace shardboard::solver

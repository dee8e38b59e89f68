// SPDX-License-Identifier: Apache-2.0
// Small problems, exactly: every assignment that may still be the best is looked at, in numbers that cannot overflow.
#pragma once

#include "model/solver/problem.h"

#include <optional>

namespace shardboard::solver {

/// The cheapest feasible assignment, or nothing where that would take more than `steps` choices of a strategy, or none is feasible.
std::optional<Assignment> exhaust(const Problem& problem, std::int64_t steps);

} // namespace shardboard::solver

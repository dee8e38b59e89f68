// SPDX-License-Identifier: Apache-2.0
// What an assignment costs and uses, exactly: straight from the problem as it was given, and apart from everything that searches.
#pragma once

#include "model/solver/problem.h"

#include <optional>

namespace shardboard::solver {

/// Usage over the limit: where it is the most.
struct Excess {
    std::int64_t time = 0;
    Wide usage = 0;
    Wide limit = 0;
};

struct Value {
    Wide cost = 0;
    std::optional<Excess> excess; ///< nothing: feasible
};

/// The assignment has a strategy of each node.
Value evaluate(const Problem& problem, const Assignment& assignment);

/// Where no assignment at all keeps the limit: the time at which even the least usages are the most over it.
std::optional<Excess> leastExcess(const Problem& problem);

std::string wideText(Wide value);

} // namespace shardboard::solver

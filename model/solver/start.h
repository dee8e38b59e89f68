// SPDX-License-Identifier: Apache-2.0
// A first assignment that keeps the memory limit.
#pragma once

#include "model/solver/network.h"

#include <functional>
#include <optional>
#include <vector>

namespace shardboard::solver {

/// From an assignment that may be over the limit and prices of memory: everything is solved again and again by elimination, while
/// the prices rise where the limit is passed. Nothing where it was stopped before one was found.
std::optional<std::vector<int>> feasibleFrom(const Network& network, std::vector<int> choice, std::vector<double> prices,
                                             std::uint64_t seed, const std::function<bool()>& stop);

/// Each node with its least usage: feasible if anything is, whatever it costs.
std::vector<int> leastUsage(const Network& network);

} // namespace shardboard::solver

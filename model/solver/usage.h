// SPDX-License-Identifier: Apache-2.0
// What an assignment of a network's nodes costs, and what memory it uses at each row.
#pragma once

#include "model/solver/network.h"

#include <span>
#include <vector>

namespace shardboard::solver {

double costOf(const Network& network, const std::vector<int>& choice);
std::vector<std::int64_t> usageOf(const Network& network, const std::vector<int>& choice);
/// The most usage over the room of a row; zero or less: feasible.
std::int64_t worstExcess(const Network& network, const std::vector<std::int64_t>& usage);

/// How the cost changes from one choice to another that differs in some of `nodes` alone.
double costChange(const Network& network, const std::vector<int>& before, const std::vector<int>& after,
                  std::span<const int> nodes);

} // namespace shardboard::solver

// SPDX-License-Identifier: Apache-2.0
// A first assignment that keeps the memory limit.
#pragma once

#include "model/solver/network.h"
#include "model/solver/relaxation.h"

#include <functional>
#include <optional>
#include <vector>

namespace shardboard::solver {

/// Assignments from prices of memory and what the relaxation knows with them.
class Start {
public:
    Start(const Network& network, std::vector<double> prices, std::uint64_t seed);

    /// Everything is solved again and again by elimination, worst places first, while the prices rise where the limit is passed.
    /// Nothing where it was stopped before an assignment kept the limit. The first one follows the relaxation; those after it are
    /// drawn from costs and prices that are somewhat wrong.
    std::optional<std::vector<int>> next(const std::function<bool()>& stop);
    Relaxation& relaxation() { return m_relaxation; } ///< at the prices, swept

private:
    std::vector<int> suggestion(const std::function<bool()>& stop);

    const Network& m_network;
    std::vector<double> m_prices;
    std::vector<double> m_costs;
    Relaxation m_relaxation;
    Random m_random;
    int m_count = 0;
};

/// Each node with its least usage: feasible if anything is, whatever it costs.
std::vector<int> leastUsage(const Network& network);

} // namespace shardboard::solver

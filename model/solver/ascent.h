// SPDX-License-Identifier: Apache-2.0
// Raises the lower bound of a network by its prices of memory: each step goes along the usage over the room that the relaxation's
// assignment has (a smoothed subgradient), as far as a target asks for that grows while it is met and falls while it is not.
#pragma once

#include "model/solver/relaxation.h"

#include <vector>

namespace shardboard::solver {

class Ascent {
public:
    explicit Ascent(const Network& network);

    void step();
    /// Nothing more to be expected of further steps.
    bool settled() const;
    double bound() const { return m_best; }
    const std::vector<double>& prices() const { return m_bestPrices; }
    /// What the relaxation chose in the last step; it may be over the limit.
    const std::vector<int>& decoded() const { return m_decoded; }
    /// The relaxation at the best prices again, its messages swept for a while.
    Relaxation& best();

private:
    void follow(const std::vector<std::int64_t>& usage);

    const Network& m_network;
    Relaxation m_relaxation;
    std::vector<double> m_prices;
    std::vector<double> m_direction;
    std::vector<double> m_bestPrices;
    std::vector<int> m_decoded;
    double m_best = 0;
    double m_reference = 0;
    double m_target = 0; ///< how much more than the bound a step aims at
    int m_met = 0;
    int m_missed = 0;
};

} // namespace shardboard::solver

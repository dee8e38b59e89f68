// SPDX-License-Identifier: Apache-2.0
// The dual of a network: prices of memory at each time, which move into the costs of the nodes, and messages along the links
// (sequential tree-reweighted message passing). Both only move costs about, so that the sum of what is least everywhere is a lower
// bound whatever they are.
#pragma once

#include "model/solver/network.h"

#include <vector>

namespace shardboard::solver {

class Relaxation {
public:
    explicit Relaxation(const Network& network);

    /// One sweep over all nodes, there and back. Gives the bound for the prices as they are, constant and price of the room
    /// included.
    double sweep();
    /// The assignment that the messages suggest.
    const std::vector<int>& decoded() const { return m_choice; }

    std::vector<double>& prices() { return m_prices; }
    const std::vector<double>& prices() const { return m_prices; }
    /// Costs of nodes are computed anew from the prices.
    void usePrices();
    const std::vector<double>& costs() const { return m_costs; } ///< of nodes, with the price of their memory
    /// Of side i (Network::sides): what its node gets from the link.
    const double* message(std::size_t side) const { return m_messages.data() + m_start[side]; }

private:
    void gather(int node, double* sum) const;
    double send(std::size_t side, std::size_t back, const double* sum, double weight);

    const Network& m_network;
    std::vector<double> m_prices;
    std::vector<double> m_costs;
    std::vector<std::size_t> m_start; ///< of a side's message
    std::vector<std::size_t> m_twin; ///< the side of the same link at the other node
    std::vector<double> m_messages;
    std::vector<double> m_weight; ///< 1 / most links to one direction
    std::vector<int> m_choice;
    std::vector<double> m_room; ///< scratch
    std::vector<double> m_sum;
};

} // namespace shardboard::solver

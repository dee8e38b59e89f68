// SPDX-License-Identifier: Apache-2.0
// Parts of a network, collected node by node.
#pragma once

#include "model/solver/network.h"
#include "model/solver/random.h"

#include <vector>

namespace shardboard::solver {

class Region {
public:
    explicit Region(const Network& network)
        : m_network(network)
        , m_taken(static_cast<std::size_t>(network.nodes()), 0)
    {
    }
    void clear();
    void take(int node);
    /// A node and those around it, nearest first.
    void ball(int center, int size);
    const std::vector<int>& nodes() const { return m_nodes; }

private:
    const Network& m_network;
    std::vector<int> m_nodes;
    std::vector<int> m_taken; ///< by node: the number of the region that took it
    int m_number = 1;
};

/// An index, with chances as the weights; one of all where no weight is over zero.
int drawn(const std::vector<double>& weights, Random& random);

} // namespace shardboard::solver

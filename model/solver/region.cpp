// SPDX-License-Identifier: Apache-2.0
#include "model/solver/region.h"

#include "model/solver/index.h"

#include <algorithm>

namespace shardboard::solver {

void Region::clear()
{
    m_nodes.clear();
    ++m_number;
}

void Region::take(int node)
{
    if (m_taken[at(node)] == m_number)
        return;
    m_taken[at(node)] = m_number;
    m_nodes.push_back(node);
}

void Region::ball(int center, int size)
{
    std::size_t next = m_nodes.size();
    const std::size_t most = next + at(size);
    take(center);
    for (; next < m_nodes.size() && m_nodes.size() < most; ++next)
        for (std::size_t i = m_network.sideStart[at(m_nodes[next])]; i < m_network.sideStart[at(m_nodes[next]) + 1]; ++i)
            if (m_nodes.size() < most)
                take(m_network.sides[i].other);
}

int drawn(const std::vector<double>& weights, Random& random)
{
    double sum = 0;
    for (const double weight : weights)
        sum += std::max(0.0, weight);
    double left = random.unit() * sum;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        left -= std::max(0.0, weights[i]);
        if (left < 0)
            return static_cast<int>(i);
    }
    return random.below(static_cast<int>(weights.size()));
}

} // namespace shardboard::solver

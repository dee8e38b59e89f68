// SPDX-License-Identifier: Apache-2.0
#include "model/solver/relaxation.h"

#include <algorithm>
#include <limits>

namespace shardboard::solver {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

} // namespace

Relaxation::Relaxation(const Network& network)
    : m_network(network)
    , m_prices(network.room.size(), 0.0)
    , m_costs(network.cost)
    , m_choice(at(network.nodes()), 0)
{
    std::vector<std::size_t> seen(network.links.size(), network.sides.size());
    m_twin.resize(network.sides.size());
    m_start.resize(network.sides.size());
    std::size_t used = 0;
    int most = 0;
    for (int node = 0; node < network.nodes(); ++node) {
        int before = 0;
        int after = 0;
        for (std::size_t side = network.sideStart[at(node)]; side < network.sideStart[at(node) + 1]; ++side) {
            const Side& it = network.sides[side];
            (it.other < node ? before : after) += 1;
            m_start[side] = used;
            used += at(network.k(node));
            if (std::size_t& twin = seen[at(it.edge)]; twin == network.sides.size()) {
                twin = side;
            } else {
                m_twin[side] = twin;
                m_twin[twin] = side;
            }
        }
        m_weight.push_back(1.0 / std::max({ before, after, 1 }));
        most = std::max(most, network.k(node));
    }
    m_messages.assign(used, 0.0);
    m_room.resize(at(most));
    m_sum.resize(at(most));
}

void Relaxation::usePrices()
{
    std::vector<double> sums(m_prices.size() + 1, 0.0);
    for (std::size_t i = 0; i < m_prices.size(); ++i)
        sums[i + 1] = sums[i] + m_prices[i];
    for (int node = 0; node < m_network.nodes(); ++node) {
        const double price = sums[at(m_network.until[at(node)])] - sums[at(m_network.from[at(node)])];
        for (std::size_t s = m_network.first[at(node)]; s < m_network.first[at(node) + 1]; ++s)
            m_costs[s] = m_network.cost[s] + price * static_cast<double>(m_network.usage[s]);
    }
}

void Relaxation::gather(int node, double* sum) const
{
    const std::size_t first = m_network.first[at(node)];
    const std::size_t k = m_network.first[at(node) + 1] - first;
    std::copy_n(m_costs.begin() + static_cast<std::ptrdiff_t>(first), k, sum);
    for (std::size_t side = m_network.sideStart[at(node)]; side < m_network.sideStart[at(node) + 1]; ++side) {
        const double* in = message(side);
        for (std::size_t s = 0; s < k; ++s)
            sum[s] += in[s];
    }
}

/// Sends a share of the sum along a link, less what came from there; gives the constant that was taken off.
double Relaxation::send(std::size_t side, std::size_t back, const double* sum, double weight)
{
    const Side& it = m_network.sides[side];
    const Network::Link& link = m_network.links[at(it.edge)];
    const std::size_t mine = at(m_network.k(it.first ? link.a : link.b));
    const std::size_t theirs = at(m_network.k(it.other));
    const double* table = m_network.tables.data() + (it.first ? link.rows : link.columns);
    const double* in = message(side);
    double* out = m_messages.data() + m_start[back];
    std::fill_n(out, theirs, std::numeric_limits<double>::infinity());
    for (std::size_t s = 0; s < mine; ++s) {
        const double base = weight * sum[s] - in[s];
        const double* row = table + s * theirs;
        for (std::size_t t = 0; t < theirs; ++t) {
            const double value = base + row[t];
            out[t] = value < out[t] ? value : out[t];
        }
    }
    const double least = *std::min_element(out, out + theirs);
    for (std::size_t t = 0; t < theirs; ++t)
        out[t] -= least;
    return least;
}

double Relaxation::sweep()
{
    const int nodes = m_network.nodes();
    double* sum = m_sum.data();
    for (int node = 0; node < nodes; ++node) {
        gather(node, sum);
        const std::size_t k = at(m_network.k(node));
        // The choice: what earlier nodes chose, and what later ones say.
        double* value = m_room.data();
        std::copy_n(sum, k, value);
        for (std::size_t side = m_network.sideStart[at(node)]; side < m_network.sideStart[at(node) + 1]; ++side) {
            const Side& it = m_network.sides[side];
            if (it.other > node)
                continue;
            const Network::Link& link = m_network.links[at(it.edge)];
            const double* row = m_network.tables.data() + (it.first ? link.columns : link.rows) + at(m_choice[at(it.other)]) * k;
            const double* in = message(side);
            for (std::size_t s = 0; s < k; ++s)
                value[s] += row[s] - in[s];
        }
        m_choice[at(node)] = static_cast<int>(std::min_element(value, value + k) - value);
        for (std::size_t side = m_network.sideStart[at(node)]; side < m_network.sideStart[at(node) + 1]; ++side)
            if (m_network.sides[side].other > node)
                send(side, m_twin[side], sum, m_weight[at(node)]);
    }
    double bound = m_network.constant;
    for (int node = nodes - 1; node >= 0; --node) {
        gather(node, sum);
        const std::size_t k = at(m_network.k(node));
        const double least = *std::min_element(sum, sum + k);
        bound += least;
        for (std::size_t s = 0; s < k; ++s)
            sum[s] -= least;
        for (std::size_t side = m_network.sideStart[at(node)]; side < m_network.sideStart[at(node) + 1]; ++side)
            if (m_network.sides[side].other < node)
                bound += send(side, m_twin[side], sum, m_weight[at(node)]);
    }
    for (std::size_t i = 0; i < m_prices.size(); ++i)
        bound -= m_prices[i] * static_cast<double>(m_network.room[i]);
    return bound;
}

} // namespace shardboard::solver

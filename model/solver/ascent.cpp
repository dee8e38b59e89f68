// SPDX-License-Identifier: Apache-2.0
#include "model/solver/ascent.h"

#include "model/solver/usage.h"

#include <algorithm>
#include <cmath>

namespace shardboard::solver {

namespace {

constexpr int kFirstSweeps = 30;
constexpr double kSmoothing = 0.3; ///< share of the newest subgradient
constexpr double kSettled = 1e-7; ///< target, as a share of the bound

} // namespace

Ascent::Ascent(const Network& network)
    : m_network(network)
    , m_relaxation(network)
    , m_prices(network.room.size(), 0.0)
    , m_direction(network.room.size(), 0.0)
    , m_bestPrices(m_prices)
{
    m_relaxation.usePrices(m_prices);
    for (int i = 0; i < kFirstSweeps; ++i)
        m_best = m_relaxation.sweep();
    m_decoded = m_relaxation.decode();
    m_reference = m_best;
    m_target = 0.05 * std::max(1.0, std::abs(m_best));
    follow(usageOf(network, m_decoded));
}

void Ascent::step()
{
    m_relaxation.usePrices(m_prices);
    const double bound = m_relaxation.sweep();
    if (bound > m_best) {
        m_best = bound;
        m_bestPrices = m_prices;
    }
    if (m_best > m_reference + 0.05 * m_target) {
        m_reference = m_best;
        m_missed = 0;
        if (++m_met >= 5) {
            m_target *= 1.3;
            m_met = 0;
        }
    } else if (++m_missed > 12) { // from the best again, with more care
        m_target *= 0.6;
        m_missed = 0;
        m_met = 0;
        m_prices = m_bestPrices;
        m_reference = m_best;
        std::ranges::fill(m_direction, 0.0);
        m_relaxation.usePrices(m_prices);
        m_relaxation.sweep();
    }
    m_decoded = m_relaxation.decode();
    follow(usageOf(m_network, m_decoded));
}

bool Ascent::settled() const { return m_target < kSettled * std::max(1.0, std::abs(m_best)); }

void Ascent::follow(const std::vector<std::int64_t>& usage)
{
    double square = 0;
    for (std::size_t row = 0; row < m_prices.size(); ++row) {
        const auto over = static_cast<double>(usage[row] - m_network.room[row]);
        m_direction[row] = kSmoothing * over + (1 - kSmoothing) * m_direction[row];
        if (m_prices[row] > 0 || m_direction[row] > 0)
            square += m_direction[row] * m_direction[row];
    }
    if (square <= 0)
        return;
    const double length = m_target / square;
    for (std::size_t row = 0; row < m_prices.size(); ++row)
        m_prices[row] = std::max(0.0, m_prices[row] + length * m_direction[row]);
}

Relaxation& Ascent::best()
{
    m_relaxation.usePrices(m_bestPrices);
    for (int i = 0; i < kFirstSweeps; ++i)
        m_relaxation.sweep();
    return m_relaxation;
}

} // namespace shardboard::solver

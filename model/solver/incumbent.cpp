// SPDX-License-Identifier: Apache-2.0
#include "model/solver/incumbent.h"

#include "model/solver/index.h"
#include "model/solver/usage.h"

#include <numeric>

namespace shardboard::solver {

namespace {

/// Less is rounding: costs are whole numbers.
constexpr double kLeastSaving = 0.25;
/// Sums of more than this are not exact.
constexpr double kExact = 4e15;

/// Changes of usage by node, as one change of rows.
class UsageChange {
public:
    explicit UsageChange(const Network& network)
        : m_network(network)
        , m_change(network.room.size() + 1, 0)
    {
    }
    void move(int node, int from, int to)
    {
        const std::size_t first = m_network.first[at(node)];
        const std::int64_t change = m_network.usage[first + at(to)] - m_network.usage[first + at(from)];
        m_change[at(m_network.from[at(node)])] += change;
        m_change[at(m_network.until[at(node)])] -= change;
    }
    /// False where that is over the room of a row.
    bool apply(std::vector<std::int64_t>& usage) const
    {
        std::int64_t change = 0;
        bool fits = true;
        for (std::size_t row = 0; row < usage.size(); ++row) {
            change += m_change[row];
            usage[row] += change;
            fits &= change <= 0 || usage[row] <= m_network.room[row];
        }
        return fits;
    }

private:
    const Network& m_network;
    std::vector<std::int64_t> m_change;
};

} // namespace

Incumbent::Incumbent(const Network& network, const std::vector<int>& start)
    : m_network(network)
    , m_now { start, usageOf(network, start), costOf(network, start), 0 }
    , m_cost(m_now.cost)
{
}

Incumbent::Copy Incumbent::copy() const
{
    const std::lock_guard lock(m_mutex);
    return m_now;
}

void Incumbent::follow(Copy& copy) const
{
    const std::lock_guard lock(m_mutex);
    catchUp(copy);
}

void Incumbent::catchUp(Copy& copy) const
{
    if (copy.seen == m_changes.size())
        return;
    for (std::size_t i = copy.seen; i < m_changes.size(); ++i)
        copy.choice[at(m_changes[i].first)] = m_changes[i].second;
    copy.usage = m_now.usage;
    copy.cost = m_now.cost;
    copy.seen = m_now.seen;
}

double Incumbent::offer(Copy& copy, std::span<const int> nodes, const std::vector<int>& choice)
{
    const std::lock_guard lock(m_mutex);
    catchUp(copy);
    std::vector<int> merged = copy.choice;
    for (const int node : nodes)
        merged[at(node)] = choice[at(node)];
    const double saved = -costChange(m_network, copy.choice, merged, nodes);
    if (saved < kLeastSaving)
        return 0;
    UsageChange change(m_network);
    for (const int node : nodes)
        if (copy.choice[at(node)] != choice[at(node)])
            change.move(node, copy.choice[at(node)], choice[at(node)]);
    std::vector<std::int64_t> usage = copy.usage;
    if (!change.apply(usage))
        return 0;
    for (const int node : nodes)
        if (merged[at(node)] != copy.choice[at(node)])
            m_changes.emplace_back(node, merged[at(node)]);
    const double cost = copy.cost > kExact ? costOf(m_network, merged) : copy.cost - saved;
    copy = { std::move(merged), std::move(usage), cost, m_changes.size() };
    m_now = copy;
    m_cost = cost;
    return saved;
}

double Incumbent::offerParts(Copy& copy, const std::vector<int>& choice)
{
    std::vector<int> all(choice.size());
    std::iota(all.begin(), all.end(), 0);
    double saved = offer(copy, all, choice);
    const std::vector<int> before = copy.choice;
    std::vector<char> seen(choice.size(), 0);
    for (const int start : all) {
        if (seen[at(start)] || before[at(start)] == choice[at(start)])
            continue;
        std::vector<int> part { start };
        seen[at(start)] = 1;
        for (std::size_t i = 0; i < part.size(); ++i)
            for (std::size_t side = m_network.sideStart[at(part[i])]; side < m_network.sideStart[at(part[i]) + 1]; ++side) {
                const int other = m_network.sides[side].other;
                if (seen[at(other)] || before[at(other)] == choice[at(other)])
                    continue;
                seen[at(other)] = 1;
                part.push_back(other);
            }
        saved += offer(copy, part, choice);
    }
    return saved;
}

} // namespace shardboard::solver

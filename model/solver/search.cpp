// SPDX-License-Identifier: Apache-2.0
#include "model/solver/search.h"

#include "model/solver/index.h"
#include "model/solver/usage.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace shardboard::solver {

namespace {

constexpr int kPriceSteps = 8;
constexpr std::size_t kWholePlans = 8;
constexpr EliminationLimits kRegionLimits { 3e4, 24 };
constexpr EliminationLimits kBallLimits { 1e5, 24, true };
constexpr double kGapSeconds = 0.3; ///< until gaps are looked at again
constexpr double kFading = 0.9; ///< of what a kind of region saved and took, with each turn

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

Search::Search(const Network& network, Incumbent& incumbent, std::uint64_t seed, std::function<bool()> stop)
    : m_network(network)
    , m_incumbent(incumbent)
    , m_random(seed)
    , m_stop(std::move(stop))
    , m_copy(incumbent.copy())
    , m_prices(network.room.size(), 0.0)
    , m_all(at(network.nodes()))
    , m_region(network)
    , m_costs(network.cost)
    , m_local(network.room.size(), 0.0)
    , m_sums(network.room.size() + 1, 0.0)
    , m_over(network.room.size(), 0.0)
    , m_change(network.room.size() + 1, 0)
{
    std::iota(m_all.begin(), m_all.end(), 0);
    m_arms.push_back({ Kind::Whole, network.nodes() });
    for (int size = 10; size < network.nodes() && size <= 10000; size = size * 3)
        for (const Kind kind : { Kind::Window, Kind::Ball, Kind::Balls, Kind::Moment })
            if (kind != Kind::Moment || !network.room.empty())
                m_arms.push_back({ kind, size });
}

void Search::useRelaxation(Relaxation& relaxation)
{
    m_relaxation = &relaxation;
    for (int size = 30; size < m_network.nodes() && size <= 10000; size = size * 3)
        m_arms.push_back({ Kind::Gap, size });
}

void Search::step()
{
    if (m_network.nodes() == 0)
        return;
    const double begin = seconds();
    m_incumbent.follow(m_copy);
    Arm& arm = pick();
    double saved = 0;
    if (arm.kind == Kind::Whole) {
        if (m_whole.size() < kWholePlans || m_random.below(10) == 0) {
            const EliminationLimits limits { m_random.below(2) == 0 ? 2e4 : 2e3, 24 };
            auto plan = std::make_unique<Elimination>(m_network, m_all, limits, Elimination::Rest::Fixed, m_random);
            if (m_whole.size() < kWholePlans)
                m_whole.push_back(std::move(plan));
            else
                m_whole[at(m_random.below(static_cast<int>(kWholePlans)))] = std::move(plan);
        }
        saved = improve(*m_whole[at(m_random.below(static_cast<int>(m_whole.size())))]);
    } else {
        region(arm);
        const bool round = arm.kind == Kind::Ball || arm.kind == Kind::Gap;
        Elimination elimination(m_network, m_region.nodes(), round ? kBallLimits : kRegionLimits, Elimination::Rest::Fixed,
                                m_random);
        saved = improve(elimination);
    }
    arm.saved = kFading * arm.saved + saved;
    arm.seconds = kFading * arm.seconds + seconds() - begin;
}

/// The arm that saved the most a second; a third of the time any, so that each has as much time as another.
Search::Arm& Search::pick()
{
    if (m_random.unit() < 0.35) {
        const auto least =
            std::ranges::min_element(m_arms, {}, [&](const Arm& arm) { return arm.seconds * (0.5 + m_random.unit()); });
        return *least;
    }
    double sum = 0;
    const auto rate = [](const Arm& arm) { return arm.saved / (arm.seconds + 1e-3); };
    for (const Arm& arm : m_arms)
        sum += rate(arm);
    double left = m_random.unit() * sum;
    for (Arm& arm : m_arms) {
        left -= rate(arm);
        if (left < 0)
            return arm;
    }
    return m_arms[at(m_random.below(static_cast<int>(m_arms.size())))];
}

void Search::region(const Arm& arm)
{
    m_region.clear();
    switch (arm.kind) {
    case Kind::Window:
        return window(arm.size);
    case Kind::Ball:
        return m_region.ball(m_random.below(m_network.nodes()), arm.size);
    case Kind::Balls: {
        const int balls = 2 + m_random.below(4);
        for (int i = 0; i < balls; ++i)
            m_region.ball(m_random.below(m_network.nodes()), std::max(1, arm.size / balls));
        return;
    }
    case Kind::Moment:
        return moment(arm.size);
    case Kind::Gap:
        return m_region.ball(worstPlace(), arm.size);
    case Kind::Whole:
        break;
    }
}

/// Nodes that follow each other in the problem.
void Search::window(int size)
{
    const int begin = std::max(0, m_random.below(m_network.nodes()) - size / 2);
    for (int node = begin; node < std::min(m_network.nodes(), begin + size); ++node)
        m_region.take(node);
}

/// A node where the incumbent costs more than the bound counts, those with more of it more often.
int Search::worstPlace()
{
    if (const double now = seconds(); now > m_gapsTime + kGapSeconds) {
        m_gapsTime = now;
        m_gaps = m_relaxation->gaps(m_copy.choice);
    }
    return drawn(m_gaps, m_random);
}

/// Nodes that are alive at one time, with their neighbors: those that have to share the memory.
void Search::moment(int size)
{
    // Of some times the one with the least room left.
    std::size_t row = at(m_random.below(static_cast<int>(m_network.room.size())));
    for (int i = 0; i < 3; ++i) {
        const std::size_t other = at(m_random.below(static_cast<int>(m_network.room.size())));
        if (m_network.room[other] - m_copy.usage[other] < m_network.room[row] - m_copy.usage[row])
            row = other;
    }
    std::vector<int> alive;
    for (int node = 0; node < m_network.nodes(); ++node)
        if (at(m_network.from[at(node)]) <= row && row < at(m_network.until[at(node)]))
            alive.push_back(node);
    while (!alive.empty() && m_region.nodes().size() < at(size)) {
        const std::size_t i = at(m_random.below(static_cast<int>(alive.size())));
        m_region.take(alive[i]);
        for (std::size_t side = m_network.sideStart[at(alive[i])]; side < m_network.sideStart[at(alive[i]) + 1]; ++side)
            m_region.take(m_network.sides[side].other);
        alive[i] = alive.back();
        alive.pop_back();
    }
}

Search::Rows Search::rowsOf(const std::vector<int>& nodes) const
{
    Rows rows { m_network.room.size(), 0 };
    for (const int node : nodes) {
        if (m_network.from[at(node)] >= m_network.until[at(node)])
            continue;
        rows.begin = std::min(rows.begin, at(m_network.from[at(node)]));
        rows.end = std::max(rows.end, at(m_network.until[at(node)]));
    }
    return rows.begin < rows.end ? rows : Rows {};
}

/// What the elimination's nodes can save together.
double Search::improve(Elimination& elimination)
{
    const std::vector<int>& nodes = elimination.solved();
    const Rows rows = rowsOf(nodes);
    for (std::size_t row = rows.begin; row < rows.end; ++row)
        m_local[row] = m_prices[row];
    std::vector<int> choice = m_copy.choice;
    double saved = 0;
    for (int i = 0; i < kPriceSteps && !m_stop(); ++i) {
        m_sums[rows.begin] = 0;
        for (std::size_t row = rows.begin; row < rows.end; ++row)
            m_sums[row + 1] = m_sums[row] + m_local[row];
        for (const int node : nodes) {
            const bool uses = m_network.from[at(node)] < m_network.until[at(node)];
            const double price = uses ? m_sums[at(m_network.until[at(node)])] - m_sums[at(m_network.from[at(node)])] : 0;
            for (std::size_t s = m_network.first[at(node)]; s < m_network.first[at(node) + 1]; ++s)
                m_costs[s] = m_network.cost[s] + price * static_cast<double>(m_network.usage[s]);
        }
        elimination.solve(m_costs, choice);
        const double gap = dualStep(nodes, choice, rows);
        if (m_fits && costChange(m_network, m_copy.choice, choice, nodes) < -0.25) {
            saved += m_incumbent.offer(m_copy, nodes, choice);
            choice = m_copy.choice; // others may have changed, too
        }
        if (gap <= 0.25)
            break;
    }
    return saved;
}

/// Raises and lowers the region's prices after an answer. Gives how much better than the incumbent the region can be at most, as
/// far as these prices tell; nothing where no price changes.
double Search::dualStep(const std::vector<int>& nodes, const std::vector<int>& choice, Rows rows)
{
    const auto begin = m_change.begin() + static_cast<std::ptrdiff_t>(rows.begin);
    std::fill(begin, m_change.begin() + static_cast<std::ptrdiff_t>(rows.end) + 1, 0);
    for (const int node : nodes) {
        const std::size_t first = m_network.first[at(node)];
        const std::int64_t change =
            m_network.usage[first + at(choice[at(node)])] - m_network.usage[first + at(m_copy.choice[at(node)])];
        if (m_network.from[at(node)] < m_network.until[at(node)]) {
            m_change[at(m_network.from[at(node)])] += change;
            m_change[at(m_network.until[at(node)])] -= change;
        }
    }
    m_fits = true;
    std::int64_t change = 0;
    double square = 0;
    double priced = 0;
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
        change += m_change[row];
        const std::int64_t over = m_copy.usage[row] + change - m_network.room[row];
        m_fits &= over <= 0 || change <= 0;
        m_over[row] = static_cast<double>(over);
        priced += m_local[row] * m_over[row];
        if (m_local[row] > 0 || over > 0)
            square += m_over[row] * m_over[row];
    }
    const double gap = -(costChange(m_network, m_copy.choice, choice, nodes) + priced);
    if (square <= 0)
        return 0;
    const double length = std::max(0.0, gap) / square;
    for (std::size_t row = rows.begin; row < rows.end; ++row)
        m_local[row] = std::max(0.0, m_local[row] + length * m_over[row]);
    return gap;
}

} // namespace shardboard::solver

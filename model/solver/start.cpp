// SPDX-License-Identifier: Apache-2.0
#include "model/solver/start.h"

#include "model/solver/index.h"
#include "model/solver/region.h"
#include "model/solver/usage.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardboard::solver {

namespace {

constexpr int kSweeps = 80;
constexpr int kNoisySweeps = 15;
constexpr std::size_t kPlans = 4;
constexpr int kMends = 8; ///< rounds at the prices as they are given
constexpr int kMendBalls = 25; ///< a round
constexpr int kRaises = 600;
constexpr EliminationLimits kMendLimits { 1e5, 24, true };

/// Solves all of a network, and parts of it again, at prices that the caller changes.
class Mender {
public:
    Mender(const Network& network, std::vector<int> choice, std::uint64_t seed)
        : m_network(network)
        , m_random(seed)
        , m_region(network)
        , m_choice(std::move(choice))
        , m_all(at(network.nodes()))
    {
        std::iota(m_all.begin(), m_all.end(), 0);
    }

    void usePrices(const std::vector<double>& prices) { addPrices(m_network, prices, m_costs); }
    const std::vector<int>& choice() const { return m_choice; }

    void whole()
    {
        if (m_plans.size() < kPlans)
            m_plans.emplace_back(m_network, m_all, EliminationLimits {}, Elimination::Rest::Fixed, m_random);
        m_plans[at(m_random.below(static_cast<int>(m_plans.size())))].solve(m_costs, m_choice);
    }

    void ball(int center)
    {
        constexpr int kSizes[] = { 300, 1000, 3000 };
        m_region.clear();
        m_region.ball(center, kSizes[m_random.below(3)]);
        Elimination(m_network, m_region.nodes(), kMendLimits, Elimination::Rest::Fixed, m_random).solve(m_costs, m_choice);
    }

    /// Balls around links whose choice is forbidden.
    void allow(const std::function<bool()>& stop)
    {
        for (const Network::Link& link : m_network.links) {
            if (m_network.tables[link.rows + at(m_choice[at(link.a)]) * at(m_network.k(link.b)) + at(m_choice[at(link.b)])]
                < kForbiddenCost)
                continue;
            if (stop())
                return;
            ball(link.a);
        }
    }

    Random& random() { return m_random; }

private:
    const Network& m_network;
    Random m_random;
    Region m_region;
    std::vector<int> m_choice;
    std::vector<int> m_all;
    std::vector<double> m_costs;
    std::vector<Elimination> m_plans = [] {
        std::vector<Elimination> out;
        out.reserve(kPlans);
        return out;
    }();
};

} // namespace

Start::Start(const Network& network, std::vector<double> prices, std::uint64_t seed)
    : m_network(network)
    , m_prices(std::move(prices))
    , m_relaxation(network)
    , m_random(seed)
{
    m_relaxation.usePrices(m_prices);
    m_costs = m_relaxation.costs();
    for (int i = 0; i < kSweeps; ++i)
        m_relaxation.sweep();
}

std::vector<int> Start::suggestion(const std::function<bool()>& stop)
{
    if (m_count++ == 0)
        return m_relaxation.decode();
    constexpr double kNoise[] = { 0.02, 0.1, 0.3 };
    const double noise = kNoise[m_random.below(3)];
    std::vector<double> costs = m_costs;
    for (double& cost : costs)
        cost *= 1 + noise * (m_random.unit() - 0.5);
    m_relaxation.useCosts(std::move(costs));
    for (int i = 0; i < kNoisySweeps && !stop(); ++i)
        m_relaxation.sweep();
    std::vector<int> out = m_relaxation.decode();
    m_relaxation.useCosts(m_costs);
    for (int i = 0; i < kNoisySweeps && !stop(); ++i)
        m_relaxation.sweep();
    return out;
}

std::optional<std::vector<int>> Start::next(const std::function<bool()>& stop)
{
    if (m_network.nodes() == 0)
        return std::nullopt;
    std::vector<double> raised = m_prices;
    const bool first = m_count == 0;
    Mender mender(m_network, suggestion(stop), m_random.next());
    const double scale = first ? 1 : 0.7 + 0.5 * m_random.unit();
    for (double& price : raised)
        price *= scale;
    mender.usePrices(raised);
    for (int i = 0; i < kMends && !stop(); ++i) {
        mender.whole();
        mender.allow(stop);
        const std::vector<double> gaps = m_relaxation.gaps(mender.choice());
        for (int j = 0; j < kMendBalls && !stop(); ++j)
            mender.ball(drawn(gaps, mender.random()));
    }
    double raise = 0.001 * std::clamp(std::abs(costOf(m_network, mender.choice())), 1.0, kForbiddenCost / 100);
    for (int i = 0; i < kRaises && !stop(); ++i) {
        const std::vector<std::int64_t> usage = usageOf(m_network, mender.choice());
        double square = 0;
        for (std::size_t row = 0; row < usage.size(); ++row) {
            const auto over = static_cast<double>(std::max<std::int64_t>(0, usage[row] - m_network.room[row]));
            square += over * over;
        }
        if (square <= 0)
            return mender.choice();
        for (std::size_t row = 0; row < usage.size(); ++row)
            if (usage[row] > m_network.room[row])
                raised[row] += raise / square * static_cast<double>(usage[row] - m_network.room[row]);
        raise *= 1.05;
        mender.usePrices(raised);
        mender.whole();
        mender.allow(stop);
    }
    return std::nullopt;
}

std::vector<int> leastUsage(const Network& network)
{
    std::vector<int> out;
    for (int node = 0; node < network.nodes(); ++node) {
        const auto begin = network.usage.begin() + static_cast<std::ptrdiff_t>(network.first[at(node)]);
        out.push_back(static_cast<int>(std::min_element(begin, begin + network.k(node)) - begin));
    }
    return out;
}

} // namespace shardboard::solver

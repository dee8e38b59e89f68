// SPDX-License-Identifier: Apache-2.0
#include "model/solver/start.h"

#include "model/solver/elimination.h"
#include "model/solver/relaxation.h"
#include "model/solver/usage.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardboard::solver {

namespace {

constexpr int kPlans = 4;
constexpr int kPasses = 8; ///< at the prices as they are given
constexpr int kRaises = 600;

} // namespace

std::optional<std::vector<int>> feasibleFrom(const Network& network, std::vector<int> choice, std::vector<double> prices,
                                             std::uint64_t seed, const std::function<bool()>& stop)
{
    Random random(seed);
    std::vector<int> all(static_cast<std::size_t>(network.nodes()));
    std::iota(all.begin(), all.end(), 0);
    std::vector<Elimination> plans;
    plans.reserve(kPlans);
    std::vector<double> costs;
    double raise = 0.002 * std::max(1.0, std::abs(costOf(network, choice)));
    if (raise > kForbiddenCost / 1e4)
        raise = kForbiddenCost / 1e8;
    for (int i = 0; i < kPasses + kRaises && !stop(); ++i) {
        if (plans.size() < kPlans)
            plans.emplace_back(network, all, EliminationLimits {}, Elimination::Rest::Fixed, random);
        addPrices(network, prices, costs);
        plans[static_cast<std::size_t>(random.below(static_cast<int>(plans.size())))].solve(costs, choice);
        const std::vector<std::int64_t> usage = usageOf(network, choice);
        double square = 0;
        for (std::size_t row = 0; row < usage.size(); ++row) {
            const auto over = static_cast<double>(std::max<std::int64_t>(0, usage[row] - network.room[row]));
            square += over * over;
        }
        if (i < kPasses)
            continue;
        if (square <= 0)
            return choice;
        for (std::size_t row = 0; row < usage.size(); ++row)
            if (usage[row] > network.room[row])
                prices[row] += raise / square * static_cast<double>(usage[row] - network.room[row]);
        raise *= 1.05;
    }
    return std::nullopt;
}

std::vector<int> leastUsage(const Network& network)
{
    std::vector<int> out;
    for (int node = 0; node < network.nodes(); ++node) {
        const auto begin = network.usage.begin() + static_cast<std::ptrdiff_t>(network.first[static_cast<std::size_t>(node)]);
        out.push_back(static_cast<int>(std::min_element(begin, begin + network.k(node)) - begin));
    }
    return out;
}

} // namespace shardboard::solver

// SPDX-License-Identifier: Apache-2.0
#include "model/solver/evaluate.h"

#include <algorithm>
#include <utility>

namespace shardboard::solver {

namespace {

/// The worst time of usages given by node, if one is over the limit.
template <class UsageOf>
std::optional<Excess> worst(const Problem& problem, UsageOf usageOf)
{
    if (!problem.limit)
        return std::nullopt;
    std::vector<std::pair<std::int64_t, Wide>> changes; // of the sum, by time
    for (std::size_t node = 0; node < problem.nodes(); ++node) {
        const Lifetime life = problem.lifetimes[node];
        const Wide used = usageOf(node);
        if (life.from >= life.until || used == 0)
            continue;
        changes.emplace_back(life.from, used);
        changes.emplace_back(life.until, -used);
    }
    std::ranges::sort(changes, {}, &std::pair<std::int64_t, Wide>::first);
    std::optional<Excess> out;
    if (*problem.limit < 0) // at times when nothing is used, too
        out = Excess { changes.empty() ? 0 : changes.front().first, 0, *problem.limit };
    Wide sum = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        sum += changes[i].second;
        const bool last = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
        if (last && sum > (out ? out->usage : Wide { *problem.limit }))
            out = Excess { changes[i].first, sum, *problem.limit };
    }
    return out;
}

} // namespace

Value evaluate(const Problem& problem, const Assignment& assignment)
{
    Value out;
    const auto chosen = [&](std::size_t node) { return static_cast<std::size_t>(assignment[node]); };
    for (std::size_t node = 0; node < problem.nodes(); ++node)
        out.cost += problem.costs(node)[chosen(node)];
    for (const Edge& edge : problem.edges) {
        const auto a = static_cast<std::size_t>(edge.a);
        const auto b = static_cast<std::size_t>(edge.b);
        const auto columns = static_cast<std::size_t>(problem.strategies(b));
        out.cost += problem.edgeCosts[edge.costs + chosen(a) * columns + chosen(b)];
    }
    out.excess = worst(problem, [&](std::size_t node) { return Wide { problem.usage(node)[chosen(node)] }; });
    return out;
}

std::optional<Excess> leastExcess(const Problem& problem)
{
    return worst(problem, [&](std::size_t node) { return Wide { std::ranges::min(problem.usage(node)) }; });
}

std::string wideText(Wide value)
{
    if (value < 0)
        return "-" + wideText(-value); // sums never come near the least value
    std::string digits;
    do {
        digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
        value /= 10;
    } while (value != 0);
    return digits;
}

} // namespace shardboard::solver

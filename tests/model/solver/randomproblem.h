// SPDX-License-Identifier: Apache-2.0
// Small problems of all kinds, and their optimum by looking at every assignment. Costs and usage are added up here by the
// definition, with nothing of the solver's.
#pragma once

#include "model/solver/problem.h"
#include "model/solver/random.h"

#include <optional>

namespace shardboard::test {

using solver::Assignment;
using solver::Problem;
using solver::Wide;

struct ProblemKind {
    int nodes = 8; ///< at most
    int strategies = 4; ///< at most
    bool limit = false;
    bool negative = false; ///< some costs and usages
    bool forbidden = false; ///< some costs of about 1e18, which sum to more than 64 bits
};

inline Problem randomProblem(solver::Random& random, const ProblemKind& kind)
{
    Problem out;
    const auto value = [&](int most) { return std::int64_t { random.below(most) } - (kind.negative ? most / 4 : 0); };
    const auto cost = [&] {
        const bool forbidden = kind.forbidden && random.below(4) == 0;
        return forbidden ? 1'000'000'000'000'000'000 + random.below(3) : value(60);
    };
    const int nodes = 1 + random.below(kind.nodes);
    for (int node = 0; node < nodes; ++node) {
        const int strategies = 1 + random.below(kind.strategies);
        for (int s = 0; s < strategies; ++s) {
            out.nodeCosts.push_back(cost());
            out.usages.push_back(value(20));
        }
        out.first.push_back(out.nodeCosts.size());
        const int from = random.below(10);
        out.lifetimes.push_back({ from, from + random.below(6) });
    }
    const int edges = random.below(2 * nodes + 1);
    for (int e = 0; e < edges; ++e) {
        const int a = random.below(nodes);
        const int b = random.below(nodes); // parallel edges and loops, too
        out.edges.push_back({ a, b, out.edgeCosts.size() });
        const int size = out.strategies(static_cast<std::size_t>(a)) * out.strategies(static_cast<std::size_t>(b));
        for (int i = 0; i < size; ++i)
            out.edgeCosts.push_back(cost());
    }
    if (kind.limit)
        out.limit = 5 + random.below(15 * nodes);
    return out;
}

inline Wide costByDefinition(const Problem& problem, const Assignment& choice)
{
    Wide out = 0;
    for (std::size_t i = 0; i < problem.nodes(); ++i)
        out += problem.nodeCosts[problem.first[i] + static_cast<std::size_t>(choice[i])];
    for (const solver::Edge& edge : problem.edges) {
        const auto a = static_cast<std::size_t>(edge.a);
        const auto b = static_cast<std::size_t>(edge.b);
        const std::size_t columns = problem.first[b + 1] - problem.first[b];
        out += problem.edgeCosts[edge.costs + static_cast<std::size_t>(choice[a]) * columns + static_cast<std::size_t>(choice[b])];
    }
    return out;
}

inline bool keepsLimit(const Problem& problem, const Assignment& choice)
{
    if (!problem.limit)
        return true;
    for (std::int64_t time = 0; time < 20; ++time) {
        Wide sum = 0;
        for (std::size_t i = 0; i < problem.nodes(); ++i)
            if (problem.lifetimes[i].from <= time && time < problem.lifetimes[i].until)
                sum += problem.usages[problem.first[i] + static_cast<std::size_t>(choice[i])];
        if (sum > *problem.limit)
            return false;
    }
    return true;
}

/// The least cost of all feasible assignments; nothing where there is none.
inline std::optional<Wide> bruteForce(const Problem& problem)
{
    std::optional<Wide> best;
    Assignment choice(problem.nodes(), 0);
    while (true) {
        if (keepsLimit(problem, choice))
            if (const Wide cost = costByDefinition(problem, choice); !best || cost < *best)
                best = cost;
        std::size_t i = 0;
        while (i < choice.size() && ++choice[i] == problem.strategies(i))
            choice[i++] = 0;
        if (i == choice.size())
            return best;
    }
}

} // namespace shardboard::test

// SPDX-License-Identifier: Apache-2.0
// A problem as the search wants it: what cannot be in a good answer is gone (strategies that only forbidden costs allow, nodes
// without a choice, edges that are a sum of node costs, times that other times imply), equal tables are kept once, costs are
// doubles. Nothing here proves anything: answers are evaluated and bounds are checked with the problem itself.
#pragma once

#include "model/solver/problem.h"
#include "model/solver/usable.h"

#include <vector>

namespace shardboard::solver {

/// What the search sees for costs of kForbidden and more, so that sums keep their last digits.
inline constexpr double kForbiddenCost = 1e14;

/// An edge as one of its nodes sees it.
struct Side {
    int edge = 0;
    int other = 0; ///< the node at the other end
    bool first = false; ///< whether this node is the edge's `a`
};

struct Network {
    struct Link {
        int a = 0; ///< a < b
        int b = 0;
        std::size_t rows = 0; ///< in `tables`: entry s * k(b) + t
        std::size_t columns = 0; ///< the same table transposed: entry t * k(a) + s
    };

    // Nodes: those with a choice. Strategies of node i are [first[i], first[i + 1]).
    std::vector<int> original; ///< the problem's node
    std::vector<int> all; ///< how many strategies it has there
    std::vector<std::size_t> first { 0 };
    std::vector<int> strategy; ///< the problem's, by our strategy
    std::vector<double> cost;
    std::vector<std::int64_t> usage;
    std::vector<int> from; ///< memory rows [from, until) that the node uses, empty where it uses none that counts
    std::vector<int> until;

    std::vector<Link> links;
    std::vector<double> tables;
    std::vector<std::size_t> sideStart; ///< sides of node i are [sideStart[i], sideStart[i + 1])
    std::vector<Side> sides;

    // Memory: times at which the limit may bind, in order, and what is left there for the nodes above.
    std::vector<std::int64_t> room;
    std::vector<std::int64_t> time;

    double constant = 0; ///< cost of what was decided
    Assignment decided; ///< of all nodes of the problem; -1 where there is a choice
    std::vector<char> alive; ///< strategies of the problem that are left

    int nodes() const { return static_cast<int>(original.size()); }
    int k(int node) const
    {
        return static_cast<int>(first[static_cast<std::size_t>(node) + 1] - first[static_cast<std::size_t>(node)]);
    }
    Assignment expand(const std::vector<int>& choice) const;
};

/// With `usableOnly` strategies that need a forbidden cost are gone. Where the limit cannot be kept without them, they stay.
Network simplify(const Problem& problem, bool usableOnly = true);

} // namespace shardboard::solver

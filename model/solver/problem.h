// SPDX-License-Identifier: Apache-2.0
// A general problem of layout assignment, as compilers pose it: nodes with strategies, costs on nodes and edges, and memory that
// each node uses for a range of time under a limit that holds at every time. The format of the IOPDDL contest; no room of ours but
// model/core is needed to solve it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardboard::solver {

/// Sums of 64-bit costs may pass 64 bits; no count of nodes and edges that fits into memory passes 128.
__extension__ using Wide = __int128;

/// Half open; empty where from >= until.
struct Lifetime {
    std::int64_t from = 0;
    std::int64_t until = 0;
};

/// Costs row major: entry `s * strategies(b) + t`. Two nodes may share several edges, and an edge may join a node with itself.
struct Edge {
    int a = 0;
    int b = 0;
    std::size_t costs = 0; ///< where they begin in Problem::edgeCosts
};

struct Problem {
    std::string name;
    /// Strategies of node i are [first[i], first[i + 1]) of nodeCosts and usages.
    std::vector<std::size_t> first { 0 };
    std::vector<std::int64_t> nodeCosts;
    std::vector<std::int64_t> usages;
    std::vector<Lifetime> lifetimes;
    std::vector<Edge> edges;
    std::vector<std::int64_t> edgeCosts;
    std::optional<std::int64_t> limit; ///< of the summed usage at every time

    std::size_t nodes() const { return first.size() - 1; }
    int strategies(std::size_t node) const { return static_cast<int>(first[node + 1] - first[node]); }
    std::span<const std::int64_t> costs(std::size_t node) const
    {
        return { nodeCosts.data() + first[node], first[node + 1] - first[node] };
    }
    std::span<const std::int64_t> usage(std::size_t node) const
    {
        return { usages.data() + first[node], first[node + 1] - first[node] };
    }
};

/// One strategy for each node.
using Assignment = std::vector<int>;

} // namespace shardboard::solver

// SPDX-License-Identifier: Apache-2.0
// A lower bound that anybody can check: prices and messages as exact numbers, and the rule that makes a bound of any of them. The
// rule reads the problem itself, in arithmetic that cannot overflow, and shares no code with what found the numbers.
#pragma once

#include "model/solver/network.h"
#include "model/solver/problem.h"
#include "model/solver/relaxation.h"

#include <optional>
#include <vector>

namespace shardboard::solver {

/// Prices and messages count in 2^-kProofScale of a cost.
inline constexpr int kProofScale = 40;

struct Proof {
    struct Price {
        std::int64_t time = 0;
        Wide price = 0; ///< of one unit of usage at that time, not negative
    };
    /// Between nodes that are not eliminated, by all strategies of the node: moved from the edges between them to the node.
    struct Message {
        int a = 0;
        int b = 0;
        std::vector<Wide> toA;
        std::vector<Wide> toB;
    };
    std::vector<Price> prices;
    std::vector<int> order; ///< nodes that are eliminated, each with at most two neighbors left then
    std::vector<Message> messages;
};

/// No assignment that keeps the limit costs less. Nothing where the proof is not one (a node or time that is not there, a node with
/// too many neighbors, numbers too large).
/// 1. Each strategy that needs a cost of kForbidden or more is left out; what needs such a cost is bounded by it and by the least
/// of all
///    others. 2. Usage over the limit is priced. 3. Tables that are sums move to the nodes; nodes with one strategy go. 4. Nodes
///    are eliminated in order. 5. Messages are moved. 6. The least of every node and table is added up.
std::optional<Wide> boundOf(const Problem& problem, const Proof& proof);

/// After a sweep.
Proof proofOf(const Network& network, const std::vector<double>& prices, Relaxation& relaxation);

} // namespace shardboard::solver

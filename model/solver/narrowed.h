// SPDX-License-Identifier: Apache-2.0
// Which values of a cost network's nodes can be part of the least sum at all. Costs are moved between tables of two nodes and the
// nodes themselves, in rounds forward and backward along an order of the nodes (sequential tree-reweighted message passing,
// Kolmogorov 2006, in the form of anisotropic diffusion); the sum stays what it is, and what is common to all values of a node is
// part of a lower bound. A value that lifts the bound above the cost of an assignment that was found on the way goes. On a chain
// this is exact after one round; networks of layers are nearly chains, so that little is left to eliminate.
#pragma once

#include "model/solver/minplus.h"

namespace shardboard::minplus {

struct Narrowed {
    std::vector<std::vector<int>> kept; ///< by node: values that are left, ascending; none: nothing is below the upper bound
    double bound = -kNever; ///< nothing costs less, but for rounding
    std::vector<int> values; ///< the cheapest assignment that was found; empty: none
    double cost = kNever; ///< of `values`

    /// The network with nothing but the values that are left, all its costs exact.
    CostNetwork of(const CostNetwork& network) const;
    /// An assignment of that network, in values of the one it came from.
    std::vector<int> original(const std::vector<int>& chosen) const;
};

/// Tables of three and more nodes are bounded by their least entry alone. What costs more than `options.upper` may go. Where
/// costs are floors, rounds go over the floors alone first; when these lead nowhere, costs that a least is taken from are made
/// exact.
Narrowed narrowed(const CostNetwork& network, const LeastOptions& options = {});

} // namespace shardboard::minplus

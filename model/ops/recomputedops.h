// SPDX-License-Identifier: Apache-2.0
// Which operations of a layer a Recompute stands for.
#pragma once

#include "model/ops/graph.h"
#include "model/ops/recompute.h"

#include <set>
#include <vector>

namespace shardboard {

/// Those of `ops`, the operations of a forward segment in their order, that belong to the parts of `recompute`, without Cheap. A
/// change of shape is made again with any of them, which costs nothing, and a bias with its projection.
std::set<OpId> recomputedOps(const Graph& graph, const std::vector<OpId>& ops, Recompute recompute);

} // namespace shardboard

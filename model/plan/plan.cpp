// SPDX-License-Identifier: Apache-2.0
#include "model/plan/plan.h"

#include "model/ops/opdefinition.h"

#include <algorithm>

namespace shardboard {

std::int64_t Plan::collectiveBytes() const
{
    std::int64_t bytes = 0;
    for (const Collective& collective : collectives)
        bytes += collective.count * collective.bytes;
    return bytes;
}

std::int64_t Plan::movingCollectives() const
{
    return std::ranges::count_if(collectives, [](const Collective& it) { return it.isCall(); });
}

std::vector<std::string> recomputedIn(const Graph& graph, const PlannedSegment& segment)
{
    std::vector<std::string> names;
    for (const PlannedOp& op : segment.ops)
        if (const TensorId of = graph.entry(graph.op(op.op).result).again;
            of != kNoTensor && !definitionOf(graph.op(op.op).kind).view)
            names.push_back(graph.tensor(of).name);
    return names;
}

} // namespace shardboard

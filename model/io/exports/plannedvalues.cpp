// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/plannedvalues.h"

#include "model/plan/planner/pinning.h"

#include <algorithm>

namespace shardboard {

std::vector<PlannedValue> plannedValues(const Design& design, const Evaluation& evaluation)
{
    const Graph& graph = evaluation.graph;
    const Pinning pinning(graph, design.mesh, design.pins, design.picker.profile);
    std::vector<PlannedValue> out;
    for (const PlannedSegment& segment : evaluation.plan.segments) {
        if (segment.phase != Phase::Forward)
            continue;
        for (const PlannedOp& op : segment.ops) {
            PlannedValue& value = out.emplace_back();
            value.name = segment.name + "/" + graph.op(op.op).name;
            value.spec = graph.tensor(graph.op(op.op).result);
            value.layout = op.result;
            value.layers = segment.count;
            value.pinned = value.layout.partial.empty()
                && std::ranges::any_of(pinning.of(op.op), [](const AxisPin& pin) { return pin.result.has_value(); });
        }
    }
    return out;
}

} // namespace shardboard

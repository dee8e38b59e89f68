// SPDX-License-Identifier: Apache-2.0
#include "model/plan/steptime.h"

#include <algorithm>

namespace shardboard {

bool movesWeight(const Graph& graph, const Collective& collective)
{
    if (collective.tensor == kNoTensor)
        return false;
    TensorId tensor = collective.tensor;
    const GraphTensor& entry = graph.tensors[static_cast<std::size_t>(tensor)];
    if (entry.gradientOf != kNoTensor)
        tensor = entry.gradientOf;
    else if (entry.addendOf != kNoTensor)
        tensor = entry.addendOf;
    return graph.tensor(tensor).role == TensorRole::Weight;
}

std::vector<SegmentTime> segmentTimes(const Graph& graph, const Plan& plan, Overlap overlap)
{
    std::vector<SegmentTime> out(plan.segments.size());
    std::vector<double> weights(plan.segments.size(), 0);
    for (std::size_t s = 0; s < plan.segments.size(); ++s)
        for (const PlannedOp& op : plan.segments[s].ops)
            out[s].compute += static_cast<double>(op.count) * op.seconds;
    for (const Collective& collective : plan.collectives) {
        const auto s = static_cast<std::size_t>(collective.plannedSegment);
        const double seconds = static_cast<double>(collective.count) * collective.seconds;
        out[s].collectives += seconds;
        if (movesWeight(graph, collective))
            weights[s] += seconds;
    }
    for (std::size_t s = 0; s < out.size(); ++s) {
        const double beside = overlap == Overlap::None ? 0 : overlap == Overlap::Weights ? weights[s] : out[s].collectives;
        out[s].exposed = out[s].collectives - std::min(beside, out[s].compute);
    }
    return out;
}

} // namespace shardboard

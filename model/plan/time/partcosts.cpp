// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/partcosts.h"

#include "model/core/checked.h"
#include "model/plan/memory/segmentprofile.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/steptime.h"

namespace shardboard {

std::vector<PartCost> partCosts(const Graph& graph, const Plan& plan)
{
    const StepTimes step = stepTimes(graph, plan);
    const std::vector<SegmentTime>& times = step.parts;
    const std::vector<SegmentProfile> profiles = segmentProfiles(graph, plan);
    std::vector<PartCost> out;
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const PlannedSegment& segment = plan.segments[s];
        PartCost part;
        part.plannedSegment = PlannedSegmentId(s);
        part.name = segment.name;
        part.phase = segment.phase;
        part.layers = segment.count;
        part.device = deviceShare(graph, plan, PlannedSegmentId(s));
        part.compute = times[s].compute;
        part.collectives = times[s].collectives;
        part.exposed = times[s].exposed;
        const std::int64_t left = checkedAdd(profiles[s].keptActivations, profiles[s].keptLogits).value_or(0);
        part.kept = checkedMultiply(left, segment.count).value_or(left);
        for (std::size_t i = 0; i < segment.ops.size(); ++i) {
            const PlannedOp& op = segment.ops[i];
            part.operations.push_back({ PlannedOpId(i), op.op, static_cast<double>(op.count) * op.seconds, 0, 0, {} });
        }
        out.push_back(std::move(part));
    }
    PartCost sends;
    sends.plannedSegment = {};
    sends.name = "stage sends";
    sends.device = step.sends > 0 ? step.busiestSends / step.sends : 1;
    for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
        const Collective& collective = plan.collectives[i];
        if (isStageSend(plan, collective)) {
            sends.collectives += static_cast<double>(collective.count) * collective.seconds;
            sends.moved =
                checkedAdd(sends.moved, checkedMultiply(collective.bytes, collective.count).value_or(0)).value_or(sends.moved);
            continue;
        }
        PartCost& part = out[collective.plannedSegment];
        part.moved = checkedAdd(part.moved, checkedMultiply(collective.bytes, collective.count).value_or(0)).value_or(part.moved);
        for (OperationCost& operation : part.operations)
            if (operation.op == collective.op) {
                operation.collectives += static_cast<double>(collective.count) * collective.seconds;
                operation.exposed += step.exposed[i];
                operation.moves.push_back(CollectiveId(i));
                break;
            }
    }
    sends.exposed = step.exposedSends;
    if (sends.moved > 0)
        out.push_back(std::move(sends));
    return out;
}

} // namespace shardboard

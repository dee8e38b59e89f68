// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/steptime.h"

#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

bool movesWeight(const Graph& graph, const Collective& collective)
{
    if (collective.tensor == kNoTensor)
        return false;
    TensorId tensor = collective.tensor;
    const GraphTensor& entry = graph.entry(tensor);
    if (entry.gradientOf != kNoTensor)
        tensor = entry.gradientOf;
    else if (entry.addendOf != kNoTensor)
        tensor = entry.addendOf;
    return graph.tensor(tensor).role == TensorRole::Weight;
}

bool isStageSend(const Plan& plan, const Collective& collective)
{
    return plan.pipeline && collective.kind == CollectiveKind::SendRecv && collective.axes.size() == 1
        && collective.axes.front() == plan.pipeline->axis;
}

void SegmentTime::hide(Overlap overlap)
{
    const double beside = overlap == Overlap::None ? 0 : overlap == Overlap::Weights ? weights : collectives;
    exposed = collectives - std::min(beside, compute);
}

std::vector<SegmentTime> segmentTimes(const Graph& graph, const Plan& plan)
{
    std::vector<SegmentTime> out(plan.segments.size());
    for (std::size_t s = 0; s < plan.segments.size(); ++s)
        for (const PlannedOp& op : plan.segments[s].ops)
            out[s].compute += static_cast<double>(op.count) * op.seconds;
    for (const Collective& collective : plan.collectives) {
        if (isStageSend(plan, collective))
            continue;
        const auto s = collective.plannedSegment;
        const double seconds = static_cast<double>(collective.count) * collective.seconds;
        out[s].collectives += seconds;
        if (movesWeight(graph, collective))
            out[s].weights += seconds;
    }
    for (SegmentTime& time : out)
        time.hide(plan.overlap);
    return out;
}

void setStepTimes(const Graph& graph, const std::vector<SegmentTime>& times, double sends, Plan& plan)
{
    plan.computeSeconds = 0;
    plan.collectiveSeconds = plan.exposedSeconds = sends;
    for (const SegmentTime& time : times) {
        plan.computeSeconds += time.compute;
        plan.collectiveSeconds += time.collectives;
        plan.exposedSeconds += time.exposed;
    }
    if (!plan.pipeline)
        return;
    PlannedPipeline& pipeline = *plan.pipeline;
    std::vector<double> ends(graph.segments.size(), 0);
    double layers = 0;
    double updatedLayers = 0;
    double updatedEnd = 0; // embedding and head update on stages of their own, at the same time
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const PlannedSegment& planned = plan.segments[s];
        const Segment& segment = graph.segment(planned.segment);
        const double seconds = times[s].seconds();
        if (planned.phase == Phase::Update)
            (segment.isLayer ? updatedLayers += seconds : updatedEnd = std::max(updatedEnd, seconds));
        else if (segment.isLayer)
            layers += seconds;
        else
            ends[segment.of.valid() ? segment.of : planned.segment] += seconds;
    }
    pipeline.updateSeconds = updatedLayers * stageShare(pipeline) + updatedEnd;
    std::sort(ends.rbegin(), ends.rend());
    const double other = ends.size() > 1 ? ends[1] : 0;
    const bool apart = pipeline.stages > 1;
    pipeline.endSeconds = ends.front() + (apart ? 0 : other);
    pipeline.otherEndSeconds = apart ? other / static_cast<double>(plan.microBatches) : 0;
    pipeline.stageSeconds = layers * stageShare(pipeline) + pipeline.endSeconds + sends / static_cast<double>(pipeline.stages);
}

void setStepTimes(const Graph& graph, Plan& plan)
{
    double sends = 0;
    for (const Collective& collective : plan.collectives)
        if (isStageSend(plan, collective))
            sends += static_cast<double>(collective.count) * collective.seconds;
    setStepTimes(graph, segmentTimes(graph, plan), sends, plan);
}

} // namespace shardboard

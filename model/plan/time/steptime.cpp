// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/steptime.h"

#include "model/ops/opdefinition.h"
#include "model/plan/pipeline.h"
#include "model/text/contains.h"

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

OverlapKind overlapKindOf(const Graph& graph, const Plan& plan, const Collective& collective)
{
    if (isStageSend(plan, collective))
        return OverlapKind::Sends;
    if (movesWeight(graph, collective))
        return graph.tensor(collective.tensor).role == TensorRole::Weight ? OverlapKind::WeightGathers
                                                                          : OverlapKind::GradientScatters;
    if (collective.tensor != kNoTensor && contains(graph.tensor(collective.tensor).dimLabels, "experts"))
        return OverlapKind::Experts;
    const bool attends = collective.op.valid() && definitionOf(graph.op(collective.op).kind).group == OpGroup::Attention;
    return attends ? OverlapKind::Context : OverlapKind::Tensor;
}

void SegmentTime::add(OverlapKind of, double seconds)
{
    collectives += seconds;
    byKind[static_cast<std::size_t>(of)] += seconds;
}

double SegmentTime::beside(Overlap overlap) const
{
    double out = 0;
    for (const OverlapKind of : kOverlapKinds)
        out += overlap.has(of) ? byKind[static_cast<std::size_t>(of)] : 0;
    return out;
}

void SegmentTime::hide(Overlap overlap)
{
    // The kinds add up to the collectives but for rounding.
    exposed = collectives - std::min({ beside(overlap), compute, collectives });
}

double SegmentTime::exposedPart(Overlap overlap, OverlapKind of) const
{
    const double hidden = beside(overlap);
    return overlap.has(of) && hidden > 0 ? 1 - std::min(hidden, compute) / hidden : 1;
}

double exposedSends(const Plan& plan)
{
    return plan.pipeline && plan.overlap.has(OverlapKind::Sends) ? std::min(1.0, plan.pipeline->bubble) : 1;
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
        out[collective.plannedSegment].add(overlapKindOf(graph, plan, collective),
                                           static_cast<double>(collective.count) * collective.seconds);
    }
    for (SegmentTime& time : out)
        time.hide(plan.overlap);
    return out;
}

std::vector<DeviceCollective> deviceCollectives(const Graph& graph, const Plan& plan)
{
    const std::vector<SegmentTime> times = segmentTimes(graph, plan);
    std::vector<DeviceCollective> out;
    out.reserve(plan.collectives.size());
    for (const Collective& collective : plan.collectives) {
        const double seconds = collective.seconds * static_cast<double>(collective.count) * deviceShare(graph, plan, collective);
        const double part = isStageSend(plan, collective)
            ? exposedSends(plan)
            : times[collective.plannedSegment].exposedPart(plan.overlap, overlapKindOf(graph, plan, collective));
        out.push_back({ seconds, seconds * part });
    }
    return out;
}

namespace {

/// Of the stages' devices, those that determine how long a step takes.
DeviceStep busiestDevice(const Graph& graph, const std::vector<SegmentTime>& times, double sends, const Plan& plan)
{
    DeviceStep out;
    out.collectives = sends / static_cast<double>(plan.pipeline->stages);
    out.exposed = out.collectives * exposedSends(plan);
    for (std::size_t s = 0; s < times.size(); ++s) {
        const double share = busiestShare(graph, plan, PlannedSegmentId(s));
        out.compute += times[s].compute * share;
        out.collectives += times[s].collectives * share;
        out.exposed += times[s].exposed * share;
    }
    out.bubble = plan.pipeline->bubbleSeconds();
    return out;
}

} // namespace

void setStepTimes(const Graph& graph, const std::vector<SegmentTime>& times, double sends, Plan& plan)
{
    plan.computeSeconds = 0;
    plan.collectiveSeconds = sends;
    sends *= exposedSends(plan);
    plan.exposedSeconds = sends;
    for (const SegmentTime& time : times) {
        plan.computeSeconds += time.compute;
        plan.collectiveSeconds += time.collectives;
        plan.exposedSeconds += time.exposed;
    }
    if (!plan.pipeline)
        return;
    PlannedPipeline& pipeline = *plan.pipeline;
    std::vector<double> ends(graph.segments.size(), 0);
    double allEnds = 0;
    double layers = 0;
    double updatedLayers = 0;
    double updatedEnds = 0;
    double longerUpdate = 0;
    pipeline.longerUpdate = {};
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const PlannedSegment& planned = plan.segments[s];
        const Segment& segment = graph.segment(planned.segment);
        const bool update = planned.phase == Phase::Update;
        const double seconds = times[s].seconds();
        if (segment.isLayer) {
            (update ? updatedLayers : layers) += seconds;
        } else if (update) {
            updatedEnds += seconds;
            if (seconds > longerUpdate) {
                longerUpdate = seconds;
                pipeline.longerUpdate = PlannedSegmentId(s);
            }
        } else {
            allEnds += seconds;
            ends[segment.of.valid() ? segment.of : planned.segment] += seconds;
        }
    }
    // Embedding and head work and update on stages of their own, at the same time; on a single one, one after the other.
    const bool apart = pipeline.stages > 1;
    pipeline.updateSeconds = updatedLayers * stageShare(pipeline) + (apart ? longerUpdate : updatedEnds);
    const auto longer = std::ranges::max_element(ends);
    pipeline.longerEnd = SegmentId(longer - ends.begin());
    pipeline.endSeconds = apart ? *longer : allEnds;
    *longer = 0;
    pipeline.otherEndSeconds = apart ? std::ranges::max(ends) / static_cast<double>(plan.microBatches) : 0;
    pipeline.stageSeconds = layers * stageShare(pipeline) + pipeline.endSeconds + sends / static_cast<double>(pipeline.stages);
}

void setStepTimes(const Graph& graph, Plan& plan)
{
    double sends = 0;
    for (const Collective& collective : plan.collectives)
        if (isStageSend(plan, collective))
            sends += static_cast<double>(collective.count) * collective.seconds;
    const std::vector<SegmentTime> times = segmentTimes(graph, plan);
    setStepTimes(graph, times, sends, plan);
    plan.device = plan.pipeline ? busiestDevice(graph, times, sends, plan)
                                : DeviceStep { plan.computeSeconds, plan.collectiveSeconds, plan.exposedSeconds, 0 };
}

} // namespace shardboard

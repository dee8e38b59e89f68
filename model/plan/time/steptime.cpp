// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/steptime.h"

#include "model/ops/opdefinition.h"
#include "model/plan/memory/stagelayers.h"
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
    exposed = std::max(0.0, beside(overlap) - compute);
    for (const OverlapKind of : kOverlapKinds)
        exposed += overlap.has(of) ? 0 : byKind[static_cast<std::size_t>(of)];
    exposed = std::min(exposed, collectives); // the kinds add up to them but for rounding
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
    for (std::size_t s = 0; s < plan.segments.size(); ++s)
        out[s].add(OverlapKind::Host, plan.segments[s].host.seconds);
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

/// Seconds of what is no layer, by segment, and which of it comes behind the layers.
struct EndTimes {
    const std::vector<double>& seconds;
    std::vector<bool> behind;

    /// The longest on that side; an invalid one where there is none.
    SegmentId longest(bool last) const
    {
        SegmentId out;
        for (std::size_t i = 0; i < seconds.size(); ++i)
            if (behind[i] == last && seconds[i] > 0 && (!out.valid() || seconds[i] > seconds[out]))
                out = SegmentId(i);
        return out;
    }
};

/// Stages of different numbers of layers: the busiest one may have no end, and fewer layers than another.
void setUnevenTimes(double layers, const EndTimes& ends, Plan& plan)
{
    PlannedPipeline& pipeline = *plan.pipeline;
    const SegmentId first = ends.longest(false);
    const SegmentId last = ends.longest(true);
    const double firstSeconds = first.valid() ? ends.seconds[first] : 0;
    const double lastSeconds = last.valid() ? ends.seconds[last] : 0;
    const auto endOf = [&](std::int64_t stage) {
        return (stage == 0 ? firstSeconds : 0) + (stage == pipeline.stages - 1 ? lastSeconds : 0);
    };
    double most = -1;
    for (std::int64_t stage = 0; stage < pipeline.stages; ++stage) {
        const double share = static_cast<double>(layersOfStage(pipeline, stage)) / static_cast<double>(pipeline.layers);
        if (const double seconds = layers * share + endOf(stage); seconds > most) {
            most = seconds;
            pipeline.busiestStage = stage;
        }
    }
    const bool isFirst = pipeline.busiestStage == 0;
    const bool isLast = pipeline.busiestStage == pipeline.stages - 1;
    pipeline.longerEnd = isFirst ? first : isLast ? last : SegmentId();
    pipeline.endSeconds = endOf(pipeline.busiestStage);
    pipeline.otherEndSeconds = (firstSeconds + lastSeconds - pipeline.endSeconds) / static_cast<double>(plan.microBatches);
}

/// Time in which the busiest stage waits for layers, by the time in which it works on them. 1F1B and interleaved: the others'
/// passes of one micro-batch, which for stages alike is (p-1)/(vm). ZB-H1: (p-1)(F + B - 2W) in place of (p-1)(F + B), B the whole
/// backward pass and W its part for gradients of weights (arXiv 2401.10241, table 2, whose B is without W; as ZB1P in the README of
/// deepseek-ai/DualPipe): the first stage, which waits for the last micro-batch, has gradients of min(m,p)-1 others to make then.
/// DualPipe (p/2-1)(F&B + B - 3W), F&B = F + B (DeepSeek-V3, arXiv 2412.19437, table 2, and that README).
void setBubble(Plan& plan)
{
    PlannedPipeline& pipeline = *plan.pipeline;
    const bool plain = pipeline.schedule == PipelineSchedule::OneForwardOneBackward;
    if (plain && pipeline.runEnds.empty())
        return; // as it was made
    const auto microBatches = static_cast<double>(plan.microBatches);
    const auto own = static_cast<double>(layersOfStage(pipeline, pipeline.busiestStage));
    const double gradients = pipeline.weightGradientShare;
    if (pipeline.isDual()) {
        const double passes = static_cast<double>(pipeline.stages) / 2 - 1;
        pipeline.bubble = passes * std::max(0.0, 1 + pipeline.backwardShare - 3 * gradients) / microBatches;
        return;
    }
    const double others = static_cast<double>(pipeline.layers) - own;
    const auto hasLayers = [&](std::int64_t run) { return layersOfRun(pipeline, run).size() > 0; };
    const auto runs = std::ranges::count_if(runsOfStage(pipeline, pipeline.busiestStage), hasLayers); // others are passed at once
    pipeline.bubble = others / (own * static_cast<double>(std::max<std::int64_t>(1, runs)) * microBatches);
    if (!plain) {
        const double waiting = std::min(microBatches, static_cast<double>(pipeline.stages)) - 1;
        pipeline.bubble *=
            std::max(0.0, 1 - gradients * (1 + waiting / static_cast<double>(std::max<std::int64_t>(1, pipeline.stages - 1))));
    }
}

} // namespace

void setStepTimes(const Graph& graph, const std::vector<SegmentTime>& times, double sends, Plan& plan)
{
    plan.computeSeconds = 0;
    plan.collectiveSeconds = sends;
    plan.exposedSeconds = 0;
    for (const SegmentTime& time : times) {
        plan.computeSeconds += time.compute;
        plan.collectiveSeconds += time.collectives;
        plan.exposedSeconds += time.exposed;
    }
    if (!plan.pipeline) {
        plan.exposedSeconds += sends;
        return;
    }
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
    if (pipeline.isDual()) {
        // Each end has embedding and head for half of the micro-batches, and all of their weights to update.
        pipeline.longerEnd = {};
        pipeline.longerUpdate = {};
        double most = -1;
        for (std::int64_t stage = 0; 2 * stage < pipeline.stages; ++stage) {
            const double held = static_cast<double>(layersOfStage(pipeline, stage)) / static_cast<double>(pipeline.layers);
            if (const double seconds = layers * held / 2 + (stage == 0 ? allEnds / 2 : 0); seconds > most) {
                most = seconds;
                pipeline.busiestStage = stage;
            }
        }
        const double ofEnds = pipeline.busiestStage == 0 ? 1 : 0;
        pipeline.updateSeconds = updatedLayers * stageShare(pipeline) * 2 + ofEnds * updatedEnds;
        pipeline.endSeconds = ofEnds * allEnds / 2;
        pipeline.otherEndSeconds = 0;
    } else if (!pipeline.runEnds.empty() && pipeline.stages > 1) {
        const EndTimes sides { ends, behindLayers(graph) };
        setUnevenTimes(layers, sides, plan);
        const bool updatesEnd = pipeline.longerUpdate.valid()
            && pipeline.busiestStage == (sides.behind[plan.segment(pipeline.longerUpdate).segment] ? pipeline.stages - 1 : 0);
        if (!updatesEnd)
            pipeline.longerUpdate = {};
        pipeline.updateSeconds = updatedLayers * stageShare(pipeline) + (updatesEnd ? longerUpdate : 0);
    } else {
        // Embedding and head work and update on stages of their own, at the same time; on a single one, one after the other.
        const bool apart = pipeline.stages > 1;
        pipeline.updateSeconds = updatedLayers * stageShare(pipeline) + (apart ? longerUpdate : updatedEnds);
        const auto longer = std::ranges::max_element(ends);
        pipeline.longerEnd = SegmentId(longer - ends.begin());
        pipeline.endSeconds = apart ? *longer : allEnds;
        *longer = 0;
        pipeline.otherEndSeconds = apart ? std::ranges::max(ends) / static_cast<double>(plan.microBatches) : 0;
    }
    setBubble(plan);
    sends *= exposedSends(plan);
    plan.exposedSeconds += sends;
    pipeline.stageSeconds = layers * stageShare(pipeline) + pipeline.endSeconds + sends / static_cast<double>(pipeline.stages);
}

namespace {

/// What the schedules' tables need (setBubble): which part of the layers' time is of the backward pass, and of gradients of
/// weights.
void setShares(const Graph& graph, const std::vector<SegmentTime>& times, Plan& plan)
{
    double all = 0;
    double backward = 0;
    double gradients = 0;
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const PlannedSegment& planned = plan.segments[s];
        if (!graph.segment(planned.segment).isLayer || planned.phase == Phase::Update)
            continue;
        all += times[s].seconds();
        if (planned.phase != Phase::Backward)
            continue;
        backward += times[s].seconds();
        for (const PlannedOp& op : planned.ops) {
            const GraphTensor& result = graph.entry(graph.op(op.op).result);
            const TensorId of = result.gradientOf != kNoTensor ? result.gradientOf : result.addendOf;
            if (of != kNoTensor && graph.tensor(of).role == TensorRole::Weight)
                gradients += static_cast<double>(op.count) * op.seconds;
        }
    }
    plan.pipeline->backwardShare = all > 0 ? backward / all : 0;
    plan.pipeline->weightGradientShare = all > 0 ? gradients / all : 0;
}

} // namespace

void setStepTimes(const Graph& graph, Plan& plan)
{
    double sends = 0;
    for (const Collective& collective : plan.collectives)
        if (isStageSend(plan, collective))
            sends += static_cast<double>(collective.count) * collective.seconds;
    const std::vector<SegmentTime> times = segmentTimes(graph, plan);
    if (plan.pipeline && plan.pipeline->schedule != PipelineSchedule::OneForwardOneBackward)
        setShares(graph, times, plan);
    setStepTimes(graph, times, sends, plan);
    plan.device = plan.pipeline ? busiestDevice(graph, times, sends, plan)
                                : DeviceStep { plan.computeSeconds, plan.collectiveSeconds, plan.exposedSeconds, 0 };
}

} // namespace shardboard

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

void SegmentTime::expose(OverlapKind of, double seconds)
{
    exposed += seconds;
    exposedByKind[static_cast<std::size_t>(of)] += seconds;
}

namespace {

/// Of the stages' devices, one of the busiest stage.
void setDevice(const Graph& graph, const Plan& plan, const StepSchedule& schedule, StepTimes& times)
{
    DeviceStep& device = times.device;
    for (std::size_t s = 0; s < times.parts.size(); ++s) {
        const double share = stageShare(graph, plan, PlannedSegmentId(s), times.busiest.stage);
        device.compute += times.parts[s].compute * share;
        device.collectives += times.parts[s].collectives * share;
    }
    for (const Collective& collective : plan.collectives)
        if (isStageSend(plan, collective))
            times.busiestSends += static_cast<double>(collective.count) * collective.seconds
                * stageShare(graph, plan, collective, times.busiest.stage);
    device.collectives += times.busiestSends;
    const auto expose = [&](OverlapKind kind, double seconds) {
        device.exposed += seconds;
        times.deviceExposed[static_cast<std::size_t>(kind)] += seconds;
    };
    for (const StepPart& part : schedule.tasks().parts)
        for (const StepTask& task : part.tasks)
            if (task.mode != TaskMode::Compute)
                expose(task.kind, times.busiest.exposed[task.number]);
    expose(OverlapKind::Sends, times.busiest.sends);
    device.exposed = std::min(device.exposed, device.collectives); // but for rounding
    device.bubble = times.busiest.bubble;
}

} // namespace

StepTimes stepTimes(const Graph& graph, const Plan& plan)
{
    StepSchedule schedule(graph, plan);
    schedule.run(plan, stageSends(graph, plan), plan.kernelShare);
    StepTimes out;
    out.parts.resize(plan.segments.size());
    out.exposed.resize(plan.collectives.size(), 0);
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        for (const PlannedOp& op : plan.segments[s].ops)
            out.parts[s].compute += static_cast<double>(op.count) * op.seconds;
        out.parts[s].add(OverlapKind::Host, plan.segments[s].host.seconds);
        for (const StepTask& task : schedule.tasks().parts[s].tasks) {
            if (task.mode == TaskMode::Compute)
                continue;
            const double exposed = schedule.exposed()[task.number];
            out.parts[s].expose(task.kind, exposed);
            if (task.collective.valid())
                out.exposed[task.collective] = exposed;
        }
    }
    for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
        const Collective& collective = plan.collectives[i];
        const double seconds = static_cast<double>(collective.count) * collective.seconds;
        if (!isStageSend(plan, collective)) {
            out.parts[collective.plannedSegment].add(overlapKindOf(graph, plan, collective), seconds);
            continue;
        }
        const SendPlace place = sendPlace(graph, plan, collective);
        const bool atEnd = place.first == &StageSends::atEnd;
        out.sends += seconds;
        out.exposed[i] = atEnd ? place.second * collective.seconds : plan.overlap.has(OverlapKind::Sends) ? 0 : seconds;
        out.exposedSends += out.exposed[i];
    }
    for (SegmentTime& part : out.parts)
        part.exposed = std::min(part.exposed, part.collectives); // but for rounding
    out.busiest = schedule.busiest(plan);
    setDevice(graph, plan, schedule, out);
    return out;
}

std::vector<SegmentTime> segmentTimes(const Graph& graph, const Plan& plan) { return stepTimes(graph, plan).parts; }

std::vector<DeviceCollective> deviceCollectives(const Graph& graph, const Plan& plan)
{
    const StepTimes times = stepTimes(graph, plan);
    std::vector<DeviceCollective> out;
    out.reserve(plan.collectives.size());
    for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
        const Collective& collective = plan.collectives[i];
        const double share = deviceShare(graph, plan, collective);
        out.push_back({ collective.seconds * static_cast<double>(collective.count) * share, times.exposed[i] * share });
    }
    return out;
}

void setStepTimes(const Graph& graph, Plan& plan)
{
    const StepTimes times = stepTimes(graph, plan);
    plan.computeSeconds = 0;
    plan.collectiveSeconds = times.sends;
    plan.exposedSeconds = times.exposedSends;
    for (const SegmentTime& time : times.parts) {
        plan.computeSeconds += time.compute;
        plan.collectiveSeconds += time.collectives;
        plan.exposedSeconds += time.exposed;
    }
    plan.device = times.device;
    if (!plan.pipeline)
        return;
    PlannedPipeline& pipeline = *plan.pipeline;
    pipeline.busiestStage = times.busiest.stage;
    pipeline.stageSeconds = times.busiest.passes;
    pipeline.endSeconds = times.busiest.ends;
    pipeline.updateSeconds = times.busiest.update;
    pipeline.setBubble(times.busiest.bubble);
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// How long a step and its parts take: sums over its timeline.
#pragma once

#include "model/ops/workload.h"
#include "model/plan/plan.h"
#include "model/plan/time/stepschedule.h"

#include <array>
#include <vector>

namespace shardboard {

/// Whether a collective moves a weight or its gradient: nothing in the layer waits for the one before it, so that it can be
/// started early or finished late.
bool movesWeight(const Graph& graph, const Collective& collective);
/// What a collective moves: a value with a dim of experts is theirs, what heads, rotation or attention take is the context's,
/// the other activations of a layer are tensor parallel.
OverlapKind overlapKindOf(const Graph& graph, const Plan& plan, const Collective& collective);

using SecondsByKind = std::array<double, kOverlapKinds.size()>; ///< by OverlapKind

/// Seconds of a planned segment, all its occurrences in a step.
struct SegmentTime {
    double compute = 0;
    double collectives = 0;
    SecondsByKind byKind {}; ///< parts of `collectives`
    double exposed = 0; ///< part of `collectives` in which the devices do not compute, or by which they compute longer
    SecondsByKind exposedByKind {}; ///< parts of `exposed`
    double seconds() const { return compute + exposed; }
    void add(OverlapKind of, double seconds);
    void expose(OverlapKind of, double seconds);
};

/// What the timeline of a step comes to.
struct StepTimes {
    std::vector<SegmentTime> parts; ///< by index into Plan::segments, without the sends between stages
    std::vector<double> exposed; ///< by CollectiveId, of all its occurrences, stages and micro-batches
    double sends = 0; ///< seconds of all sends between stages
    double exposedSends = 0;
    double busiestSends = 0; ///< part of `sends` that a device of the busiest stage makes
    DeviceStep device; ///< of a pipeline one of the busiest stage
    SecondsByKind deviceExposed {}; ///< parts of device.exposed
    StageSeconds busiest;
};
/// Schedules the plan (stepschedule.h).
StepTimes stepTimes(const Graph& graph, const Plan& plan);
/// The parts of these.
std::vector<SegmentTime> segmentTimes(const Graph& graph, const Plan& plan);

/// All occurrences of a collective in a step, on one device that takes part.
struct DeviceCollective {
    double seconds = 0;
    double exposed = 0; ///< part of it in which the device does not compute
};
/// By CollectiveId.
std::vector<DeviceCollective> deviceCollectives(const Graph& graph, const Plan& plan);

/// From the seconds of its operations and collectives to those of the step: the totals of a plan, the times of its pipeline, and
/// what one device does in the step.
void setStepTimes(const Graph& graph, Plan& plan);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// How long the parts of a step take when collectives run beside the computation.
#pragma once

#include "model/ops/workload.h"
#include "model/plan/plan.h"

#include <vector>

namespace shardboard {

/// Whether a collective moves a weight or its gradient: nothing in the layer waits for the one before it, so that it can be
/// started early or finished late.
bool movesWeight(const Graph& graph, const Collective& collective);

/// Seconds of a planned segment, all its occurrences in a step.
struct SegmentTime {
    double compute = 0;
    double collectives = 0;
    double weights = 0; ///< part of `collectives` that moves weights and their gradients
    double exposed = 0; ///< part of `collectives` in which the devices do not compute
    double seconds() const { return compute + exposed; }
    void hide(Overlap overlap); ///< sets `exposed`
    /// Of a collective of this segment, the part of its time in which the devices do not compute: what overlaps is hidden in equal
    /// parts. Between 0 and 1.
    double exposedPart(Overlap overlap, bool ofWeight) const;
};

/// By index into Plan::segments, without the sends between stages. What overlaps is hidden as far as the computation of its
/// segment lasts: with `weights` max(0, weights' - compute) + the others; with `all` max(0, collectives - compute).
std::vector<SegmentTime> segmentTimes(const Graph& graph, const Plan& plan);

/// All occurrences of a collective in a step, on one device that takes part.
struct DeviceCollective {
    double seconds = 0;
    double exposed = 0; ///< part of it in which the device does not compute
};
/// By CollectiveId.
std::vector<DeviceCollective> deviceCollectives(const Graph& graph, const Plan& plan);

/// From the seconds of a step's parts to those of the step: the totals of a plan and the times of its pipeline. Layers are
/// spread over the stages; embedding and head lie on the first and the last, which work at different times.
void setStepTimes(const Graph& graph, const std::vector<SegmentTime>& times, double sends, Plan& plan);
/// The same from the seconds of its operations and collectives, and what one device does in the step.
void setStepTimes(const Graph& graph, Plan& plan);

} // namespace shardboard

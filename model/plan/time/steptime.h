// SPDX-License-Identifier: Apache-2.0
// How long the parts of a step take when collectives run beside the computation.
#pragma once

#include "model/ops/workload.h"
#include "model/plan/plan.h"

#include <array>
#include <vector>

namespace shardboard {

/// Whether a collective moves a weight or its gradient: nothing in the layer waits for the one before it, so that it can be
/// started early or finished late.
bool movesWeight(const Graph& graph, const Collective& collective);
/// What a collective moves: a value with a dim of experts is theirs, what heads, rotation or attention take is the context's,
/// the other activations of a layer are tensor parallel.
OverlapKind overlapKindOf(const Graph& graph, const Plan& plan, const Collective& collective);

/// Seconds of a planned segment, all its occurrences in a step.
struct SegmentTime {
    double compute = 0;
    double collectives = 0;
    std::array<double, kOverlapKinds.size()> byKind {}; ///< parts of `collectives`, by OverlapKind
    double exposed = 0; ///< part of `collectives` in which the devices do not compute
    double seconds() const { return compute + exposed; }
    void hide(Overlap overlap); ///< sets `exposed`
    void add(OverlapKind of, double seconds);
    /// Of a collective of this segment, the part of its time in which the devices do not compute: what overlaps is hidden in equal
    /// parts. Between 0 and 1.
    double exposedPart(Overlap overlap, OverlapKind of) const;

private:
    double beside(Overlap overlap) const; ///< part of `collectives` that overlaps
};

/// By index into Plan::segments, without the sends between stages. What overlaps is hidden as far as the computation of its
/// segment lasts: max(0, seconds of what overlaps - compute) + those of the others.
std::vector<SegmentTime> segmentTimes(const Graph& graph, const Plan& plan);

/// Part of the sends' time in which a stage waits: all of it, or with overlapping sends what the bubble is of its work, because
/// a full pipeline has other micro-batches to work on.
double exposedSends(const Plan& plan);

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

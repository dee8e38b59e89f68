// SPDX-License-Identifier: Apache-2.0
// A plan as the sequence in which one walks through it: every collective and every operation once, in the order in which they run.
// A segment that repeats is walked once. Pure.
#pragma once

#include "model/plan/plan.h"

#include <vector>

namespace shardboard {

struct PlanStep {
    PlannedSegmentId segment {}; ///< index into Plan::segments
    PlannedOpId operation {}; ///< index into PlannedSegment::ops; of a collective the operation that waits for it
    CollectiveId collective {}; ///< index into Plan::collectives; -1: the operation itself
    friend bool operator==(const PlanStep&, const PlanStep&) = default;
};

/// The collectives of an operation's operands come before it, in the order of the operands. One that serves several operations is
/// a step before the first of them; one that no operation names comes at the end of its segment.
std::vector<PlanStep> planSteps(const Plan& plan);
/// Index of the step of a collective or of an operation (of the segment's), -1 where there is none.
int stepOfCollective(const std::vector<PlanStep>& steps, CollectiveId collective);
int stepOfOperation(const std::vector<PlanStep>& steps, PlannedSegmentId segment, PlannedOpId operation);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// What each part of the model costs in a step: embedding, layers and head, phase by phase, and the operations in them.
// A value made from a plan; tables show it.
#pragma once

#include "model/plan/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// An operation with the collectives that bring its operands; seconds of all its occurrences in a step.
struct OperationCost {
    PlannedOpId index { 0 }; ///< into PlannedSegment::ops
    OpId op {};
    double compute = 0;
    double collectives = 0;
    double exposed = 0; ///< part of `collectives` in which the devices do not compute
    std::vector<CollectiveId> moves; ///< indices into Plan::collectives
    double seconds() const { return compute + exposed; }
};

/// A planned segment. Seconds and bytes are of all its layers and micro-batches in a step; of a pipeline they add up the stages,
/// and times `device` they are those of one device that has the part.
struct PartCost {
    PlannedSegmentId plannedSegment { 0 }; ///< none: the sends between the stages of a pipeline, a part of their own
    std::string name; ///< block; stage sends
    Phase phase = Phase::Forward;
    std::int64_t layers = 1;
    double device = 1; ///< pipeline.h, deviceShare(); of sends that of the busiest stage
    double compute = 0;
    double collectives = 0;
    double exposed = 0; ///< part of `collectives` in which the devices do not compute
    std::int64_t moved = 0; ///< bytes S of its collectives in a step
    std::int64_t kept = 0; ///< bytes that its layers leave for the backward pass, of one micro-batch, on the fullest device
    std::vector<OperationCost> operations; ///< in program order
    double seconds() const { return compute + exposed; }
};

/// In execution order, the sends between stages last. The seconds of all parts are Plan::computeSeconds, collectiveSeconds and
/// exposedSeconds.
std::vector<PartCost> partCosts(const Graph& graph, const Plan& plan);

} // namespace shardboard

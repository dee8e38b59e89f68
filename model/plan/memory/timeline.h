// SPDX-License-Identifier: Apache-2.0
// Memory of one device over a step: how much of what at every operation, and where it is the most.
#pragma once

#include "model/plan/plan.h"

#include <cstdint>
#include <vector>

namespace shardboard {

/// While an operation runs.
struct MemoryMoment {
    PlannedSegmentId plannedSegment { 0 }; ///< index into Plan::segments
    OpId op {};
    std::int64_t layer = -1; ///< number of the layer; -1: embedding, head
    MemoryBytes bytes;
};

/// In the order of a step: forward, backward, update. Of a pipeline one stage, once it has as many micro-batches in flight as it
/// ever has; its runs of layers stand one after the other, backward from the last to the first.
struct MemoryTimeline {
    std::int64_t stage = 0;
    std::vector<MemoryMoment> moments;
    std::int64_t othersKept = 0; ///< part of every moment: activations of micro-batches in flight beside the one that is worked on
    std::int64_t othersLogits = 0; ///< their logits
    /// Index of the moment that needs the most; -1 where there is none.
    int peak() const;
};

/// Every operation of every layer. Made for a chart, not on every edit. Errors: none; a stage that is not there has no moments.
MemoryTimeline memoryTimeline(const Graph& graph, const Plan& plan, std::int64_t stage = 0);
/// Of every layer, and of what stands before and behind them, the operation that needs the most.
MemoryTimeline layerByLayer(const MemoryTimeline& timeline);

/// The peak of every stage of a pipeline (one without a pipeline).
std::vector<MemoryByCause> memoryPeaks(const Graph& graph, const Plan& plan);

/// Fills Plan::memory with the peak of the fullest stage, and the peaks of all stages of a pipeline.
void fillMemory(const Graph& graph, Plan& plan);

} // namespace shardboard

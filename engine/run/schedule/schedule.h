// SPDX-License-Identifier: Apache-2.0
// Which layers of which planned segments a run goes through, and in which order.
#pragma once

#include "model/io/wire/messages.h"
#include "model/plan/program.h"

#include <cstdint>
#include <vector>

namespace shardboard::engine {

/// One execution of a planned segment, for one of its layers and one micro-batch.
struct SegmentPass {
    const PlannedSegment* planned = nullptr;
    const Segment* segment = nullptr;
    std::int64_t layer = 0;
    std::int64_t microBatch = 0; ///< the inputs are others in each
    std::int64_t virtualStage = 0; ///< of a pipeline, where it runs

    /// Whether the residual stream (or its gradient) comes from the pass before, if that has any.
    bool follows(const SegmentPass& before) const
    {
        return segment->phase == before.segment->phase && microBatch == before.microBatch;
    }
};

/// In execution order: at most `options.layers` layers of each segment of layers, the others only with `options.ends`
/// or where there are no layers (a module alone). Forward and backward pass run once for every micro-batch, the backward
/// pass through the layers that ran forward, from the last to the first, then the update of their weights.
/// All layers lie on the virtual stages of a pipeline as the plan has them, fewer are divided among these evenly; what comes
/// before them is on the first stage and what comes after them on the last. One micro-batch goes through all stages before the next
/// one: the order of the schedules GPipe, 1F1B, interleaved and zero-bubble changes when a stage works, not what it computes.
/// Throws Failure "bad-plan" for DualPipe, and when nothing is left or there are more passes than anyone would wait for.
std::vector<SegmentPass> scheduleOf(const Program& program, const RunOptions& options);
/// How many of them are layers.
std::int64_t layersIn(const std::vector<SegmentPass>& passes);

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Which layers of which planned segments a run goes through, and in which order.
#pragma once

#include "model/plan/planjson.h"
#include "model/protocol/messages.h"

#include <cstdint>
#include <vector>

namespace shardboard::engine {

/// One passage through the operations of a planned segment.
struct Passage {
    const PlannedSegment* planned = nullptr;
    const Segment* segment = nullptr;
    std::int64_t layer = 0;
    std::int64_t microBatch = 0; ///< the inputs are others in each

    /// Whether the residual stream (or its gradient) comes from the passage before, if that has any.
    bool follows(const Passage& before) const
    {
        return segment->phase == before.segment->phase && microBatch == before.microBatch;
    }
};

/// In execution order: at most `options.layers` layers of each segment of layers, the others only with `options.ends`
/// or where there are no layers (a module alone). Forward and backward pass run once for every micro-batch, the backward
/// pass through the layers that ran forward, from the last to the first, then the update of their weights.
/// Throws Failure "bad-plan" when nothing is left or there are more passages than anyone would wait for.
std::vector<Passage> scheduleOf(const Program& program, const RunOptions& options);
/// How many of them are layers.
std::int64_t layersIn(const std::vector<Passage>& passages);

} // namespace shardboard::engine

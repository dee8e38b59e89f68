// SPDX-License-Identifier: Apache-2.0
// What of a plan lies on one stage of its pipeline. Without a pipeline there is one stage with everything.
#pragma once

#include "model/core/shards.h"
#include "model/plan/plan.h"

#include <cstdint>
#include <vector>

namespace shardboard {

/// Layers of a planned segment.
struct StagePart {
    PlannedSegmentId plannedSegment { 0 };
    std::int64_t firstLayer = 0; ///< the lowest
    std::int64_t layers = 1;
    std::vector<Range> runs {}; ///< of a pipeline: which layers these are
    std::int64_t layerAt(std::int64_t index) const; ///< the number of the layer that is run so, forward
};

/// In execution order. Layers are cut into balanced runs, stages times chunks of them; run r lies on stage r modulo the number of
/// stages. What comes before the layers lies on the first stage, what comes after them on the last.
std::vector<StagePart> stageParts(const Graph& graph, const Plan& plan, std::int64_t stage);

std::int64_t stageCount(const Plan& plan);

/// By segment of the graph: whether it comes behind the layers, so that it lies on the last stage if it is none itself.
std::vector<bool> behindLayers(const Graph& graph);

/// Micro-batches whose kept activations a stage holds at the same time, in passes through all its layers: 1 without a pipeline;
/// 1F1B p - s for stage s of p (at most all); interleaved with v runs on each stage (2 (p-s-1) + (v-1) p + 1) / v, which for the
/// first stage is p (1 + (p-1)/(pv)) (arXiv 2104.04473, section 2.2; 2205.05198, section 4.2.3). ZB-H1 p on every stage, of which
/// the later ones keep most for the gradients of weights that they put off (arXiv 2401.10241, table 2 and section 2.2); DualPipe
/// p + 1 of one of the two stages that a device has (DeepSeek-V3, arXiv 2412.19437, table 2). GPipe all.
double microBatchesHeld(const Plan& plan, std::int64_t stage);

} // namespace shardboard

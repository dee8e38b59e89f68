// SPDX-License-Identifier: Apache-2.0
// Which layers compute again where not all of them do.
#pragma once

#include "model/core/mesh.h"
#include "model/core/shards.h"
#include "model/ops/workload.h"
#include "model/plan/pipelinespec.h"

#include <cstdint>
#include <vector>

namespace shardboard {

/// The first `count` layers of every run of layers, in order.
std::vector<Range> firstLayersOfRuns(std::int64_t count, const PipelineSpec& pipeline, const Mesh& mesh, std::int64_t layers);

/// The first `recomputeLayers` of every run of layers, in order; none where all layers do, or none computes anything again.
std::vector<Range> recomputedLayers(const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh, std::int64_t layers);

} // namespace shardboard

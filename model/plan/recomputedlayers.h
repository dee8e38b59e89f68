// SPDX-License-Identifier: Apache-2.0
// Which layers compute again where not all of them do.
#pragma once

#include "model/core/mesh.h"
#include "model/core/shards.h"
#include "model/ops/graph.h"
#include "model/ops/workload.h"
#include "model/plan/pipelinespec.h"

#include <cstdint>
#include <vector>

namespace shardboard {

/// The first `recomputeLayers` of every run of layers, in order, as the pipeline cuts the layers of the graph; none where all
/// layers do, none computes anything again, or the pipeline cannot be planned.
std::vector<Range> recomputedLayers(const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh, const Graph& graph);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Which layers compute again, or are offloaded, where not all of them are.
#pragma once

#include "model/core/mesh.h"
#include "model/core/shards.h"
#include "model/ops/workload.h"
#include "model/plan/pipelinespec.h"
#include "model/plan/plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardboard {

/// The first `count` layers of every run of layers, in order, as the pipeline cuts the layers of the graph; none where it cannot be
/// planned.
std::vector<Range> firstLayersOfRuns(std::int64_t count, const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh,
                                     const Graph& graph);
std::vector<Range> firstLayersOfRuns(std::int64_t count, const PlannedPipeline& planned);

/// Which layers compute again, in order; nothing where all do that the graph's segments allow, or where the workload recomputes
/// nothing. Of the first `recomputeLayers` of every run each `recomputeEvery`-th, counted over the runs of a stage.
std::optional<std::vector<Range>> recomputedLayers(const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh,
                                                   const Graph& graph);

} // namespace shardboard

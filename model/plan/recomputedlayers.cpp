// SPDX-License-Identifier: Apache-2.0
#include "model/plan/recomputedlayers.h"

#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

std::vector<Range> firstLayersOfRuns(std::int64_t count, const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh,
                                     const Graph& graph)
{
    PlannedPipeline planned; // without stages all layers are one run
    planned.stages = planned.chunks = 1;
    for (const Segment& segment : graph.segments)
        if (segment.isLayer && segment.phase == Phase::Forward)
            planned.layers += segment.count;
    if (pipeline.present()) {
        auto stages = plannedPipeline(pipeline, graph, mesh, effective(workload).microBatches);
        if (!stages.ok()) // the plan says why
            return {};
        planned = std::move(stages).value();
    }
    return firstLayersOfRuns(count, planned);
}

std::vector<Range> firstLayersOfRuns(std::int64_t count, const PlannedPipeline& planned)
{
    std::vector<Range> out;
    for (std::int64_t run = 0; run < planned.stages * planned.chunks; ++run)
        if (const Range part = layersOfRun(planned, run); part.lo < part.hi)
            out.push_back({ part.lo, std::min(part.hi, part.lo + count) });
    return out;
}

std::vector<Range> recomputedLayers(const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh, const Graph& graph)
{
    const std::int64_t count = effective(workload).recomputeLayers;
    if (count == 0 || workload.recompute == Recompute::None)
        return {};
    return firstLayersOfRuns(count, workload, pipeline, mesh, graph);
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/plan/recomputedlayers.h"

#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

std::vector<Range> recomputedLayers(const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh, const Graph& graph)
{
    std::vector<Range> out;
    const std::int64_t count = effective(workload).recomputeLayers;
    if (count == 0 || workload.recompute == Recompute::None)
        return out;
    PlannedPipeline planned; // without stages all layers are one run
    planned.stages = planned.chunks = 1;
    for (const Segment& segment : graph.segments)
        if (segment.isLayer && segment.phase == Phase::Forward)
            planned.layers += segment.count;
    if (pipeline.present()) {
        auto stages = plannedPipeline(pipeline, graph, mesh, effective(workload).microBatches);
        if (!stages.ok()) // the plan says why
            return out;
        planned = std::move(stages).value();
    }
    for (std::int64_t run = 0; run < planned.stages * planned.chunks; ++run)
        if (const Range part = layersOfRun(planned, run); part.lo < part.hi)
            out.push_back({ part.lo, std::min(part.hi, part.lo + count) });
    return out;
}

} // namespace shardboard

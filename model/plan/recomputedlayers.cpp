// SPDX-License-Identifier: Apache-2.0
#include "model/plan/recomputedlayers.h"

#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

namespace {

/// As the pipeline cuts the layers; nothing where it cannot be planned.
std::optional<PlannedPipeline> runsOf(const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh, const Graph& graph)
{
    PlannedPipeline planned; // without stages all layers are one run
    planned.stages = planned.chunks = 1;
    for (const Segment& segment : graph.segments)
        if (segment.isLayer && segment.phase == Phase::Forward)
            planned.layers += segment.count;
    if (pipeline.present()) {
        auto stages = plannedPipeline(pipeline, graph, mesh, effective(workload).microBatches);
        if (!stages.ok()) // the plan says why
            return std::nullopt;
        planned = std::move(stages).value();
    }
    return planned;
}

} // namespace

std::vector<Range> firstLayersOfRuns(std::int64_t count, const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh,
                                     const Graph& graph)
{
    const auto planned = runsOf(workload, pipeline, mesh, graph);
    return planned ? firstLayersOfRuns(count, *planned) : std::vector<Range> {};
}

std::vector<Range> firstLayersOfRuns(std::int64_t count, const PlannedPipeline& planned)
{
    std::vector<Range> out;
    for (std::int64_t run = 0; run < planned.stages * planned.chunks; ++run)
        if (const Range part = layersOfRun(planned, run); part.lo < part.hi)
            out.push_back({ part.lo, std::min(part.hi, part.lo + count) });
    return out;
}

std::optional<std::vector<Range>> recomputedLayers(const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh,
                                                   const Graph& graph)
{
    const Workload used = effective(workload);
    if (used.recompute == Recompute::None || used.recomputesInAll())
        return std::nullopt;
    const auto planned = runsOf(used, pipeline, mesh, graph);
    if (!planned)
        return std::nullopt;
    const std::int64_t first = used.recomputeLayers > 0 ? used.recomputeLayers : planned->layers;
    if (used.recomputeEvery == 1)
        return firstLayersOfRuns(first, *planned);
    std::vector<std::int64_t> before(static_cast<std::size_t>(planned->stages), 0); // layers of a stage's earlier runs
    std::vector<Range> out;
    for (std::int64_t run = 0; run < planned->stages * planned->chunks; ++run) {
        const Range part = layersOfRun(*planned, run);
        const std::int64_t count = std::min(first, part.size());
        std::int64_t& done = before[static_cast<std::size_t>(run % planned->stages)];
        for (std::int64_t layer = used.recomputeEvery - 1 - done % used.recomputeEvery; layer < count; layer += used.recomputeEvery)
            out.push_back({ part.lo + layer, part.lo + layer + 1 });
        done += count;
    }
    return out;
}

} // namespace shardboard

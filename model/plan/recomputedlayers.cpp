// SPDX-License-Identifier: Apache-2.0
#include "model/plan/recomputedlayers.h"

#include <algorithm>

namespace shardboard {

std::vector<Range> firstLayersOfRuns(std::int64_t count, const PipelineSpec& pipeline, const Mesh& mesh, std::int64_t layers)
{
    std::vector<Range> out;
    const int axis = pipeline.present() ? mesh.find(pipeline.axis) : -1;
    const std::int64_t runs = axis < 0 ? 1 : mesh.axis(axis).size * pipeline.chunks;
    for (std::int64_t run = 0; run < std::min(runs, layers); ++run) {
        const Range part = balancedPart(layers, runs, run);
        out.push_back({ part.lo, std::min(part.hi, part.lo + count) });
    }
    return out;
}

std::vector<Range> recomputedLayers(const Workload& workload, const PipelineSpec& pipeline, const Mesh& mesh, std::int64_t layers)
{
    const std::int64_t count = effective(workload).recomputeLayers;
    return count == 0 || workload.recompute == Recompute::None ? std::vector<Range> {}
                                                               : firstLayersOfRuns(count, pipeline, mesh, layers);
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/plan/memory/stagelayers.h"

#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

std::int64_t StagePart::layerAt(std::int64_t index) const
{
    for (const Range& run : runs) {
        if (index < run.hi - run.lo)
            return run.lo + index;
        index -= run.hi - run.lo;
    }
    return firstLayer + index;
}

std::vector<bool> behindLayers(const Graph& graph)
{
    std::vector<bool> behind(graph.segments.size(), false);
    bool now = false;
    for (std::size_t i = 0; i < graph.segments.size(); ++i) {
        const Segment& segment = graph.segments[i];
        now = now || (segment.phase == Phase::Forward && segment.isLayer);
        behind[i] = segment.of.valid() ? behind[segment.of] : now;
    }
    return behind;
}

std::int64_t stageCount(const Plan& plan) { return plan.pipeline ? std::max<std::int64_t>(1, plan.pipeline->stages) : 1; }

std::vector<StagePart> stageParts(const Graph& graph, const Plan& plan, std::int64_t stage)
{
    const std::int64_t stages = stageCount(plan);
    const std::vector<bool> behind = behindLayers(graph);
    std::vector<StagePart> out;
    for (std::size_t i = 0; i < plan.segments.size(); ++i) {
        const PlannedSegment& planned = plan.segments[i];
        const SegmentId segment = planned.segment;
        StagePart part { PlannedSegmentId(i), planned.firstLayer, planned.count };
        if (stages > 1 && !graph.segments[segment].isLayer) {
            const bool isEnd = stage == (behind[segment] ? stages - 1 : 0);
            const bool isOpposite = plan.pipeline->isDual() && (stage == 0 || stage == stages - 1);
            if (!isEnd && !isOpposite)
                continue;
        } else if (stages > 1) {
            part.layers = 0;
            for (const std::int64_t run : runsOfStage(*plan.pipeline, stage)) {
                const Range range = layersOfRun(*plan.pipeline, run);
                const std::int64_t lo = std::max(range.lo, planned.firstLayer);
                const std::int64_t hi = std::min(range.hi, planned.firstLayer + planned.count);
                if (lo >= hi)
                    continue;
                if (part.layers == 0)
                    part.firstLayer = lo;
                part.layers += hi - lo;
                part.runs.push_back({ lo, hi });
            }
        }
        if (part.layers > 0)
            out.push_back(part);
    }
    return out;
}

double microBatchesHeld(const Plan& plan, std::int64_t stage)
{
    if (!plan.pipeline)
        return 1;
    const std::int64_t p = plan.pipeline->stages;
    const std::int64_t v = plan.pipeline->chunks;
    if (plan.pipeline->isDual())
        return static_cast<double>(std::min(p + 1, plan.microBatches)) / 2;
    if (plan.pipeline->schedule == PipelineSchedule::GPipe)
        return static_cast<double>(plan.microBatches);
    if (plan.pipeline->schedule == PipelineSchedule::ZeroBubble)
        return static_cast<double>(std::min(p, plan.microBatches));
    const std::int64_t passes = v > 1 ? 2 * (p - stage - 1) + (v - 1) * p + 1 : p - stage;
    return static_cast<double>(std::min(passes, plan.microBatches * v)) / static_cast<double>(v);
}

} // namespace shardboard

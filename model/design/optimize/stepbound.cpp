// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/stepbound.h"

#include "model/plan/pipeline.h"

#include <algorithm>
#include <set>

namespace shardboard {

StepBound::StepBound(const Graph& graph, const Plan& plan, std::size_t levels)
    : m_overlap(plan.overlap)
    , m_levels(static_cast<double>(std::max<std::size_t>(1, levels)))
{
    const auto parts = [&](auto share) {
        Work out;
        for (std::size_t s = 0; s < plan.segments.size(); ++s)
            if (const double of = share(PlannedSegmentId(s)); of > 0)
                out.parts.emplace_back(s, of);
        return out;
    };
    const auto isOf = [&](PlannedSegmentId id, Phase phase) { return plan.segment(id).phase == phase; };
    if (!isStaged(plan)) {
        const auto updates = [&](PlannedSegmentId id) { return isOf(id, Phase::Update) ? 1.0 : 0.0; };
        m_ways.push_back({ parts([&](PlannedSegmentId id) { return 1 - updates(id); }), parts(updates) });
        return;
    }
    const PlannedPipeline& pipeline = *plan.pipeline;
    const bool plain = !putsOffWeights(pipeline.schedule);
    for (const std::int64_t stage : std::set<std::int64_t> { 0, pipeline.busiestStage, pipeline.stages - 1 }) {
        std::vector<Work> way;
        for (const Phase phase : { Phase::Forward, Phase::Backward })
            way.push_back(parts([&](PlannedSegmentId id) { return isOf(id, phase) ? stageShare(graph, plan, id, stage) : 0.0; }));
        // The others' passes of one micro-batch; then the first stage updates, which is done last.
        for (std::int64_t run = 0; plain && run < stage; ++run)
            for (const Phase phase : { Phase::Forward, Phase::Backward })
                way.push_back(parts([&](PlannedSegmentId id) {
                    const PlannedSegment& planned = plan.segment(id);
                    if (planned.phase != phase || !graph.segment(planned.segment).isLayer)
                        return 0.0;
                    const Range own = layersOfRun(pipeline, run);
                    const std::int64_t lo = std::max(own.lo, planned.firstLayer);
                    const std::int64_t hi = std::min(own.hi, planned.firstLayer + planned.count);
                    return static_cast<double>(std::max<std::int64_t>(0, hi - lo))
                        / static_cast<double>(planned.count * plan.microBatches);
                }));
        way.push_back(parts(
            [&](PlannedSegmentId id) { return isOf(id, Phase::Update) ? stageShare(graph, plan, id, plain ? 0 : stage) : 0.0; }));
        m_ways.push_back(std::move(way));
    }
}

double StepBound::seconds(const Work& work, const std::vector<SegmentTime>& times) const
{
    double serial = 0;
    double moved = 0;
    double host = 0;
    for (const auto& [part, share] : work.parts) {
        const SegmentTime& time = times[part];
        serial += share * time.compute;
        for (const OverlapKind kind : kOverlapKinds) {
            const double of = share * time.byKind[static_cast<std::size_t>(kind)];
            serial += m_overlap.has(kind) ? 0 : of;
            (kind == OverlapKind::Host ? host : moved) += of;
        }
    }
    return std::max({ serial, moved / m_levels, host });
}

double StepBound::seconds(const std::vector<SegmentTime>& times) const
{
    double out = 0;
    for (const std::vector<Work>& way : m_ways) {
        double sum = 0;
        for (const Work& work : way)
            sum += seconds(work, times);
        out = std::max(out, sum);
    }
    return out;
}

} // namespace shardboard

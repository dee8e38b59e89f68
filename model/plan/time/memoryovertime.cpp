// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/memoryovertime.h"

#include "model/plan/memory/segmentprofile.h"
#include "model/plan/memory/stagelayers.h"
#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

MemoryOverTime::Kept& MemoryOverTime::Kept::operator+=(const Kept& other)
{
    activations += other.activations;
    logits += other.logits;
    return *this;
}

MemoryOverTime::Kept& MemoryOverTime::Kept::operator-=(const Kept& other)
{
    activations -= other.activations;
    logits -= other.logits;
    return *this;
}

MemoryOverTime::MemoryOverTime(const Graph& graph, const Plan& plan, const StepTimeline& timeline, std::int64_t stage)
    : m_plan(plan)
    , m_moments(memoryTimeline(graph, plan, stage))
    , m_behind(behindLayers(graph))
{
    for (std::size_t i = 0; i < m_moments.moments.size(); ++i) {
        const MemoryMoment& moment = m_moments.moments[i];
        m_places[{ moment.plannedSegment.number(), moment.op.number(), moment.layer }] = i;
    }
    if (!isStaged(plan))
        return;
    const std::vector<SegmentProfile> profiles = segmentProfiles(graph, plan);
    std::vector<std::int64_t> keeps(static_cast<std::size_t>(plan.pipeline->layers), 0);
    for (const StagePart& part : stageParts(graph, plan, stage)) {
        const PlannedSegment& planned = plan.segment(part.plannedSegment);
        const SegmentProfile& profile = profiles[part.plannedSegment];
        if (planned.phase != Phase::Forward)
            continue;
        if (!graph.segment(planned.segment).isLayer)
            (m_behind[planned.segment] ? m_atEnd : m_atStart) += { profile.keptActivations, profile.keptLogits };
        for (std::int64_t layer = 0; layer < part.layers && graph.segment(planned.segment).isLayer; ++layer)
            if (!planned.offload.has(OffloadKind::Activations))
                keeps[static_cast<std::size_t>(part.layerAt(layer))] = profile.keptActivations;
    }
    m_keptBefore.push_back(0);
    for (const std::int64_t bytes : keeps)
        m_keptBefore.push_back(m_keptBefore.back() + bytes);
    addPasses(timeline.turns().stages[static_cast<std::size_t>(stage)]);
}

MemoryOverTime::Kept MemoryOverTime::ofRun(std::int64_t run) const
{
    const Range layers = layersOfRun(*m_plan.pipeline, run);
    Kept out { m_keptBefore[static_cast<std::size_t>(layers.hi)] - m_keptBefore[static_cast<std::size_t>(layers.lo)], 0 };
    if (run == 0)
        out += m_atStart;
    if (run + 1 == m_plan.pipeline->stages * m_plan.pipeline->chunks)
        out += m_atEnd;
    return out;
}

/// From the end of its forward pass to the begin of its backward pass a micro-batch keeps what a run needs; where gradients of
/// weights are put off, until these are made.
void MemoryOverTime::addPasses(const std::vector<PipelinePass>& passes)
{
    Kept inFlight;
    for (const PipelinePass& pass : passes) {
        const Kept run = ofRun(pass.run);
        if (pass.kind == PassKind::Backward)
            inFlight -= run; // it has its own share of it
        m_others[{ static_cast<int>(pass.kind), pass.run, pass.microBatch }] = inFlight;
        if (pass.kind == PassKind::Forward || (pass.kind == PassKind::Backward && pass.putsOff))
            inFlight += run;
        else if (pass.kind == PassKind::Weights)
            inFlight -= run;
    }
}

std::optional<MemoryBytes> MemoryOverTime::at(PlannedSegmentId segment, OpId op, std::int64_t layer, std::int64_t microBatch) const
{
    const auto place = m_places.find({ segment.number(), op.number(), layer });
    if (place == m_places.end())
        return std::nullopt;
    MemoryBytes bytes = m_moments.moments[place->second].bytes;
    const PlannedSegment& planned = m_plan.segment(segment);
    if (m_others.empty() || planned.phase == Phase::Update)
        return bytes;
    const PlannedPipeline& pipeline = *m_plan.pipeline;
    const std::int64_t last = pipeline.stages * pipeline.chunks - 1;
    const std::int64_t run = layer >= 0 ? runOfLayer(pipeline, layer) : m_behind[planned.segment] ? last : 0;
    const PassKind pass = planned.phase == Phase::Forward ? PassKind::Forward : PassKind::Backward;
    const auto others = m_others.find({ static_cast<int>(pass), run, microBatch });
    if (others == m_others.end())
        return std::nullopt;
    // The moment takes all runs of the stage for one pass, behind as many others as there ever are.
    const std::int64_t earlier = m_keptBefore[static_cast<std::size_t>(layersOfRun(pipeline, run).lo)];
    const std::int64_t activations = others->second.activations - m_moments.othersKept - earlier;
    const std::int64_t logits = others->second.logits - m_moments.othersLogits;
    bytes.kept += activations;
    bytes.activations += activations;
    bytes.logits += logits;
    bytes.reserve += static_cast<std::int64_t>(m_plan.memorySettings.reserveShare * static_cast<double>(activations + logits));
    return bytes;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/stepschedule.h"

#include "model/plan/memory/stagelayers.h"
#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Places a sequence among those that are different.
std::size_t placeOf(std::vector<std::vector<LayerRun>>& all, std::vector<LayerRun> sequence)
{
    const auto same = [&](const std::vector<LayerRun>& other) {
        return std::ranges::equal(other, sequence,
                                  [](const LayerRun& a, const LayerRun& b) { return a.part == b.part && a.layers == b.layers; });
    };
    const auto found = std::ranges::find_if(all, same);
    const auto place = static_cast<std::size_t>(found - all.begin());
    if (found == all.end())
        all.push_back(std::move(sequence));
    return place;
}

} // namespace

bool isStaged(const Plan& plan) { return plan.pipeline && plan.pipeline->stages > 1; }

SendPlace sendPlace(const Graph& graph, const Plan& plan, const Collective& send)
{
    const auto count = static_cast<double>(send.count);
    const PlannedSegment& planned = plan.segment(send.plannedSegment);
    if (!graph.segment(planned.segment).isLayer)
        return { &StageSends::atEnd, 1 };
    const auto borders = static_cast<double>((plan.pipeline->stages * plan.pipeline->chunks - 1) * plan.microBatches);
    return { planned.phase == Phase::Forward ? &StageSends::forward : &StageSends::backward, count / std::max(1.0, borders) };
}

StageSends stageSends(const Graph& graph, const Plan& plan)
{
    StageSends out;
    for (const Collective& collective : plan.collectives)
        if (isStageSend(plan, collective)) {
            const auto [place, times] = sendPlace(graph, plan, collective);
            out.*place += times * collective.seconds;
        }
    return out;
}

StepSchedule::StepSchedule(const Graph& graph, const Plan& plan)
    : m_tasks(stepTasks(graph, plan))
    , m_exposed(plan.segments.size())
{
    findSequences(graph, plan);
    for (const StepPart& part : m_tasks.parts)
        for (const StepTask& task : part.tasks) {
            m_hasFirst = m_hasFirst || task.when == TaskWhen::First;
            m_hasLast = m_hasLast || task.when == TaskWhen::Last;
        }
}

void StepSchedule::findSequences(const Graph& graph, const Plan& plan)
{
    if (!isStaged(plan)) {
        for (std::size_t s = 0; s < plan.segments.size(); ++s)
            (plan.segments[s].phase == Phase::Update ? m_sequences.update : m_sequences.passes)
                .push_back({ PlannedSegmentId(s), plan.segments[s].count });
        return;
    }
    const PlannedPipeline& pipeline = *plan.pipeline;
    const std::vector<bool> behind = behindLayers(graph);
    const std::int64_t runs = pipeline.stages * pipeline.chunks;
    for (std::int64_t run = 0; run < runs; ++run) {
        const Range own = layersOfRun(pipeline, run);
        std::vector<LayerRun> forward;
        std::vector<LayerRun> backward;
        for (std::size_t s = 0; s < plan.segments.size(); ++s) {
            const PlannedSegment& planned = plan.segments[s];
            if (planned.phase == Phase::Update)
                continue;
            std::int64_t layers = 0;
            if (graph.segment(planned.segment).isLayer)
                layers = std::min(own.hi, planned.firstLayer + planned.count) - std::max(own.lo, planned.firstLayer);
            else if (run == (behind[planned.segment] ? runs - 1 : 0))
                layers = planned.count;
            if (layers > 0)
                (planned.phase == Phase::Forward ? forward : backward).push_back({ PlannedSegmentId(s), layers });
        }
        m_sequences.forwardOf.push_back(placeOf(m_sequences.forward, std::move(forward)));
        m_sequences.backwardOf.push_back(placeOf(m_sequences.backward, std::move(backward)));
    }
    for (std::int64_t stage = 0; stage < pipeline.stages; ++stage) {
        std::vector<LayerRun> update;
        for (const StagePart& part : stageParts(graph, plan, stage))
            if (plan.segment(part.plannedSegment).phase == Phase::Update)
                update.push_back({ part.plannedSegment, part.layers });
        m_sequences.updateOf.push_back(placeOf(m_sequences.updates, std::move(update)));
    }
}

void StepSchedule::run(const Plan& plan, const StageSends& sends, double kernelShare)
{
    m_kernelShare = kernelShare;
    if (isStaged(plan)) {
        runPipeline(plan, sends);
        return;
    }
    StreamSchedule& schedule = m_stream;
    schedule.restart(m_tasks, m_kernelShare);
    schedule.run(m_sequences.passes, plan.microBatches, true, true);
    schedule.drain();
    schedule.run(m_sequences.update, 1, true, true);
    schedule.drain();
    m_seconds = schedule.now();
    m_exposed = schedule.exposed();
}

/// One pass or update on streams that are empty, which `times` like it are counted as.
double StepSchedule::isolated(const std::vector<LayerRun>& sequence, bool first, bool last, double times)
{
    m_stream.restart(m_tasks, m_kernelShare);
    m_stream.run(sequence, 1, first, last);
    m_stream.drain();
    for (std::size_t part = 0; part < m_exposed.size(); ++part)
        for (std::size_t kind = 0; kind < m_exposed[part].size(); ++kind)
            m_exposed[part][kind] += times * m_stream.exposed()[part][kind];
    return m_stream.now();
}

void StepSchedule::runPipeline(const Plan& plan, const StageSends& sends)
{
    const PlannedPipeline& pipeline = *plan.pipeline;
    m_exposed.assign(plan.segments.size(), {});
    PipelineTask task { pipeline.schedule,
                        pipeline.stages,
                        pipeline.chunks,
                        plan.microBatches,
                        !m_sequences.backward.front().empty(),
                        {},
                        sends.forward,
                        sends.backward,
                        plan.overlap.has(OverlapKind::Sends) };
    const auto usual = static_cast<double>(plan.microBatches - 1);
    const auto count = [](const std::vector<std::size_t>& places, std::size_t place) {
        return static_cast<double>(std::ranges::count(places, place));
    };
    std::vector<RunSeconds> forward(m_sequences.forward.size());
    for (std::size_t i = 0; i < forward.size(); ++i) {
        const double runs = count(m_sequences.forwardOf, i);
        const double others = m_hasFirst ? usual : usual + 1;
        forward[i].forward = isolated(m_sequences.forward[i], false, false, runs * others);
        forward[i].firstForward = m_hasFirst ? isolated(m_sequences.forward[i], true, false, runs) : forward[i].forward;
    }
    std::vector<RunSeconds> backward(m_sequences.backward.size());
    for (std::size_t i = 0; i < backward.size(); ++i) {
        const double runs = count(m_sequences.backwardOf, i);
        const double others = m_hasLast ? usual : usual + 1;
        backward[i].backward = isolated(m_sequences.backward[i], false, false, runs * others);
        backward[i].lastBackward = m_hasLast ? isolated(m_sequences.backward[i], false, true, runs) : backward[i].backward;
        for (const LayerRun& part : m_sequences.backward[i])
            backward[i].weights += static_cast<double>(part.layers) * m_tasks.parts[part.part].weightGradients;
    }
    for (std::size_t run = 0; run < m_sequences.forwardOf.size(); ++run) {
        task.runs.push_back(forward[m_sequences.forwardOf[run]]);
        const RunSeconds& back = backward[m_sequences.backwardOf[run]];
        task.runs.back().backward = back.backward;
        task.runs.back().lastBackward = back.lastBackward;
        task.runs.back().weights = back.weights;
    }
    // With DualPipe two devices have the weights of a stage, and each updates all of them.
    const double copies = pipeline.isDual() ? 0.5 : 1;
    std::vector<double> updates;
    for (std::size_t i = 0; i < m_sequences.updates.size(); ++i)
        updates.push_back(isolated(m_sequences.updates[i], true, true, copies * count(m_sequences.updateOf, i)));
    m_turns = pipelineTurns(task);
    m_seconds = 0;
    m_updateSeconds.clear();
    for (std::size_t stage = 0; stage < m_turns.ends.size(); ++stage) {
        m_updateSeconds.push_back(updates[m_sequences.updateOf[stage]]);
        const bool isEnd = stage == 0 || stage + 1 == m_turns.ends.size();
        m_turns.ends[stage] += isEnd ? sends.atEnd : 0;
        m_seconds = std::max(m_seconds, m_turns.ends[stage] + m_updateSeconds.back());
    }
}

} // namespace shardboard

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
{
    findSequences(graph, plan);
    for (const PlannedSegment& planned : plan.segments) {
        m_isLayer.push_back(graph.segment(planned.segment).isLayer);
        m_layers.push_back(planned.count);
        m_layerTimes.push_back(planned.count * (planned.phase == Phase::Update ? 1 : plan.microBatches));
    }
    for (const StepPart& part : m_tasks.parts) {
        m_isSerial = m_isSerial && part.isSerial();
        for (const StepTask& task : part.tasks) {
            m_hasFirst = m_hasFirst || task.when == TaskWhen::First;
            m_hasLast = m_hasLast || task.when == TaskWhen::Last;
        }
    }
    const auto counts = [](const std::vector<std::size_t>& places, std::size_t number) {
        std::vector<double> out(number, 0);
        for (const std::size_t place : places)
            ++out[place];
        return out;
    };
    m_forwardRuns = counts(m_sequences.forwardOf, m_sequences.forward.size());
    m_backwardRuns = counts(m_sequences.backwardOf, m_sequences.backward.size());
    m_updateStages = counts(m_sequences.updateOf, m_sequences.updates.size());
}

double StepSchedule::timesOf(std::size_t part, const StepTask& task) const
{
    return static_cast<double>(task.when == TaskWhen::Always ? m_layerTimes[part] : m_layers[part]);
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
    m_exposedSends = 0;
    if (isStaged(plan)) {
        runPipeline(plan, sends);
        return;
    }
    m_stream.restart(m_tasks, m_kernelShare);
    m_stream.run(m_sequences.passes, plan.microBatches, true, true);
    m_stream.drain();
    m_passes = m_stream.now();
    m_stream.run(m_sequences.update, 1, true, true);
    m_stream.drain();
    m_seconds = m_stream.now();
    m_exposed = m_stream.exposed();
}

/// Sums of the parts' layers, and with them what is exposed: all that is no computation.
void StepSchedule::runSerialParts()
{
    m_serialParts.assign(m_tasks.parts.size(), {});
    for (std::size_t i = 0; i < m_tasks.parts.size(); ++i)
        for (const StepTask& task : m_tasks.parts[i].tasks) {
            LayerSeconds& sums = m_serialParts[i];
            (task.when == TaskWhen::Always ? sums.always : task.when == TaskWhen::First ? sums.first : sums.last) += task.seconds;
            if (task.mode != TaskMode::Compute)
                m_exposed[task.number] = task.seconds * timesOf(i, task);
        }
}

/// One pass or update on streams that are empty, which `times` like it are counted as.
double StepSchedule::isolated(const std::vector<LayerRun>& sequence, bool first, bool last, double times)
{
    if (m_isSerial) {
        double out = 0;
        for (const LayerRun& run : sequence) {
            const LayerSeconds& of = m_serialParts[run.part];
            out += static_cast<double>(run.layers) * (of.always + (first ? of.first : 0) + (last ? of.last : 0));
        }
        return out;
    }
    m_stream.restart(m_tasks, m_kernelShare);
    m_stream.run(sequence, 1, first, last);
    m_stream.drain();
    for (std::size_t i = 0; i < m_exposed.size(); ++i)
        m_exposed[i] += times * m_stream.exposed()[i];
    return m_stream.now();
}

void StepSchedule::runPipeline(const Plan& plan, const StageSends& sends)
{
    const PlannedPipeline& pipeline = *plan.pipeline;
    m_exposed.assign(m_tasks.count, 0);
    if (m_isSerial)
        runSerialParts();
    m_pipeline.schedule = pipeline.schedule;
    m_pipeline.stages = pipeline.stages;
    m_pipeline.chunks = pipeline.chunks;
    m_pipeline.microBatches = plan.microBatches;
    m_pipeline.trains = !m_sequences.backward.front().empty();
    m_pipeline.sendForward = sends.forward;
    m_pipeline.sendBackward = sends.backward;
    m_pipeline.sendsBeside = plan.overlap.has(OverlapKind::Sends);
    const auto usual = static_cast<double>(plan.microBatches - 1);
    m_runs.assign(std::max(m_sequences.forward.size(), m_sequences.backward.size()), {});
    for (std::size_t i = 0; i < m_sequences.forward.size(); ++i) {
        const double runs = m_forwardRuns[i];
        RunSeconds& of = m_runs[i];
        of.forward = isolated(m_sequences.forward[i], false, false, runs * (m_hasFirst ? usual : usual + 1));
        of.firstForward = m_hasFirst ? isolated(m_sequences.forward[i], true, false, runs) : of.forward;
    }
    for (std::size_t i = 0; i < m_sequences.backward.size(); ++i) {
        const double runs = m_backwardRuns[i];
        RunSeconds& of = m_runs[i];
        of.backward = isolated(m_sequences.backward[i], false, false, runs * (m_hasLast ? usual : usual + 1));
        of.lastBackward = m_hasLast ? isolated(m_sequences.backward[i], false, true, runs) : of.backward;
        for (const LayerRun& part : m_sequences.backward[i])
            of.weights += static_cast<double>(part.layers) * m_tasks.parts[part.part].weightGradients;
    }
    m_pipeline.runs.resize(m_sequences.forwardOf.size());
    for (std::size_t run = 0; run < m_pipeline.runs.size(); ++run) {
        const RunSeconds& forward = m_runs[m_sequences.forwardOf[run]];
        const RunSeconds& backward = m_runs[m_sequences.backwardOf[run]];
        m_pipeline.runs[run] = { forward.forward, backward.backward, backward.weights, forward.firstForward,
                                 backward.lastBackward };
    }
    // With DualPipe two devices have the weights of a stage, and each updates all of them.
    const double copies = pipeline.isDual() ? 0.5 : 1;
    m_updates.clear();
    for (std::size_t i = 0; i < m_sequences.updates.size(); ++i)
        m_updates.push_back(isolated(m_sequences.updates[i], true, true, copies * m_updateStages[i]));
    const std::vector<double>& ends = m_ends.of(m_pipeline);
    m_atEnd = sends.atEnd;
    m_seconds = 0;
    m_updateSeconds.clear();
    for (std::size_t stage = 0; stage < ends.size(); ++stage) {
        m_updateSeconds.push_back(m_updates[m_sequences.updateOf[stage]]);
        const bool isEnd = stage == 0 || stage + 1 == ends.size();
        m_seconds = std::max(m_seconds, ends[stage] + (isEnd ? m_atEnd : 0) + m_updateSeconds.back());
    }
    const auto borders = static_cast<double>((pipeline.stages * pipeline.chunks - 1) * plan.microBatches);
    m_exposedSends = m_atEnd + (m_pipeline.sendsBeside ? 0 : borders * (sends.forward + sends.backward));
}

PipelineTurns StepSchedule::turns() const
{
    PipelineTurns out = pipelineTurns(m_pipeline);
    out.ends.front() += m_atEnd;
    out.ends.back() += m_atEnd;
    return out;
}

double StepSchedule::computeOfEnds(const std::vector<LayerRun>& sequence, double times) const
{
    double out = 0;
    for (const LayerRun& run : sequence)
        if (!m_isLayer[run.part])
            for (const StepTask& task : m_tasks.parts[run.part].tasks)
                out += task.mode == TaskMode::Compute ? times * static_cast<double>(run.layers) * task.seconds : 0;
    return out;
}

/// What is exposed of a sequence on streams that are empty.
void StepSchedule::add(const std::vector<LayerRun>& sequence, bool first, bool last, double times, StageSeconds& to)
{
    if (times <= 0)
        return;
    m_stream.restart(m_tasks, m_kernelShare);
    m_stream.run(sequence, 1, first, last);
    m_stream.drain();
    for (std::size_t i = 0; i < to.exposed.size(); ++i)
        to.exposed[i] += times * m_stream.exposed()[i];
}

StageSeconds StepSchedule::busiest(const Plan& plan)
{
    StageSeconds out;
    const auto exposedOfEnds = [&] {
        double sum = 0;
        for (std::size_t i = 0; i < m_tasks.parts.size(); ++i)
            if (!m_isLayer[i] && m_tasks.parts[i].phase != Phase::Update)
                for (const StepTask& task : m_tasks.parts[i].tasks)
                    sum += out.exposed[task.number];
        return sum;
    };
    if (!isStaged(plan)) {
        out.exposed = m_exposed;
        out.passes = m_passes;
        out.update = m_seconds - m_passes;
        out.ends = computeOfEnds(m_sequences.passes, static_cast<double>(plan.microBatches)) + exposedOfEnds();
        return out;
    }
    const PlannedPipeline& pipeline = *plan.pipeline;
    const std::int64_t runs = pipeline.stages * pipeline.chunks;
    const double each = static_cast<double>(plan.microBatches) / (pipeline.isDual() ? 2 : 1);
    for (std::int64_t stage = 0; stage < pipeline.stages; ++stage) {
        StageSeconds it;
        it.stage = stage;
        it.update = m_updateSeconds[static_cast<std::size_t>(stage)];
        for (const std::int64_t run : runsOfStage(pipeline, stage)) {
            const RunSeconds& of = m_pipeline.runs[static_cast<std::size_t>(run)];
            it.passes += of.firstForward + of.lastBackward + (each - 1) * (of.forward + of.backward);
            if (!m_pipeline.sendsBeside)
                it.sends += each * ((run + 1 < runs ? m_pipeline.sendForward : 0) + (run > 0 ? m_pipeline.sendBackward : 0));
        }
        it.sends += stage == 0 || stage + 1 == pipeline.stages ? m_atEnd : 0;
        it.passes += it.sends;
        if (stage == 0 || it.passes + it.update > out.passes + out.update)
            out = it;
    }
    out.bubble = std::max(0.0, m_seconds - out.passes - out.update);
    out.exposed.assign(m_tasks.count, 0);
    for (const std::int64_t run : runsOfStage(pipeline, out.stage)) {
        const std::vector<LayerRun>& forward = m_sequences.forward[m_sequences.forwardOf[static_cast<std::size_t>(run)]];
        const std::vector<LayerRun>& backward = m_sequences.backward[m_sequences.backwardOf[static_cast<std::size_t>(run)]];
        add(forward, true, false, 1, out);
        add(forward, false, false, each - 1, out);
        add(backward, false, false, each - 1, out);
        add(backward, false, true, 1, out);
        out.ends += computeOfEnds(forward, each) + computeOfEnds(backward, each);
    }
    out.ends += exposedOfEnds();
    add(m_sequences.updates[m_sequences.updateOf[static_cast<std::size_t>(out.stage)]], true, true, 1, out);
    return out;
}

} // namespace shardboard

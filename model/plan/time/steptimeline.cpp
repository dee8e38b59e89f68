// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/steptimeline.h"

#include "model/plan/pipeline.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

/// What is recorded of a range of pieces, with everything that repeats in it.
class Walk {
public:
    using Piece = std::function<void(const ScheduledPiece&, double later, std::int64_t layers, std::int64_t micro)>;

    Walk(const ScheduleRecord& record, double from, double to, Piece piece)
        : m_record(record)
        , m_from(from)
        , m_to(to)
        , m_piece(std::move(piece))
    {
        m_extent.reserve(record.repeats.size());
        for (std::size_t i = 0; i < record.repeats.size(); ++i)
            m_extent.push_back(extent(i));
    }

    void run() { range(0, m_record.pieces.size(), m_record.repeats.size(), 0, 0, 0); }

private:
    struct Extent {
        double start = 0;
        double end = 0;
    };

    /// Of one time of a repeat, with what repeats in it.
    Extent extent(std::size_t index) const
    {
        const ScheduledRepeat& repeat = m_record.repeats[index];
        Extent out { m_record.pieces[repeat.first].start, 0 };
        for (std::size_t i = repeat.first; i < repeat.end; ++i) {
            out.start = std::min(out.start, m_record.pieces[i].start);
            out.end = std::max(out.end, m_record.pieces[i].end);
        }
        for (std::size_t i = 0; i < index; ++i)
            if (const ScheduledRepeat& inner = m_record.repeats[i]; inner.first >= repeat.first && inner.end <= repeat.end)
                out.end = std::max(out.end, m_extent[i].end + static_cast<double>(inner.times) * inner.stride);
        return out;
    }

    /// Inner repeats come before outer ones: of those below `limit` the last that holds a piece is the outermost.
    void range(std::size_t first, std::size_t end, std::size_t limit, double later, std::int64_t layers, std::int64_t micro) const
    {
        std::size_t at = first;
        std::vector<std::size_t> outer;
        for (std::size_t i = limit; i-- > 0;) {
            const ScheduledRepeat& repeat = m_record.repeats[i];
            const auto holds = [&](std::size_t other) {
                return m_record.repeats[other].first <= repeat.first && repeat.end <= m_record.repeats[other].end;
            };
            if (repeat.first >= first && repeat.end <= end && repeat.first < repeat.end && std::ranges::none_of(outer, holds))
                outer.push_back(i);
        }
        std::ranges::sort(outer, {}, [&](std::size_t i) { return m_record.repeats[i].first; });
        for (const std::size_t i : outer) {
            const ScheduledRepeat& repeat = m_record.repeats[i];
            plain(at, repeat.first, later, layers, micro);
            at = repeat.end;
            const auto times = [&](double t) { return std::clamp(t, -1.0, static_cast<double>(repeat.times) + 1); };
            const double stride = std::max(repeat.stride, 1e-30);
            const auto lo = static_cast<std::int64_t>(std::ceil(times((m_from - later - m_extent[i].end) / stride)));
            const auto hi = static_cast<std::int64_t>(std::floor(times((m_to - later - m_extent[i].start) / stride)));
            for (std::int64_t k = std::max<std::int64_t>(0, lo); k <= std::min(repeat.times, hi); ++k)
                range(repeat.first, repeat.end, i, later + static_cast<double>(k) * repeat.stride, layers + (repeat.layers ? k : 0),
                      micro + (repeat.layers ? 0 : k));
        }
        plain(at, end, later, layers, micro);
    }

    void plain(std::size_t first, std::size_t end, double later, std::int64_t layers, std::int64_t micro) const
    {
        for (std::size_t i = first; i < end; ++i)
            if (const ScheduledPiece& piece = m_record.pieces[i]; piece.end + later > m_from && piece.start + later < m_to)
                m_piece(piece, later, layers, micro);
    }

    const ScheduleRecord& m_record;
    double m_from;
    double m_to;
    Piece m_piece;
    std::vector<Extent> m_extent;
};

} // namespace

StepTimeline::StepTimeline(const Graph& graph, const Plan& plan, double kernelShare)
    : m_graph(graph)
    , m_plan(plan)
    , m_kernelShare(kernelShare)
    , m_schedule(graph, plan)
    , m_sends(stageSends(graph, plan))
{
    m_schedule.run(plan, m_sends, kernelShare);
    m_streams = m_schedule.tasks().streams;
    const StepSequences& sequences = m_schedule.sequences();
    if (!isStaged(plan)) {
        m_whole = recorded(sequences.passes, plan.microBatches, true, true);
        m_updates.push_back(recorded(sequences.update, 1, true, true));
    } else {
        m_turns = m_schedule.turns();
        m_streams.insert(m_streams.end(), { "sends forward", "sends backward" });
        for (const auto& sequence : sequences.forward) {
            m_forward.push_back(recorded(sequence, 1, false, false));
            m_firstForward.push_back(recorded(sequence, 1, true, false));
        }
        for (const auto& sequence : sequences.backward) {
            m_backward.push_back(recorded(sequence, 1, false, false));
            m_lastBackward.push_back(recorded(sequence, 1, false, true));
        }
        for (const auto& sequence : sequences.updates)
            m_updates.push_back(recorded(sequence, 1, true, true));
    }
    nameDevices();
}

StepTimeline::Recorded StepTimeline::recorded(const std::vector<LayerRun>& sequence, std::int64_t microBatches, bool first,
                                              bool last) const
{
    Recorded out;
    StreamSchedule schedule;
    schedule.restart(m_schedule.tasks(), m_kernelShare, &out.record);
    schedule.run(sequence, microBatches, first, last);
    schedule.drain();
    out.seconds = schedule.now();
    return out;
}

void StepTimeline::nameDevices()
{
    if (!isStaged(m_plan)) {
        m_devices.push_back({ "every device", 0, { 0 } });
        return;
    }
    const StepSequences& sequences = m_schedule.sequences();
    const auto stages = static_cast<std::size_t>(m_plan.pipeline->stages);
    const auto alike = [&](std::size_t a, std::size_t b) {
        if (sequences.updateOf[a] != sequences.updateOf[b])
            return false;
        for (std::size_t run = 0; run < sequences.forwardOf.size(); run += stages)
            if (sequences.forwardOf[run + a] != sequences.forwardOf[run + b]
                || sequences.backwardOf[run + a] != sequences.backwardOf[run + b])
                return false;
        return true;
    };
    for (std::size_t stage = 0; stage < stages; ++stage) {
        const auto known = std::ranges::find_if(
            m_devices, [&](const TimelineDevice& device) { return alike(static_cast<std::size_t>(device.stage), stage); });
        const auto number = static_cast<std::int64_t>(stage);
        if (known == m_devices.end())
            m_devices.push_back({ {}, number, { number } });
        else
            known->stages.push_back(number);
    }
    for (TimelineDevice& device : m_devices) {
        device.name = device.stages.size() > 1 ? "stages " : "stage ";
        for (std::size_t i = 0; i < device.stages.size(); ++i) {
            const bool inside = i > 0 && i + 1 < device.stages.size() && device.stages[i - 1] + 1 == device.stages[i]
                && device.stages[i] + 1 == device.stages[i + 1];
            if (inside)
                continue;
            const bool ends = i > 1 && device.stages[i - 1] + 1 == device.stages[i] && device.stages[i - 2] + 2 == device.stages[i];
            device.name += (i == 0 ? "" : ends ? " to " : ", ") + std::to_string(device.stages[i]);
        }
    }
}

std::int64_t StepTimeline::layerOf(const ScheduledPiece& piece, std::int64_t layer, std::int64_t run) const
{
    const PlannedSegment& planned = m_plan.segment(piece.part);
    if (!m_graph.segment(planned.segment).isLayer)
        return -1;
    std::int64_t lo = planned.firstLayer;
    std::int64_t hi = planned.firstLayer + planned.count;
    if (run >= 0) {
        const Range own = layersOfRun(*m_plan.pipeline, run);
        lo = std::max(lo, own.lo);
        hi = std::min(hi, own.hi);
    }
    return planned.phase == Phase::Backward ? hi - 1 - layer : lo + layer;
}

void StepTimeline::tell(const ScheduledPiece& piece, const Placing& placing, double later, std::int64_t layers, std::int64_t micro,
                        const Each& each) const
{
    const auto at = [&](double time) { return placing.start + placing.scale * (time + later); };
    TimelineInterval out;
    out.start = at(piece.start);
    out.end = at(piece.end);
    out.stream = piece.task->stream;
    out.segment = piece.part;
    out.layer = layerOf(piece, piece.layer + layers, placing.run);
    out.microBatch = placing.microBatch + piece.microBatch + micro;
    out.collective = piece.task->collective;
    out.pass = placing.pass;
    out.run = placing.run;
    out.waited = piece.waited;
    if (piece.task->mode != TaskMode::Compute) {
        each(out);
        return;
    }
    // Operations of a run share its time as their seconds do.
    const std::vector<PlannedOp>& ops = m_plan.segment(piece.part).ops;
    double all = 0;
    for (std::size_t i = piece.task->firstOp; i < piece.task->endOp; ++i)
        all += ops[i].seconds;
    const double start = out.start;
    const double length = out.end - out.start;
    double done = 0;
    for (std::size_t i = piece.task->firstOp; i < piece.task->endOp; ++i) {
        if (ops[i].seconds <= 0)
            continue;
        out.start = start + length * (done / all);
        done += ops[i].seconds;
        out.end = start + length * (done / all);
        out.operation = PlannedOpId(i);
        if (out.end > placing.from && out.start < placing.to)
            each(out);
    }
}

void StepTimeline::visit(const ScheduleRecord& record, const Placing& placing, const Each& each) const
{
    const double scale = std::max(placing.scale, 1e-12);
    Walk(record, (placing.from - placing.start) / scale, (placing.to - placing.start) / scale,
         [&](const ScheduledPiece& piece, double later, std::int64_t layers, std::int64_t micro) {
             tell(piece, placing, later, layers, micro, each);
         })
        .run();
}

void StepTimeline::visit(std::int64_t stage, double from, double to, const Each& each) const
{
    if (!isStaged(m_plan)) {
        visit(m_whole.record, { 0, 1, 0, PassKind::Forward, -1, from, to }, each);
        visit(m_updates.front().record, { m_whole.seconds, 1, 0, PassKind::Forward, -1, from, to }, each);
        return;
    }
    const auto place = static_cast<std::size_t>(stage);
    const StepSequences& sequences = m_schedule.sequences();
    const PlannedPipeline& pipeline = *m_plan.pipeline;
    const std::int64_t runs = pipeline.stages * pipeline.chunks;
    for (const PipelinePass& pass : m_turns.stages[place]) {
        const bool forward = pass.kind == PassKind::Forward;
        const auto run = static_cast<std::size_t>(pass.run);
        const double send = forward ? m_sends.forward : m_sends.backward;
        if (pass.arrived <= from || pass.start >= to)
            continue;
        Placing placing { pass.start, 1, pass.microBatch, pass.kind, pass.run, from, to };
        if (pass.kind == PassKind::Weights) {
            if (pass.end > pass.start)
                each({ pass.start, pass.end, 0, {}, -1, pass.microBatch, {}, {}, pass.kind, pass.run, false });
            continue;
        }
        const bool dual = pipeline.isDual();
        const std::int64_t first = dual ? pass.microBatch % 2 : 0;
        const std::int64_t last = dual ? m_plan.microBatches - 2 + pass.microBatch % 2 : m_plan.microBatches - 1;
        const Recorded& what = forward ? (pass.microBatch == first ? m_firstForward : m_forward)[sequences.forwardOf[run]]
                                       : (pass.microBatch == last ? m_lastBackward : m_backward)[sequences.backwardOf[run]];
        if (what.seconds > 0)
            placing.scale = (pass.end - pass.start) / what.seconds;
        visit(what.record, placing, each);
        if (send > 0 && (forward ? pass.run + 1 < runs : pass.run > 0))
            each({ pass.arrived - send,
                   pass.arrived,
                   m_streams.size() - (forward ? 2 : 1),
                   {},
                   -1,
                   pass.microBatch,
                   {},
                   {},
                   pass.kind,
                   pass.run,
                   !m_plan.overlap.has(OverlapKind::Sends) });
    }
    const double end = m_turns.ends[place];
    const bool isEnd = stage == 0 || stage + 1 == pipeline.stages;
    if (isEnd && m_sends.atEnd > 0)
        each({ end - m_sends.atEnd,
               end,
               m_streams.size() - 1,
               {},
               -1,
               m_plan.microBatches - 1,
               {},
               {},
               PassKind::Backward,
               -1,
               true });
    visit(m_updates[sequences.updateOf[place]].record, { end, 1, 0, PassKind::Backward, -1, from, to }, each);
}

std::vector<StepTimeline::Step> StepTimeline::criticalPath() const
{
    std::vector<Step> out;
    if (!isStaged(m_plan)) {
        visit(0, [&](const TimelineInterval& it) {
            if (it.stream == 0 || it.waited)
                out.push_back({ 0, it.start, it.end, it, false, false });
        });
        std::ranges::sort(out, {}, &Step::start);
        return out;
    }
    const PipelineTurns& turns = m_turns;
    const std::int64_t stages = m_plan.pipeline->stages;
    const std::int64_t runs = stages * m_plan.pipeline->chunks;
    const bool beside = m_plan.overlap.has(OverlapKind::Sends);
    std::size_t stage = 0;
    for (std::size_t s = 0; s < turns.ends.size(); ++s)
        if (turns.ends[s] + m_schedule.updateSeconds()[s] > turns.ends[stage] + m_schedule.updateSeconds()[stage])
            stage = s;
    const auto number = [](std::size_t s) { return static_cast<std::int64_t>(s); };
    const double updated = turns.ends[stage] + m_schedule.updateSeconds()[stage];
    if (updated > turns.ends[stage])
        out.push_back({ number(stage), turns.ends[stage], updated, {}, true, false });
    std::size_t index = turns.stages[stage].size() - 1;
    double end = turns.ends[stage];
    for (;;) {
        const PipelinePass& pass = turns.stages[stage][index];
        TimelineInterval what;
        what.pass = pass.kind;
        what.run = pass.run;
        what.microBatch = pass.microBatch;
        if (end > pass.end)
            out.push_back({ number(stage), pass.end, end, what, false, true });
        out.push_back({ number(stage), pass.start, pass.end, what, false, false });
        end = pass.start;
        if (end <= 0)
            break;
        // Either the pass before on this stage was over just then, or what it needs had just arrived.
        if (index > 0) {
            const PipelinePass& before = turns.stages[stage][index - 1];
            if (before.end == end || (!beside && before.arrived == end)) {
                --index;
                continue;
            }
        }
        const bool forward = pass.kind == PassKind::Forward;
        const bool turn = !forward && pass.run + 1 == runs;
        const PassKind wanted = forward || turn ? PassKind::Forward : PassKind::Backward;
        const std::int64_t run = forward ? pass.run - 1 : turn ? pass.run : pass.run + 1;
        bool found = false;
        for (std::size_t s = 0; s < turns.stages.size() && !found; ++s)
            for (std::size_t i = 0; i < turns.stages[s].size() && !found; ++i)
                if (const PipelinePass& it = turns.stages[s][i];
                    it.kind == wanted && it.run == run && it.microBatch == pass.microBatch) {
                    stage = s;
                    index = i;
                    found = true;
                }
        if (!found)
            break;
    }
    std::ranges::reverse(out);
    return out;
}

} // namespace shardboard

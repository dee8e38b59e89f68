// SPDX-License-Identifier: Apache-2.0
// The predicted timeline: every number of a step counted again from its intervals, closed forms where there are some, and schedules
// made tick by tick by rules that are written down here once more.
#include "model/design/optimize/stepbound.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/steptime.h"
#include "model/plan/time/steptimeline.h"
#include "model/plan/time/timelinelanes.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <map>
#include <random>

using namespace shardboard;

namespace {

bool nearly(double a, double b, double of = 0) { return std::abs(a - b) <= 1e-9 * std::max({ std::abs(a), std::abs(b), of }); }

StepTask stepTask(TaskMode mode, double seconds, int stream = 0)
{
    StepTask task;
    task.mode = mode;
    task.seconds = seconds;
    task.stream = static_cast<std::uint8_t>(stream);
    return task;
}

/// Layers of one kind with these tasks.
StepTasks partOf(const std::vector<StepTask>& tasks, int links = 1)
{
    StepTasks out;
    out.parts.push_back({ tasks, Phase::Forward });
    for (int i = 0; i < links; ++i)
        out.streams.push_back("link");
    out.number();
    return out;
}

double secondsOf(const StepTasks& tasks, const std::vector<LayerRun>& sequence, std::int64_t microBatches = 1, double share = 0)
{
    StreamSchedule schedule;
    schedule.restart(tasks, share);
    schedule.run(sequence, microBatches, true, true);
    schedule.drain();
    return schedule.now();
}

/// The rules once more, in ticks: every link and the compute stream do one tick of work at a time. Seconds have to be whole.
class StepInTicks {
public:
    StepInTicks(const StepTasks& tasks, const std::vector<LayerRun>& sequence, std::int64_t microBatches)
        : m_tasks(tasks)
    {
        for (std::int64_t micro = 0; micro < microBatches; ++micro)
            for (const LayerRun& run : sequence)
                for (std::int64_t layer = 0; layer < run.layers; ++layer)
                    m_layers.push_back({ run.part, micro == 0, micro + 1 == microBatches });
    }

    int run()
    {
        for (std::size_t layer = 0; layer < m_layers.size(); ++layer) {
            if (layer == 0)
                start(layer, TaskMode::Early, layer);
            start(layer, TaskMode::Within, layer);
            if (layer + 1 < m_layers.size())
                start(layer + 1, TaskMode::Early, layer + 1);
            for (const StepTask& task : m_tasks.parts[m_layers[layer].part].tasks) {
                if (!there(task, layer))
                    continue;
                const auto seconds = static_cast<int>(task.seconds);
                if (task.mode == TaskMode::Compute)
                    for (int i = 0; i < seconds; ++i)
                        tick();
                else if (task.mode == TaskMode::Serial)
                    for (int i = 0; i < seconds; ++i)
                        tick(task.stream);
                else if (task.mode == TaskMode::Early)
                    tickUntil([&](const Job& job) { return job.task == &task && job.layer == layer; });
                else if (task.mode == TaskMode::Late && seconds > 0)
                    m_jobs.push_back({ &task, seconds, 2, layer });
            }
            tickUntil([&](const Job& job) { return job.rank == 0; });
            tickUntil([&](const Job& job) { return job.rank == 2 && job.layer < layer; });
        }
        tickUntil([](const Job&) { return true; });
        return m_now;
    }

private:
    struct Layer {
        PlannedSegmentId part;
        bool first;
        bool last;
    };
    struct Job {
        const StepTask* task;
        int left;
        int rank;
        std::size_t layer;
    };

    bool there(const StepTask& task, std::size_t layer) const
    {
        return task.when == TaskWhen::Always || (task.when == TaskWhen::First ? m_layers[layer].first : m_layers[layer].last);
    }

    void start(std::size_t of, TaskMode mode, std::size_t layer)
    {
        for (const StepTask& task : m_tasks.parts[m_layers[of].part].tasks)
            if (task.mode == mode && there(task, of) && task.seconds > 0)
                m_jobs.push_back({ &task, static_cast<int>(task.seconds), mode == TaskMode::Early ? 1 : 0, layer });
    }

    /// A link that is taken does nothing else.
    void tick(int taken = 0)
    {
        ++m_now;
        for (int stream = 1; stream < static_cast<int>(m_tasks.streams.size()); ++stream) {
            if (stream == taken)
                continue;
            Job* best = nullptr;
            for (Job& job : m_jobs)
                if (job.task->stream == stream && job.left > 0 && (best == nullptr || job.rank < best->rank))
                    best = &job;
            if (best != nullptr)
                --best->left;
        }
        std::erase_if(m_jobs, [](const Job& job) { return job.left == 0; });
    }

    template <class Which>
    void tickUntil(Which which)
    {
        while (std::ranges::any_of(m_jobs, which))
            tick();
    }

    const StepTasks& m_tasks;
    std::vector<Layer> m_layers;
    std::vector<Job> m_jobs;
    int m_now = 0;
};

constexpr double kKernelShare = 0.15;

struct TimelineCase {
    const char* mesh;
    const char* preset;
    Overlap overlap;
    std::int64_t microBatches;
    WorkloadKind kind = WorkloadKind::Train;
};

const TimelineCase kTimelineCases[] {
    { "data=2,model=4", "megatron-tp", Overlap::None, 1 },
    { "fsdp=16,model=8", "tp-sp+fsdp", Overlap::Weights, 1 },
    { "fsdp=16,model=8", "tp-sp+fsdp", Overlap::All, 3 },
    { "fsdp=64", "fsdp", Overlap::Weights, 4 },
    { "data=2,fsdp=8", "hsdp", Overlap::Weights, 2 },
    { "data=4,context=4", "cp-ring", Overlap::All, 2 },
    { "data=2,model=4", "tp-sp", Overlap::All, 1, WorkloadKind::Prefill },
    { "stage=4,model=8", "pp-1f1b", Overlap::Weights, 8 },
    { "stage=4,model=8", "pp-interleaved", Overlap::None, 8 },
    { "stage=4,fsdp=4", "pp-1f1b", Overlap::All.with(OverlapKind::Sends), 6 },
};

Design timelineDesign(const TimelineCase& c)
{
    Workload workload { c.kind, 768, 4096, DType::BF16, c.microBatches }; // divides by every mesh and number of micro-batches
    workload.overlap = c.overlap;
    return designOn(c.mesh, llama3Model(), workload, c.preset);
}

std::vector<TimelineInterval> intervalsOf(const StepTimeline& timeline, std::int64_t stage)
{
    std::vector<TimelineInterval> out;
    timeline.visit(stage, [&](const TimelineInterval& it) { out.push_back(it); });
    std::ranges::sort(out, {}, &TimelineInterval::start);
    return out;
}

PipelineTask evenPipeline(PipelineSchedule schedule, std::int64_t stages, std::int64_t chunks, std::int64_t microBatches,
                          double forward, double backward, double weights = 0)
{
    PipelineTask task { schedule, stages, chunks, microBatches, true, {}, 0, 0, false };
    for (std::int64_t run = 0; run < stages * chunks; ++run)
        task.runs.push_back({ forward, backward, weights, forward, backward });
    return task;
}

double endOfTurns(const PipelineTurns& turns) { return *std::ranges::max_element(turns.ends); }

} // namespace

class TestTimelineOfStep : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Serial: the sum. Weights ahead: the first waits, then the longer of both. Late: the last one comes on top.
    void closedForms()
    {
        const std::int64_t n = 126;
        const auto layers = [](std::int64_t count) { return std::vector<LayerRun> { { PlannedSegmentId(0), count } }; };
        const auto of = [&](const std::vector<StepTask>& tasks, double share = 0) {
            return secondsOf(partOf(tasks), layers(n), 1, share);
        };
        const StepTask compute = stepTask(TaskMode::Compute, 5);
        QVERIFY(nearly(of({ stepTask(TaskMode::Serial, 2, 1), compute }), 126 * 7));
        QVERIFY(nearly(of({ stepTask(TaskMode::Early, 2, 1), compute }), 2 + 126 * 5));
        QVERIFY(nearly(of({ stepTask(TaskMode::Early, 8, 1), compute }), 126 * 8 + 5));
        QVERIFY(nearly(of({ compute, stepTask(TaskMode::Late, 3, 1) }), 126 * 5 + 3));
        QVERIFY(nearly(of({ compute, stepTask(TaskMode::Late, 7, 1) }), 5 + 126 * 7));
        QVERIFY(nearly(of({ stepTask(TaskMode::Within, 3, 1), compute }), 126 * 5));
        QVERIFY(nearly(of({ stepTask(TaskMode::Within, 9, 1), compute }), 126 * 9));
        // In four pieces: the first piece, or the last product, is not hidden.
        StepTask pieces = stepTask(TaskMode::BesideNext, 4, 1);
        pieces.pieces = 4;
        QVERIFY(nearly(of({ pieces, compute }), 126 * (1 + 5)));
        pieces.seconds = 8;
        QVERIFY(nearly(of({ pieces, compute }), 126 * (8 + 5.0 / 4)));
        // Of two at once the first piece of each is needed.
        pieces.seconds = 2;
        QVERIFY(nearly(of({ pieces, pieces, compute }), 126 * (1 + 5)));
        pieces.seconds = 8;
        pieces.mode = TaskMode::BesideLast;
        QVERIFY(nearly(of({ compute, pieces }), 126 * (5.0 / 4 + 8)));
        pieces.seconds = 4;
        QVERIFY(nearly(of({ compute, pieces }), 126 * (5 + 1)));
        // Gradients that go on over another link do so when the next layer is over; those of the two last layers come on top.
        StepTask on = stepTask(TaskMode::Late, 4, 2);
        on.isNext = true;
        QVERIFY(nearly(secondsOf(partOf({ compute, stepTask(TaskMode::Late, 3, 1), on }, 2), layers(n)), 126 * 5 + 4 + 4));
        on.seconds = 9;
        QVERIFY(nearly(secondsOf(partOf({ compute, stepTask(TaskMode::Late, 3, 1), on }, 2), layers(n)), 2 * 5 + 126 * 9));
        // Beside a collective of 2 s an operation of 5 s does only 1.5 s of its work in that time, and none before.
        QVERIFY(nearly(of({ stepTask(TaskMode::Early, 2, 1), compute }, 0.25), 2 + 125 * 5.5 + 5));
        QVERIFY(nearly(of({ stepTask(TaskMode::Early, 8, 1), compute }, 0.25), 126 * 8 + 5));
    }

    /// The same as tick by tick, with drawn tasks of whole seconds on two links.
    void asTickByTick()
    {
        std::mt19937 random(7);
        const auto draw = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
        for (int round = 0; round < 400; ++round) {
            StepTasks tasks;
            tasks.streams = { "compute", "near", "far" };
            std::vector<LayerRun> sequence;
            const int parts = draw(1, 3);
            for (int p = 0; p < parts; ++p) {
                StepPart part;
                const int count = draw(1, 6);
                for (int i = 0; i < count; ++i) {
                    const TaskMode modes[] { TaskMode::Compute, TaskMode::Compute, TaskMode::Serial,
                                             TaskMode::Early,   TaskMode::Late,    TaskMode::Within };
                    StepTask task = stepTask(modes[draw(0, 5)], draw(0, 9));
                    task.stream = static_cast<std::uint8_t>(task.mode == TaskMode::Compute ? 0 : draw(1, 2));
                    if (task.mode == TaskMode::Early && draw(0, 3) == 0)
                        task.when = TaskWhen::First;
                    if (task.mode == TaskMode::Late && draw(0, 3) == 0)
                        task.when = TaskWhen::Last;
                    part.tasks.push_back(task);
                }
                tasks.parts.push_back(part);
                sequence.push_back({ PlannedSegmentId(p), draw(1, 9) });
            }
            tasks.number();
            const std::int64_t microBatches = draw(1, 6);
            const double got = secondsOf(tasks, sequence, microBatches);
            const int wanted = StepInTicks(tasks, sequence, microBatches).run();
            QVERIFY2(nearly(got, wanted), qPrintable(QStringLiteral("round %1: %2, wanted %3").arg(round).arg(got).arg(wanted)));
        }
    }

    /// Many layers and micro-batches are run a few times, and counted.
    void manyAreCounted()
    {
        StepTasks tasks =
            partOf({ stepTask(TaskMode::Early, 3, 1), stepTask(TaskMode::Compute, 5), stepTask(TaskMode::Late, 4, 1) });
        StreamSchedule schedule;
        ScheduleRecord record;
        schedule.restart(tasks, 0.1, &record);
        schedule.run({ { PlannedSegmentId(0), 100000 } }, 100000, true, true);
        schedule.drain();
        QVERIFY(record.pieces.size() < 200);
        QVERIFY(schedule.now() > 5e10);
    }

    /// GPipe and 1F1B wait (p-1)(F + B), interleaved a v-th of it (arXiv 2104.04473); ZB-H1 (p-1)(F + B - W), B without W
    /// (2401.10241); DualPipe (p/2 - 1)(F&B + B - 3W) where B and W are alike (2412.19437, table 2).
    void bubbles()
    {
        for (const std::int64_t p : { 2, 4, 8 })
            for (const std::int64_t m : { 8, 16, 32 }) {
                const double work = static_cast<double>(m) * 3;
                const auto waits = [&](const PipelineTask& task, double all) { return endOfTurns(pipelineTurns(task)) - all; };
                const auto stages = static_cast<double>(p - 1);
                for (const auto plain : { PipelineSchedule::OneForwardOneBackward, PipelineSchedule::GPipe })
                    QVERIFY(nearly(waits(evenPipeline(plain, p, 1, m, 1, 2), work), stages * 3));
                for (const std::int64_t v : { 2, 3 })
                    QVERIFY(nearly(
                        waits(evenPipeline(PipelineSchedule::OneForwardOneBackward, p, v, m, 1, 2), work * static_cast<double>(v)),
                        stages * 3));
                for (const double weights : { 0.4, 1.0 }) { // of micro-batches that are not there yet it has no gradients to make
                    const double zero = waits(evenPipeline(PipelineSchedule::ZeroBubble, p, 1, m, 1, 2, weights), work);
                    const double wanted = stages * (1 + 2 - weights) - static_cast<double>(std::min(m - 1, p - 1)) * weights;
                    QVERIFY2(nearly(zero, wanted), qPrintable(QStringLiteral("p %1 m %2: %3").arg(p).arg(m).arg(zero)));
                }
                if (m >= 2 * p) {
                    const double dual = waits(evenPipeline(PipelineSchedule::DualPipe, p, 1, m, 1, 2, 1), work);
                    const double paper = (static_cast<double>(p) / 2 - 1) * (3 + 2 - 3);
                    QVERIFY2(nearly(dual, paper), qPrintable(QStringLiteral("p %1 m %2: %3").arg(p).arg(m).arg(dual)));
                }
            }
    }

    /// With drawn times of every run and of sends, 1F1B is the longest way through what waits for what, found by relaxing until
    /// nothing moves.
    void pipelineIsLongestWay()
    {
        std::mt19937 random(11);
        std::uniform_real_distribution<double> seconds(0.1, 2);
        for (int round = 0; round < 40; ++round) {
            const std::int64_t p = 2 + round % 4;
            const std::int64_t m = 1 + round % 7;
            PipelineTask task = evenPipeline(PipelineSchedule::OneForwardOneBackward, p, 1, m, 0, 0);
            for (RunSeconds& run : task.runs) {
                run.forward = run.firstForward = seconds(random);
                run.backward = run.lastBackward = seconds(random);
            }
            task.sendForward = seconds(random) / 20; // shorter than any pass, so that none waits for another
            task.sendBackward = seconds(random) / 20;
            task.sendsBeside = round % 2 == 0;
            const auto at = [&](std::int64_t stage, std::int64_t micro, bool back) {
                return static_cast<std::size_t>((stage * m + micro) * 2 + (back ? 1 : 0));
            };
            std::vector<double> start(static_cast<std::size_t>(2 * p * m), 0);
            const auto length = [&](std::int64_t s, bool back) {
                const RunSeconds& run = task.runs[static_cast<std::size_t>(s)];
                return back ? run.backward : run.forward;
            };
            const auto send = [&](std::int64_t s, bool back) {
                return back ? (s > 0 ? task.sendBackward : 0) : (s + 1 < p ? task.sendForward : 0);
            };
            double end = 0;
            for (bool moved = true; moved;) {
                moved = false;
                const auto after = [&](std::size_t what, double time) {
                    if (time > start[what] + 1e-12) {
                        start[what] = time;
                        moved = true;
                    }
                };
                for (std::int64_t s = 0; s < p; ++s) {
                    // Stage s runs p - s passes forward ahead, then one of each.
                    std::vector<std::pair<std::int64_t, bool>> order;
                    for (std::int64_t f = 0, b = 0; b < m;)
                        if (f < m && f < b + p - s)
                            order.emplace_back(f++, false);
                        else
                            order.emplace_back(b++, true);
                    for (std::size_t i = 0; i < order.size(); ++i) {
                        const auto [micro, back] = order[i];
                        const std::size_t me = at(s, micro, back);
                        if (i > 0) {
                            const auto [other, otherBack] = order[i - 1];
                            after(me,
                                  start[at(s, other, otherBack)] + length(s, otherBack)
                                      + (task.sendsBeside ? 0 : send(s, otherBack)));
                        }
                        if (!back && s > 0)
                            after(me, start[at(s - 1, micro, false)] + length(s - 1, false) + task.sendForward);
                        if (back && s + 1 < p)
                            after(me, start[at(s + 1, micro, true)] + length(s + 1, true) + task.sendBackward);
                        if (back && s + 1 == p)
                            after(me, start[at(s, micro, false)] + length(s, false));
                        end = std::max(end, start[me] + length(s, back) + (task.sendsBeside ? 0 : send(s, back)));
                    }
                }
            }
            QVERIFY2(nearly(endOfTurns(pipelineTurns(task)), end), qPrintable(QString::number(round)));
        }
    }

    /// Streams carry one thing at a time; what a plan says happens is there as often and as long; computing, waiting and the bubble
    /// are the step; the critical path has no hole.
    void numbersFollowFromIntervals()
    {
        for (const TimelineCase& c : kTimelineCases) {
            Design design = timelineDesign(c);
            const auto evaluation = evaluated(design);
            const Plan& plan = evaluation->plan;
            const StepTimeline timeline(evaluation->graph, plan, kKernelShare);
            const double step = timeline.seconds();
            const auto why = [&](const char* what) {
                return QStringLiteral("%1 on %2, %3: %4")
                    .arg(c.preset, c.mesh, QString::fromStdString(overlapName(c.overlap)), what)
                    .toUtf8();
            };
            std::map<int, double> moved; // by collective
            double computed = 0;
            double waited = 0; // but for sends
            const std::int64_t stages = plan.pipeline ? plan.pipeline->stages : 1;
            double end = 0;
            for (std::int64_t stage = 0; stage < stages; ++stage) {
                std::map<std::size_t, double> free;
                for (const TimelineInterval& it : intervalsOf(timeline, stage)) {
                    QVERIFY2(it.end >= it.start && it.start >= -1e-12, why("order"));
                    QVERIFY2(it.start >= free[it.stream] - 1e-9 * step, why("one at a time"));
                    free[it.stream] = it.end;
                    end = std::max(end, it.end);
                    if (it.collective.valid())
                        moved[it.collective.number()] += it.end - it.start;
                    if (it.stream == 0)
                        computed += it.end - it.start;
                    else if (it.waited && it.collective.valid())
                        waited += it.end - it.start;
                }
            }
            QVERIFY2(nearly(end, step), why("end"));
            for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
                const Collective& collective = plan.collectives[i];
                if (collective.kind == CollectiveKind::LocalSlice || isStageSend(plan, collective))
                    continue;
                const double wanted = static_cast<double>(collective.count) * collective.seconds;
                QVERIFY2(nearly(moved[static_cast<int>(i)], wanted, 1e-3 * step), why(collective.id.c_str()));
            }
            const double sends = stageSends(evaluation->graph, plan).forward;
            const double all = computed + waited; // of all stages
            double told = 0; // the seconds of operations, and what is exposed of collectives
            for (std::size_t part = 0; part < plan.segments.size(); ++part) {
                for (const PlannedOp& op : plan.segments[part].ops)
                    told += static_cast<double>(op.count) * op.seconds;
            }
            for (const double seconds : timeline.schedule().exposed())
                told += seconds;
            QVERIFY2(nearly(all, told), why("computing and waiting"));
            if (!isStaged(plan))
                QVERIFY2(nearly(all, step), why("no time is left over"));
            else
                QVERIFY2(sends > 0, why("sends"));
            double at = 0;
            for (const StepTimeline::Step& it : timeline.criticalPath()) {
                QVERIFY2(nearly(it.start, at, step), why("critical path"));
                at = it.end;
            }
            QVERIFY2(nearly(at, step), why("end of the critical path"));
        }
    }

    /// An operation does not begin before the collectives of its operands are done, or have made their first piece; nor a
    /// gradient's reduction before its gradient is there, nor the update before all of them are.
    void dependenciesAreKept()
    {
        int chained = 0;
        for (const TimelineCase& c : kTimelineCases) {
            const auto evaluation = evaluated(timelineDesign(c));
            const Plan& plan = evaluation->plan;
            const StepTimeline timeline(evaluation->graph, plan, kKernelShare);
            const double slack = 1e-9 * timeline.seconds();
            const std::int64_t stages = plan.pipeline ? plan.pipeline->stages : 1;
            int checked = 0;
            for (std::int64_t stage = 0; stage < stages; ++stage) {
                using Key = std::tuple<int, std::int64_t, std::int64_t, int>; // segment, layer, micro-batch, what
                std::map<Key, std::pair<double, double>> operations;
                std::map<Key, std::pair<double, double>> collectives;
                double updated = timeline.seconds();
                double reduced = 0;
                for (const TimelineInterval& it : intervalsOf(timeline, stage)) {
                    if (!it.segment.valid())
                        continue;
                    const bool moves = it.collective.valid();
                    const Key key { it.segment.number(), it.layer, it.microBatch,
                                    moves ? it.collective.number() : it.operation.number() };
                    auto& span = (moves ? collectives : operations).try_emplace(key, it.start, it.end).first->second;
                    span.second = std::max(span.second, it.end);
                    const bool update = plan.segment(it.segment).phase == Phase::Update;
                    if (update)
                        updated = std::min(updated, it.start);
                    else
                        reduced = std::max(reduced, it.end);
                }
                QVERIFY(updated >= reduced - slack);
                // What goes on with a value that another collective has made comes behind it.
                for (const auto& [key, span] : collectives) {
                    const auto [segment, layer, micro, id] = key;
                    const Collective& collective = plan.collectives[static_cast<std::size_t>(id)];
                    const auto before = collectives.find({ segment, layer, micro, id - 1 });
                    if (before == collectives.end())
                        continue;
                    const Collective& other = plan.collectives[static_cast<std::size_t>(id - 1)];
                    if (other.op != collective.op || other.operand != collective.operand || other.tensor != collective.tensor)
                        continue;
                    ++chained;
                    QVERIFY2(span.first >= before->second.second - slack, collective.id.c_str());
                }
                for (const auto& [key, span] : operations) {
                    const auto [segment, layer, micro, op] = key;
                    for (const OperandUse& use :
                         plan.segments[static_cast<std::size_t>(segment)].ops[static_cast<std::size_t>(op)].operands)
                        for (const CollectiveId id : use.collectives) {
                            const Collective& collective = plan.collective(id);
                            const auto found = collectives.find({ segment, layer, micro, id.number() });
                            if (found == collectives.end()
                                || collective.op
                                    != plan.segments[static_cast<std::size_t>(segment)].ops[static_cast<std::size_t>(op)].op)
                                continue;
                            const OverlapKind kind = overlapKindOf(evaluation->graph, plan, collective);
                            const auto [start, end] = found->second;
                            ++checked;
                            const bool late = kind == OverlapKind::GradientScatters || kind == OverlapKind::Experts;
                            const bool pieces = kind == OverlapKind::Tensor || kind == OverlapKind::Context;
                            if (!plan.overlap.has(kind) || kind == OverlapKind::WeightGathers)
                                QVERIFY2(span.first >= end - slack, collective.id.c_str());
                            else if (pieces)
                                QVERIFY2(span.first >= start - slack, collective.id.c_str());
                            else
                                QVERIFY(late);
                        }
                }
            }
            QVERIFY(checked > 0 || c.kind == WorkloadKind::Prefill || plan.overlap.has(OverlapKind::GradientScatters));
        }
        QVERIFY(chained > 0);
    }

    /// Step time, exposed time, bubble and the device that has the most to do, as the plan says them, counted again from the
    /// intervals; on every stage what it does and why it does nothing are the step.
    void planSaysWhatIntervalsSay()
    {
        for (const TimelineCase& c : kTimelineCases) {
            const auto evaluation = evaluated(timelineDesign(c));
            const Plan& plan = evaluation->plan;
            const StepTimeline timeline(evaluation->graph, plan, plan.kernelShare);
            const double step = plan.seconds();
            const auto why = [&](const char* what) {
                return QStringLiteral("%1 on %2, %3: %4")
                    .arg(c.preset, c.mesh, QString::fromStdString(overlapName(c.overlap)), what)
                    .toUtf8();
            };
            QVERIFY2(nearly(timeline.seconds(), step), why("step"));
            QVERIFY2(nearly(plan.device.seconds(), step), why("a device's step"));
            double exposed = 0;
            double end = 0;
            double most = 0;
            double bubbleOfMost = 0;
            const std::int64_t stages = plan.pipeline ? plan.pipeline->stages : 1;
            for (std::int64_t stage = 0; stage < stages; ++stage) {
                const StageLanes lanes = stageLanes(plan, timeline, stage);
                std::array<double, kIdleCauses.size()> idle {};
                double at = 0;
                for (const IdleInterval& it : lanes.idle) {
                    QVERIFY2(it.start >= at - 1e-9 * step && it.end > it.start, why("idle in order"));
                    at = it.end;
                    idle[static_cast<std::size_t>(it.cause)] += it.end - it.start;
                }
                double computing = 0;
                double beside = 0; // of collectives, while the device computes
                for (std::size_t lane = 0; lane < lanes.lanes.size(); ++lane) {
                    double free = 0;
                    for (const TimelineInterval& it : lanes.lanes[lane].intervals) {
                        QVERIFY2(it.start >= free - 1e-9 * step, why("one at a time"));
                        free = it.end;
                        end = std::max(end, it.end);
                        (lane == 0 ? computing : beside) += lane == 0 || (!it.waited && it.segment.valid()) ? it.end - it.start : 0;
                    }
                }
                const double bubble = idle[static_cast<std::size_t>(IdleCause::Bubble)];
                const double waiting =
                    idle[static_cast<std::size_t>(IdleCause::Collective)] + idle[static_cast<std::size_t>(IdleCause::Host)];
                QVERIFY2(nearly(computing + waiting + bubble, step), why("busy and idle"));
                exposed += waiting;
                if (lanes.lanes.size() == 2) // of two links only one slows the device down at a time
                    exposed += plan.kernelShare * beside;
                if (computing + waiting > most * (1 + 1e-9)) {
                    most = computing + waiting;
                    bubbleOfMost = bubble;
                }
            }
            QVERIFY2(nearly(end, step), why("the last is over"));
            QVERIFY2(nearly(plan.device.bubble, bubbleOfMost, step), why("bubble"));
            if (plan.pipeline)
                QVERIFY2(nearly(plan.pipeline->stageSeconds + plan.pipeline->updateSeconds, most), why("busiest"));
            const bool many = plan.overlap != Overlap::None && timeline.streams().size() > (isStaged(plan) ? 4 : 2);
            if (!many && !plan.overlap.has(OverlapKind::Sends) && (!isStaged(plan) || plan.overlap == Overlap::None))
                QVERIFY2(nearly(exposed, plan.exposedSeconds, step), why("exposed"));
        }
    }

    /// Where nothing runs beside anything a step is a sum, which is the schedule's.
    void serialPartsAreSums()
    {
        std::mt19937 random(3);
        const auto draw = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
        for (int round = 0; round < 100; ++round) {
            StepTasks tasks;
            tasks.streams = { "compute", "near", "far" };
            std::vector<LayerRun> sequence;
            for (int p = draw(1, 3); p > 0; --p) {
                StepPart part;
                for (int i = draw(1, 6); i > 0; --i) {
                    const bool moves = draw(0, 1) == 0;
                    part.tasks.push_back(
                        stepTask(moves ? TaskMode::Serial : TaskMode::Compute, draw(0, 9), moves ? draw(1, 2) : 0));
                    if (moves)
                        part.tasks.back().when = static_cast<TaskWhen>(draw(0, 2));
                }
                sequence.push_back({ PlannedSegmentId(tasks.parts.size()), draw(1, 9) });
                tasks.parts.push_back(part);
            }
            tasks.number();
            const std::int64_t microBatches = draw(1, 6);
            StreamSchedule sums;
            sums.restart(tasks, 0.1);
            sums.run(sequence, microBatches, true, round % 2 == 0);
            StreamSchedule schedule;
            ScheduleRecord record;
            schedule.restart(tasks, 0.1, &record);
            schedule.run(sequence, microBatches, true, round % 2 == 0);
            QVERIFY(nearly(sums.now(), schedule.now()));
            for (std::size_t i = 0; i < tasks.count; ++i)
                QVERIFY(nearly(sums.exposed()[i], schedule.exposed()[i]));
        }
    }

    /// What is priced again and again ends when the turns do.
    void endsAreThoseOfTheTurns()
    {
        std::mt19937 random(5);
        std::uniform_real_distribution<double> seconds(0.1, 2);
        for (const auto& [schedule, chunks] : { std::pair { PipelineSchedule::OneForwardOneBackward, 1 },
                                                { PipelineSchedule::OneForwardOneBackward, 2 },
                                                { PipelineSchedule::ZeroBubble, 1 },
                                                { PipelineSchedule::DualPipe, 1 },
                                                { PipelineSchedule::GPipe, 1 } }) {
            PipelineEnds ends;
            for (int round = 0; round < 20; ++round) {
                const std::int64_t stages = round < 10 ? 4 : 6;
                PipelineTask task = evenPipeline(schedule, stages, chunks, 2 * stages, 0, 0);
                for (RunSeconds& run : task.runs)
                    run = { seconds(random), 2 + seconds(random), seconds(random), seconds(random), 2 + seconds(random) };
                task.sendForward = seconds(random);
                task.sendBackward = seconds(random);
                task.sendsBeside = round % 2 == 0;
                const PipelineTurns turns = pipelineTurns(task);
                QCOMPARE(ends.of(task), turns.ends);
                for (std::size_t stage = 0; stage < turns.stages.size(); ++stage) {
                    double free = 0;
                    std::array<double, 2> sent {};
                    for (const PipelinePass& pass : turns.stages[stage]) {
                        QVERIFY(pass.start >= free);
                        free = pass.end;
                        if (pass.arrived == pass.end)
                            continue;
                        const bool forward = pass.kind == PassKind::Forward;
                        const double begun = pass.arrived - (forward ? task.sendForward : task.sendBackward);
                        QVERIFY(begun >= std::max(pass.end, sent[forward ? 0 : 1]) - 1e-9);
                        sent[forward ? 0 : 1] = pass.arrived;
                    }
                    QVERIFY(turns.ends[stage] >= free);
                }
            }
        }
    }

    /// What the search for layouts takes for a step's time is never above it.
    void boundIsBelow()
    {
        for (const TimelineCase& c : kTimelineCases) {
            const auto evaluation = evaluated(timelineDesign(c));
            const Plan& plan = evaluation->plan;
            const double bound = StepBound(evaluation->graph, plan, 2).seconds(segmentTimes(evaluation->graph, plan));
            QVERIFY2(bound <= plan.seconds() * (1 + 1e-9) && bound > 0.3 * plan.seconds(), c.preset);
            if (plan.overlap == Overlap::None && !plan.pipeline)
                QVERIFY(nearly(bound, plan.seconds()));
        }
    }

    /// What a window tells is what the whole tells of it.
    void windows()
    {
        const auto evaluation = evaluated(timelineDesign(kTimelineCases[3]));
        const StepTimeline timeline(evaluation->graph, evaluation->plan, kKernelShare);
        const auto all = intervalsOf(timeline, 0);
        const double from = timeline.seconds() * 0.4;
        const double to = timeline.seconds() * 0.45;
        std::size_t wanted = 0;
        for (const TimelineInterval& it : all)
            wanted += it.end > from && it.start < to ? 1 : 0;
        std::size_t got = 0;
        timeline.visit(0, from, to, [&](const TimelineInterval&) { ++got; });
        QVERIFY(wanted > 10 && wanted < all.size() / 5);
        QCOMPARE(got, wanted);
    }
};

SHARDBOARD_TEST(TestTimelineOfStep)
#include "tst_timelineofstep.moc"

// SPDX-License-Identifier: Apache-2.0
// What operations and collectives took: of one process at once, of several when the step is over.
#include "engine/devices/team.h"
#include "tests/engine/stepparts.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::test;
using shardboard::test::programOf;
using shardboard::test::TestDesign;

namespace {

/// Two processes of two hosts, one after the other: what the second one says lies on the table until the first one asks.
class TwoProcesses : public Team {
public:
    TwoProcesses(int rank, std::vector<double>& table)
        : m_rank(rank)
        , m_table(table)
    {
    }
    int rank() const override { return m_rank; }
    int rankCount() const override { return 2; }
    bool showsValues() const override { return false; }
    void hostBarrier() override { }
    bool spansHosts() const override { return true; }
    bool sameHost(int a, int b) const override { return a == b; }
    const std::vector<int>& referenceRanks() const override { return m_reference; }
    int referenceRank() const override { return m_rank == 0 ? 0 : -1; }
    std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>&) override { return {}; }
    bool deliver(const std::vector<Delivery>&) override { return false; }
    void forgetBrought() override { }
    std::vector<std::vector<double>> allGather(const std::vector<double>&) override { return {}; }
    std::vector<std::vector<double>> gather(const std::vector<double>& said) override
    {
        if (m_rank == 0)
            return { said, m_table };
        m_table = said;
        return {};
    }
    std::vector<double> clocks() override { return m_rank == 0 ? std::vector<double> { 0, 100 } : std::vector<double> {}; }

private:
    int m_rank;
    std::vector<double>& m_table;
    std::vector<int> m_reference { 0 };
};

Program twoDevices(WorkloadKind kind = WorkloadKind::Prefill)
{
    TestDesign design;
    design.mesh = "model=2";
    design.model.heads = 4;
    design.model.kvHeads = 2;
    design.workload = { kind, 4, 6, DType::BF16, 1, Recompute::None };
    return programOf(design);
}

/// Seconds of the two devices, one after the other from `start` on.
Timing timing(double first, double second, double start = 10)
{
    Timing out;
    out.seconds = { first, second };
    out.spans = { { start, start + first }, { start + first, start + first + second } };
    out.combined = out.wall = first + second;
    return out;
}

/// What a process measures that has one of the two.
Timing ofOne(std::size_t device, double seconds, double start)
{
    Timing out = timing(0, 0);
    out.seconds[device] = out.combined = out.wall = seconds;
    out.spans = { {}, {} };
    out.spans[device] = { start, start + seconds };
    return out;
}

} // namespace

class TestStepTimes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// An operation takes as long as its slowest device, a collective as long as the work of all.
    void oneProcessIsRecordedAtOnce()
    {
        std::vector<Sample> samples;
        RunHooks hooks;
        hooks.sample = [&](const Sample& sample) { samples.push_back(sample); };
        StepParts parts(twoDevices(), {}, hooks);
        const SegmentPass& pass = parts.passes[1];
        const PlannedOp& planned = pass.planned->ops.front();
        const Collective& collective = parts.program.plan.collectives.front();
        const double start = now();
        parts.times.add(pass, planned, timing(1, 3), start);
        parts.times.add(pass, planned, timing(2, 1), start + 5);
        parts.times.add(pass, planned, timing(0, 6), start + 8);
        parts.times.add(pass, collective, timing(0.25, 0.5), start + 20);
        const RunResult result = parts.result();
        QCOMPARE(result.operations.size(), std::size_t { 2 });
        const RunOperation& op = result.operations[0];
        QCOMPARE(op.id, pass.planned->name + "/" + parts.state.op(planned).name);
        QCOMPARE(op.kind, opKindName(parts.state.op(planned).kind));
        QCOMPARE(op.count, 3);
        QCOMPARE(op.medianSeconds, 3.0);
        QCOMPARE(op.predictedSeconds, planned.seconds);
        const RunOperation& moved = result.operations[1];
        QCOMPARE(moved.id, collective.id);
        QCOMPARE(moved.kind, collectiveName(collective.kind));
        QCOMPARE(moved.bytes, collective.bytes);
        QCOMPARE(moved.medianSeconds, 0.75);
        QCOMPARE(result.stepMedian, 3 + 2 + 6 + 0.75);
        QCOMPARE(samples.size(), std::size_t { 4 });
        QCOMPARE(samples[0].device, 1);
        QCOMPARE(samples[1].device, 0);
        QVERIFY(std::fabs(samples[1].start - samples[0].start - 5) < 1e-6);
        QVERIFY(samples[0].start >= 0 && samples[0].start < 1); // since the run began
        QCOMPARE(samples[3].operation, collective.id);
        QCOMPARE(samples[3].seconds, 0.75);
    }

    void planningTakesNoTime()
    {
        const Program program = twoDevices();
        const RunOptions options;
        int samples = 0;
        RunHooks hooks;
        hooks.sample = [&](const Sample&) { ++samples; };
        const RunRequest request { program, options, hooks };
        Arena arena;
        CpuExecutor cpu;
        Context context { arena, cpu, nullptr, 2, {} };
        RunRecord record;
        StepState state(request, context);
        StepTimes times(request, context, state.stages, record, nullptr);
        const auto passes = scheduleOf(program, options);
        times.add(passes[1], passes[1].planned->ops.front(), timing(1, 3), 0);
        times.add(passes[1], program.plan.collectives.front(), timing(1, 3), 0);
        RunResult result;
        record.finish(result);
        QVERIFY(result.operations.empty() && samples == 0);
    }

    /// The first one has device 0, the other one device 1 and a clock that is ahead by 100 s.
    void theFirstProcessGetsTheTimesOfAll()
    {
        std::vector<double> table;
        TwoProcesses first(0, table);
        TwoProcesses second(1, table);
        const Program program = twoDevices();
        DeviceMemory memory;
        Profiler profiler(program, memory, 4);
        profiler.beginStep();
        StepParts here(program, {}, {}, &first, &profiler);
        StepParts there(program, {}, {}, &second);
        const Collective& collective = program.plan.collectives.front();
        const auto measure = [&](StepParts& parts, std::size_t device, double seconds, double clock) {
            const SegmentPass& pass = parts.passes[1];
            const PlannedOp& planned = pass.planned->ops.front();
            parts.times.add(pass, planned, ofOne(device, seconds, clock), clock);
            Timing moved = ofOne(device, seconds / 2, clock + 4);
            moved.brought.push_back({ { clock + 8, clock + 8.5 }, 0.5 });
            parts.times.add(pass, parts.program.plan.collectives.front(), moved, clock + 4);
        };
        measure(here, 0, 1, 10);
        measure(there, 1, 3, 110);
        RunResult before;
        here.record.finish(before);
        QCOMPARE(before.operations.size(), std::size_t { 2 }); // errors can be told of them already
        QCOMPARE(before.operations[0].count, 0);
        there.times.gather();
        here.times.gather();
        const RunResult result = here.result();
        QCOMPARE(result.operations.size(), std::size_t { 2 });
        QCOMPARE(result.operations[0].medianSeconds, 3.0);
        QCOMPARE(result.operations[1].id, collective.id);
        QCOMPARE(result.operations[1].medianSeconds, 1.5 + 0.5 * 0.5); // the slower one, and its part of the message
        const RunResult elsewhere = there.result();
        QCOMPARE(elsewhere.operations.size(), std::size_t { 2 });
        QCOMPARE(elsewhere.operations[0].count, 0);
        const RunProfile profile = profiler.take(ProfileMode::Batched, 1);
        QCOMPARE(profile.events.size(), std::size_t { 2 });
        const auto& devices = profile.events[0].devices;
        QCOMPARE(devices.size(), std::size_t { 2 });
        QCOMPARE(devices[0].start, 10.0 - 4);
        QCOMPARE(devices[1].start, 10.0 - 4); // by the clock of the first
        QCOMPARE(devices[1].end, 13.0 - 4);
        here.times.gather(); // nothing twice
        QCOMPARE(here.result().operations[0].count, 0);
    }

    /// Where the operation of a forward and of a backward segment have one name, the phase tells them apart.
    void namesOfSeveralPhases()
    {
        Program program = twoDevices(WorkloadKind::Train);
        const auto layer = [&](Phase phase) -> PlannedSegment& {
            return *std::find_if(program.plan.segments.begin(), program.plan.segments.end(), [&](const PlannedSegment& planned) {
                return planned.phase == phase && program.graph.segment(planned.segment).isLayer;
            });
        };
        PlannedSegment& forward = layer(Phase::Forward);
        PlannedSegment& backward = layer(Phase::Backward);
        forward.name = backward.name = "block";
        const auto nameOf = [&](const PlannedOp& planned) -> std::string& {
            return program.graph.ops[static_cast<std::size_t>(planned.op)].name;
        };
        nameOf(forward.ops[0]) = nameOf(backward.ops[0]) = "both";
        nameOf(forward.ops[1]) = "one";
        const OpId both[] { forward.ops[0].op, backward.ops[0].op };
        const OpId one = forward.ops[1].op;
        StepParts parts(std::move(program));
        const auto idIn = [&](Phase phase, OpId op) {
            const auto pass = std::find_if(parts.passes.begin(), parts.passes.end(),
                                           [&](const SegmentPass& p) { return p.segment->isLayer && p.segment->phase == phase; });
            return parts.times.idOf(*pass, parts.program.graph.op(op));
        };
        QCOMPARE(idIn(Phase::Forward, both[0]), std::string("forward block/both"));
        QCOMPARE(idIn(Phase::Backward, both[1]), std::string("backward block/both"));
        QCOMPARE(idIn(Phase::Forward, one), std::string("block/one"));
    }
};

SHARDBOARD_TEST(TestStepTimes)
#include "tst_steptimes.moc"

// SPDX-License-Identifier: Apache-2.0
// Reshard steps as calls of NCCL, on a stand-in for all ranks: who is in which communicator, what is called with which counts and
// roots, and that it leads to what the engine's own collectives lead to.
#include "engine/conformance/oneprogram.h"
#include "engine/cpu/cpuexecutor.h"
#include "engine/cuda/hostruntime.h"
#include "engine/machine/failure.h"
#include "engine/nccl/functions.h"
#include "engine/nccl/rankcheck.h"
#include "engine/nccl/ranks.h"
#include "model/plan/reshard/reshard.h"
#include "tests/engine/ncclstandins.h"
#include "tests/support/runner.h"

#include <QTest>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::nccl;
using shardboard::engine::nccl::test::OneProcess;
using shardboard::engine::nccl::test::Recorder;

namespace {

struct Room {
    Arena arena { std::int64_t { 32 } << 20 };
    TaskPool pool { 1, nullptr };
    CpuExecutor cpu;
    Context context { arena, cpu, &pool, 1, {} };
};

std::string play(const StepPlan& plan, const Sharded& before, Sharded& after)
{
    std::vector<std::vector<float>> staging;
    for (const RankPlan& rank : plan.ranks)
        staging.emplace_back(static_cast<std::size_t>(rank.staging), -1e30f);
    Recorder recorder(plan.communicators, plan.ranks.size());
    for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
        const auto device = static_cast<std::int64_t>(rank);
        std::fill_n(after.data(device), after.elements(device), 1e30f);
        try {
            execute(plan.ranks[rank], recorder.functionsOf(rank),
                    { before.address(device), after.address(device), reinterpret_cast<std::byte*>(staging[rank].data()),
                      Element::F32 });
        } catch (const Failure& failure) {
            return failure.message;
        }
    }
    return recorder.settle();
}

Sharded allocated(Room& room, const Shape& shape, const Layout& layout, const Mesh& mesh)
{
    Sharded out(shape, layout, mesh);
    out.allocate(room.arena);
    return out;
}

std::size_t countOf(const StepPlan& plan, What what)
{
    std::size_t count = 0;
    for (const RankPlan& rank : plan.ranks)
        count += static_cast<std::size_t>(
            std::count_if(rank.calls.begin(), rank.calls.end(), [&](const Call& call) { return call.what == what; }));
    return count;
}

Layout partialOver(std::size_t rank, int axis, ReduceOp op = ReduceOp::Sum)
{
    Layout layout = Layout::replicated(rank);
    layout.partial = { AxisRef { axis } };
    layout.op = op;
    return layout;
}

} // namespace

class TestNccl : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void communicatorsSpanTheirAxes()
    {
        const Mesh mesh = Mesh::parse("data=2,model=3").value();
        const Communicator model = communicatorOf(mesh, { 1 });
        QCOMPARE(model.color, (std::vector<int> { 0, 0, 0, 1, 1, 1 }));
        QCOMPARE(model.key, (std::vector<int> { 0, 1, 2, 0, 1, 2 }));
        const Communicator data = communicatorOf(mesh, { 0 });
        QCOMPARE(data.groups.size(), std::size_t { 3 });
        QCOMPARE(data.groupOf(4), (std::vector<std::int64_t> { 1, 4 }));
        QCOMPARE(data.key[4], 1);
        QCOMPARE(communicatorOf(mesh, { 0, 1 }).groups.size(), std::size_t { 1 });
    }

    void reducesInPlaceOfAMeshAxis()
    {
        Room room;
        const Mesh mesh = Mesh::parse("data=2,model=3").value();
        const ReshardStep step { CollectiveKind::AllReduce, { 1 }, partialOver(2, 1), Layout::replicated(2) };
        const Sharded before = allocated(room, { 4, 6 }, step.before, mesh);
        const Sharded after = allocated(room, { 4, 6 }, step.after, mesh);
        const StepPlan plan = planStep(step, before, after, "test");
        QCOMPARE(plan.communicators.size(), std::size_t { 1 });
        QCOMPARE(plan.communicators[0].axes, std::vector<int> { 1 });
        for (const RankPlan& rank : plan.ranks) {
            QCOMPARE(rank.calls.size(), std::size_t { 1 });
            QVERIFY(rank.calls[0].what == What::AllReduce && rank.calls[0].count == 24 && rank.calls[0].op == ReduceOp::Sum);
            QVERIFY(rank.calls[0].from.buffer == Buffer::Before && rank.calls[0].to.buffer == Buffer::After);
            QCOMPARE(rank.staging, 0);
        }
    }

    /// Seven rows over three ranks: every part is reduced to the rank that gets it, within one group of calls.
    void unevenPartsHaveRoots()
    {
        Room room;
        const Mesh mesh = Mesh::parse("a=3").value();
        const ReshardStep step { CollectiveKind::ReduceScatter, { 0 }, partialOver(2, 0), Layout::cut(2, 0, { 0 }) };
        const Sharded before = allocated(room, { 7, 2 }, step.before, mesh);
        const Sharded after = allocated(room, { 7, 2 }, step.after, mesh);
        const StepPlan plan = planStep(step, before, after, "test");
        QCOMPARE(countOf(plan, What::Reduce), std::size_t { 9 });
        QCOMPARE(countOf(plan, What::GroupStart), std::size_t { 3 });
        for (const RankPlan& rank : plan.ranks) {
            std::vector<std::pair<int, std::int64_t>> roots;
            for (const Call& call : rank.calls)
                if (call.what == What::Reduce)
                    roots.emplace_back(call.peer, call.count);
            std::vector<std::pair<int, std::int64_t>> wanted;
            for (int root = 0; root < 3; ++root)
                wanted.emplace_back(root, after.elements(root));
            QVERIFY(roots == wanted);
        }
    }

    void columnsGoThroughStaging()
    {
        Room room;
        const Mesh mesh = Mesh::parse("a=2").value();
        const Layout columns = Layout::cut(2, 1, { 0 });
        const ReshardStep step { CollectiveKind::AllGather, { 0 }, columns, Layout::replicated(2) };
        const StepPlan plan =
            planStep(step, allocated(room, { 3, 4 }, columns, mesh), allocated(room, { 3, 4 }, step.after, mesh), "test");
        QCOMPARE(countOf(plan, What::AllGather), std::size_t { 2 });
        QCOMPARE(countOf(plan, What::Local), std::size_t { 4 });
        QCOMPARE(plan.ranks[0].staging, 12);
        const ReshardStep rows { CollectiveKind::AllGather, { 0 }, Layout::cut(2, 0, { 0 }), Layout::replicated(2) };
        const StepPlan direct =
            planStep(rows, allocated(room, { 4, 3 }, rows.before, mesh), allocated(room, { 4, 3 }, rows.after, mesh), "test");
        QCOMPARE(countOf(direct, What::Local), std::size_t { 0 });
    }

    void everyStepLeadsWhereTheEngineLeads()
    {
        std::mt19937 random(5);
        std::map<What, int> calls;
        std::set<CollectiveKind> kinds;
        int steps = 0;
        for (int trial = 0; trial < 400; ++trial) {
            const char* meshes[] = { "a=2", "a=3", "a=4", "a=2,b=2", "a=3,b=2", "a=2,b=2,c=2" };
            const Mesh mesh = Mesh::parse(meshes[random() % 6]).value();
            const Shape shapes[] = { { 12, 8 }, { 7, 5 }, { 24 }, { 4, 6, 4 }, { 3, 7, 2 } };
            const Shape& shape = shapes[random() % 5];
            const Layout from = conformance::randomLayout(random, mesh, shape.size(), true);
            const Layout to = conformance::randomLayout(random, mesh, shape.size(), false);
            const auto way = reshardSteps(from, to, shape, mesh, "test");
            if (!way.ok())
                continue;
            Room room;
            Sharded value = allocated(room, shape, from, mesh);
            fillExactly(value);
            for (const ReshardStep& step : way.value()) {
                Resharded expected = executeStep(room.context, step, value, false, "test");
                Sharded got = allocated(room, shape, step.after, mesh);
                const StepPlan plan = planStep(step, value, got, "test");
                const std::string wrong = play(plan, value, got);
                QVERIFY2(wrong.empty(), (collectiveName(step.kind) + " on " + mesh.text() + ": " + wrong).c_str());
                for (std::int64_t device = 0; device < got.deviceCount(); ++device)
                    for (std::int64_t i = 0; i < got.elements(device); ++i)
                        QVERIFY2(got.data(device)[i] == expected.tensor.data(device)[i],
                                 (collectiveName(step.kind) + " on " + mesh.text() + ", device " + std::to_string(device)).c_str());
                for (const RankPlan& rank : plan.ranks)
                    for (const Call& call : rank.calls)
                        ++calls[call.what];
                kinds.insert(step.kind);
                value = std::move(expected.tensor);
                ++steps;
            }
        }
        QVERIFY(steps > 300);
        for (const What what :
             { What::AllReduce, What::AllGather, What::ReduceScatter, What::Reduce, What::Send, What::Receive, What::Local })
            QVERIFY2(calls[what] > 0, std::to_string(static_cast<int>(what)).c_str());
        QVERIFY(kinds.size() >= 5);
    }

    /// One thread for the GPUs of all ranks: communicators split when first needed, one group for all, copies by the exchange
    /// kernel.
    void oneProcessLeadsWhereTheEngineLeads_data()
    {
        QTest::addColumn<int>("count");
        for (const int count : { 2, 3, 4, 6, 8 })
            QTest::addRow("%d", count) << count;
    }
    void oneProcessLeadsWhereTheEngineLeads()
    {
        QFETCH(int, count);
        OneProcess one(count);
        Process process(one.functions(), one.split());
        Ranks ranks(one.gpus(), process);
        const RanksChecked checked = checkRanks(ranks, count, 150, static_cast<unsigned>(count));
        QVERIFY2(checked.wrong.empty(), checked.wrong.c_str());
        QVERIFY(checked.steps > 60);
        QVERIFY(one.groups > 30 && one.groups <= checked.steps); // one for a step, none for a slice
        QVERIFY(process.communicators() >= 1 && process.communicators() <= 40); // kept, not split for every step
        for (const What what : { What::AllReduce, What::AllGather, What::ReduceScatter, What::Send, What::Receive, What::Local })
            QVERIFY2(checked.byCall[static_cast<std::size_t>(what)] > 0, std::to_string(static_cast<int>(what)).c_str());
    }
    /// Rank by rank, as separate processes make them, one thread would hang.
    void oneThreadNeedsOneGroup()
    {
        Room room;
        const Mesh mesh = Mesh::parse("a=2").value();
        const ReshardStep step { CollectiveKind::AllReduce, { 0 }, partialOver(2, 0), Layout::replicated(2) };
        const StepPlan plan =
            planStep(step, allocated(room, { 4, 6 }, step.before, mesh), allocated(room, { 4, 6 }, step.after, mesh), "test");
        const auto turns = turnsOf(plan);
        QCOMPARE(turns.size(), std::size_t { 1 });
        QVERIFY(turns[0].grouped && turns[0].calls.size() == 2);
        OneProcess one(2);
        one.owned = false; // the values are this test's own
        std::vector<float> values(24, 1.0f);
        try {
            execute(plan.ranks[0], one.functions()[0],
                    { reinterpret_cast<std::byte*>(values.data()), reinterpret_cast<std::byte*>(values.data()), nullptr,
                      Element::F32 });
            QFAIL("it did not hang");
        } catch (const Failure& failure) {
            QVERIFY(failure.message.find("waits for ever") != std::string::npos);
        }
        // A rank that is left out is found, too.
        StepPlan less = plan;
        less.ranks[1].calls.clear();
        Process process(one.functions(), one.split());
        Buffers buffers { reinterpret_cast<std::byte*>(values.data()), reinterpret_cast<std::byte*>(values.data()), nullptr,
                          Element::F32 };
        try {
            process.reshard(less, { buffers, buffers });
            QFAIL("nothing was found");
        } catch (const Failure& failure) {
            QVERIFY(failure.message.find("waits for ever") != std::string::npos);
        }
    }

    void mistakesShow_data()
    {
        QTest::addColumn<int>("mistake");
        QTest::addColumn<QString>("told");
        QTest::newRow("a rank leaves a call out") << 0 << "waits for ever";
        QTest::newRow("another count") << 1 << "call different things";
        QTest::newRow("another operation") << 2 << "call different things";
        QTest::newRow("a group left open") << 3 << "within a group";
        QTest::newRow("a send to somebody else") << 4 << "";
        QTest::newRow("a peer that is not there") << 5 << "peer outside";
    }
    void mistakesShow()
    {
        QFETCH(int, mistake);
        QFETCH(QString, told);
        Room room;
        const Mesh mesh = Mesh::parse("a=3").value();
        const bool messages = mistake >= 3;
        const ReshardStep step = messages
            ? ReshardStep { CollectiveKind::AllToAll, { 0 }, Layout::cut(2, 0, { 0 }), Layout::cut(2, 1, { 0 }) }
            : ReshardStep { CollectiveKind::AllReduce, { 0 }, partialOver(2, 0), Layout::replicated(2) };
        Sharded before = allocated(room, { 6, 9 }, step.before, mesh);
        Sharded after = allocated(room, { 6, 9 }, step.after, mesh);
        fillExactly(before);
        StepPlan plan = planStep(step, before, after, "test");
        QCOMPARE(QString::fromStdString(play(plan, before, after)), QString());
        auto& calls = plan.ranks[1].calls;
        const auto find = [&](What what) {
            return std::find_if(calls.begin(), calls.end(), [&](const Call& call) { return call.what == what; });
        };
        if (mistake == 0)
            calls.clear();
        else if (mistake == 1)
            --calls[0].count;
        else if (mistake == 2)
            calls[0].op = ReduceOp::Max;
        else if (mistake == 3)
            calls.erase(find(What::GroupEnd));
        else if (mistake == 4)
            find(What::Send)->peer = 2;
        else
            find(What::Send)->peer = 3;
        const QString wrong = QString::fromStdString(play(plan, before, after));
        QVERIFY2(!wrong.isEmpty() && wrong.contains(told), qPrintable(wrong));
    }
};

SHARDBOARD_TEST(TestNccl)
#include "tst_nccl.moc"

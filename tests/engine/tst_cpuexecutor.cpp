// SPDX-License-Identifier: Apache-2.0
// What the executor of the CPU promises, asked of it alone: on shards of unequal sizes and replicas, whose numbers are known.
#include "engine/cpu/cpuexecutor.h"

#include "engine/devices/compare.h"
#include "engine/devices/team.h"
#include "engine/machine/clock.h"
#include "engine/machine/failure.h"
#include "engine/machine/limits.h"
#include "engine/ops/bodywork.h"
#include "tests/engine/stepparts.h"
#include "tests/engine/testrun.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::test;
using shardboard::test::failureCode;

namespace {

/// Rank 1 of four, of which 0 and 1 are on this host.
class FourProcesses : public Team {
public:
    int rank() const override { return 1; }
    int rankCount() const override { return 4; }
    bool showsValues() const override { return false; }
    void hostBarrier() override { }
    bool spansHosts() const override { return true; }
    bool sameHost(int a, int b) const override { return a / 2 == b / 2; }
    const std::vector<int>& referenceRanks() const override { return m_reference; }
    int referenceRank() const override { return 1; }
    std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>& bytes) override
    {
        reserved = bytes;
        return {};
    }
    bool deliver(const std::vector<Delivery>&) override { return false; }
    void forgetBrought() override { }
    std::vector<std::vector<double>> allGather(const std::vector<double>&) override { return {}; }
    std::vector<std::vector<double>> gather(const std::vector<double>&) override { return {}; }
    std::vector<double> clocks() override { return {}; }
    std::int64_t mostBrought(int rank) const override { return 1000 * rank; }

    std::vector<std::int64_t> reserved;

private:
    std::vector<int> m_reference { 0, 1 };
};

float wave(std::int64_t number) { return static_cast<float>(number % 11) - 4; }
float steps(std::int64_t number) { return static_cast<float>(number); }

const Shape kShape { 7, 5 };

/// Rows over three devices, 7 of them: the last one has fewer. Each shard has a replica.
struct Devices {
    Mesh mesh = Mesh::parse("a=3,b=2").value();
    Mesh single;
    Layout rows = Layout::cut(2, 0, { 0 });
    Layout columns = Layout::cut(2, 1, { 0 });
    Layout whole = Layout::replicated(2);
    CpuExecutor cpu;

    Sharded sharded() const { return { kShape, rows, mesh }; }
    Sharded unsharded() const { return { kShape, whole, single }; }
};

struct Running : Devices {
    Arena arena { std::int64_t { 8 } << 20 };
    TaskPool pool { 2, nullptr };
    Context context { arena, cpu, &pool, 2, {} };

    Sharded made(const std::function<float(std::int64_t)>& value) { return filled(sharded(), arena, value); }
    Sharded room()
    {
        return made([](std::int64_t) { return 1e30f; }); // what is not written shows
    }
};

/// All that a run asks of the executor, on tensors that lie in the context's arena.
void askAll(Devices& on, Context& context, int& looked)
{
    const auto taken = [&](Sharded tensor) {
        tensor.allocate(context.arena);
        return tensor;
    };
    Sharded a = taken(on.sharded());
    Sharded b = taken(on.sharded());
    Sharded whole = taken(on.unsharded());
    Sharded columns = taken({ kShape, on.columns, on.mesh });
    const Source source { Generator::values(1, "a", 0, 1), Rounding::None, 1 };
    on.cpu.fill(context, source, a);
    on.cpu.fill(context, source, whole);
    on.cpu.round(context, Rounding::BF16, a);
    on.cpu.copy(context, a, b);
    on.cpu.add(context, a, b);
    on.cpu.scale(context, 0.5f, b);
    on.cpu.send(context, a, false, b);
    on.cpu.assemble(context, a, whole);
    on.cpu.reshard(context, { CollectiveKind::AllToAll, { 0 }, on.rows, on.columns }, a, false, "t", columns);
    on.cpu.op(context, { OpKind::Add, {}, { &a, &a }, "t" }, b);
    Sharded made = on.unsharded();
    made.source = source;
    on.cpu.relativeError(context, a, made, 0);
    on.cpu.meanSquare(context, whole);
    on.cpu.show(context, a, &whole, [&](const Sharded&, const Sharded*) { ++looked; });
}

} // namespace

class TestCpuExecutor : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void shardsAreUnequal()
    {
        const Devices on;
        const Sharded tensor = on.sharded();
        std::set<std::int64_t> sizes;
        for (std::int64_t device = 0; device < tensor.deviceCount(); ++device)
            sizes.insert(tensor.elements(device));
        QVERIFY(sizes.size() > 1 && tensor.totalElements() == 2 * 7 * 5);
    }

    /// Tensors of a plan have no memory, so touching any would end the test.
    void planningTouchesNothing()
    {
        Devices planned;
        Arena arena;
        Context context { arena, planned.cpu, nullptr, 2, {} };
        int looked = 0;
        askAll(planned, context, looked);
        QCOMPARE(looked, 0);
        Running running;
        askAll(running, running.context, looked);
        QCOMPARE(looked, 1);
        QCOMPARE(arena.highWater(), running.arena.highWater()); // what a run announces is what it takes
        QCOMPARE(context.work.touched, running.context.work.touched);
        QCOMPARE(context.work.generated, running.context.work.generated);
        QVERIFY(context.work.touched > 0 && context.work.generated > 0);
    }

    /// However many experts there are.
    void sumsOfExpertsTakeMemoryOnce()
    {
        Devices on;
        const Sharded dy({ 7, 2, 150, 5 }, Layout::cut(4, 0, { 0 }), on.mesh);
        const Sharded result = on.sharded();
        const OpCall call { OpKind::ExpertBiasGrad, {}, { &dy }, "t" };
        std::vector<std::int64_t> taken(static_cast<std::size_t>(result.deviceCount()), 0);
        const auto take = [&](std::int64_t device, std::int64_t) -> float* {
            ++taken[static_cast<std::size_t>(device)];
            return nullptr;
        };
        const RowSumWork planned = expertBiasGradWork(call, result, bodies::kTile, { take, true });
        QVERIFY(taken == std::vector<std::int64_t>(6, 1));
        QVERIFY(planned.sums.table.entries.empty() && planned.totals.table.entries.empty());
    }

    void plansAMillionExperts()
    {
        constexpr std::int64_t kExperts = 1 << 20;
        const Mesh mesh = Mesh::parse("a=2").value();
        Devices on;
        Arena arena;
        Context context { arena, on.cpu, nullptr, 2, {} };
        Sharded dy({ kExperts, 1, 1, 4 }, Layout::replicated(4), mesh);
        Sharded result({ kExperts, 4 }, Layout::replicated(2), mesh);
        dy.allocate(arena);
        result.allocate(arena);
        const double start = now();
        on.cpu.op(context, { OpKind::ExpertBiasGrad, {}, { &dy }, "t" }, result);
        QVERIFY(now() - start < 5);
    }

    void copiesLieApart()
    {
        Running on;
        Sharded value = on.made(wave);
        Sharded copy = on.room();
        on.cpu.copy(on.context, value, copy);
        QVERIFY(holds(&copy, wave));
        on.cpu.scale(on.context, -0.5f, copy);
        QVERIFY(holds(&copy, [](std::int64_t number) { return -0.5f * wave(number); }));
        QVERIFY(holds(&value, wave));
        on.cpu.add(on.context, value, copy);
        QVERIFY(holds(&copy, [](std::int64_t number) { return 0.5f * wave(number); }));
        QVERIFY(holds(&value, wave));
    }

    void sendsToOtherDevices()
    {
        Running on;
        const Sharded value = on.made(steps);
        const Mesh next = Mesh::make({ { "a", 3 }, { "b", 2 } }, { 6, 7, 8, 9, 10, 11 }, "mesh").value();
        Sharded there = filled({ kShape, on.rows, next }, on.arena, [](std::int64_t) { return 1e30f; });
        const Timing timing = on.cpu.send(on.context, value, false, there);
        QVERIFY(holds(&there, steps));
        QCOMPARE(timing.seconds.size(), std::size_t { 6 });
        QVERIFY(timing.brought.empty());
        on.cpu.send(on.context, value, true, there);
        QVERIFY(holds(&there, [](std::int64_t) { return 0.0f; }));
        QVERIFY(holds(&value, steps));
    }

    void assemblesTheWhole()
    {
        Running on;
        const Sharded value = on.made(steps);
        Sharded whole = filled(on.unsharded(), on.arena, [](std::int64_t) { return 1e30f; });
        on.cpu.assemble(on.context, value, whole);
        QVERIFY(holds(&whole, steps));
    }

    void reshardsUnequalParts()
    {
        Running on;
        const Sharded value = on.made(steps);
        const ReshardStep step { CollectiveKind::AllToAll, { 0 }, on.rows, on.columns };
        Sharded columns = filled({ kShape, on.columns, on.mesh }, on.arena, [](std::int64_t) { return 1e30f; });
        on.cpu.reshard(on.context, step, value, false, "t", columns);
        QVERIFY(holds(&columns, steps));
    }

    /// To the nearest value with 8 bits, to the even one of two that are as near.
    void roundsInPlace()
    {
        Running on;
        Sharded value = on.made([](std::int64_t number) { return 1 + static_cast<float>(number % 5) / 256; });
        on.cpu.round(on.context, Rounding::BF16, value);
        constexpr float kExpected[] { 1, 1, 1 + 1.0f / 128, 1 + 1.0f / 64, 1 + 1.0f / 64 };
        QVERIFY(holds(&value, [&](std::int64_t number) { return kExpected[number % 5]; }));
        QVERIFY(on.cpu.elementOf(Rounding::BF16) == Element::F32);
    }

    void meanSquareIsOfAllValues()
    {
        Running on;
        const Sharded whole = filled(on.unsharded(), on.arena, steps);
        QCOMPARE(on.cpu.meanSquare(on.context, whole), 34.0 * 35 * 69 / 6 / 35); // sum of squares up to 34
    }

    void showsWhatLiesThere()
    {
        Running on;
        const Sharded value = on.made(steps);
        const Sharded whole = filled(on.unsharded(), on.arena, steps);
        std::vector<const Sharded*> seen;
        const auto look = [&](const Sharded& each, const Sharded* unsharded) { seen.insert(seen.end(), { &each, unsharded }); };
        const std::int64_t before = on.arena.highWater();
        on.cpu.show(on.context, value, &whole, look);
        on.cpu.show(on.context, value, nullptr, look);
        QVERIFY(seen == (std::vector<const Sharded*> { &value, &whole, &value, nullptr }));
        QCOMPARE(on.arena.highWater(), before);
    }

    void memoryIsReservedAndPoisoned()
    {
        CpuExecutor cpu;
        TaskPool pool { 2, nullptr };
        for (const bool poison : { false, true }) {
            const auto segments = cpu.reserve({ 10'000 }, nullptr);
            QCOMPARE(segments.size(), std::size_t { 1 });
            QVERIFY(segments.front().base != nullptr && segments.front().capacity >= 10'000);
            Arena arena(cpu.deviceRanksOf(Mesh::parse("a=4").value(), nullptr), segments);
            cpu.ready(arena, pool, poison);
            const Block block = arena.allocateFloats(100);
            QCOMPARE(std::isnan(block.floats()[99]), poison);
        }
    }

    void oneProcessHasAllMemory()
    {
        const CpuExecutor cpu;
        Arena none;
        CpuExecutor unused;
        const Context planned { none, unused, nullptr, 3, {} };
        QCOMPARE(cpu.deviceRanksOf(Mesh::parse("a=4").value(), nullptr).rankCount(), 1);
        QCOMPARE(cpu.bytesAt(0, 5000, planned, false), 5000 + processMemory(3));
        QCOMPARE(cpu.bytesAt(0, 5000, planned, true), limitsMemory(3) + processMemory(3));
        const std::int64_t large = limitsMemory(3) + 1;
        QCOMPARE(cpu.bytesAt(0, large, planned, true), large + processMemory(3));
        const auto demands = cpu.demandsOf({ 7000 }, 9000, nullptr);
        QVERIFY(demands.size() == 1 && demands[0].name.empty() && demands[0].bytes == 7000 && demands[0].available == 9000);
        QVERIFY(cpu.demandsOf({ 7000 }, 0, nullptr)[0].available > 0);
        QCOMPARE(cpu.workers(5), 5);
        QVERIFY(cpu.workers(0) > 0);
        QVERIFY(cpu.secondsOf({ 0, 6e9, 0 }, 2) > 0 && cpu.secondsOf({ 0, 6e9, 0 }, 4) * 2 == cpu.secondsOf({ 0, 6e9, 0 }, 2));
    }

    void processesOfAHostShareItsMemory()
    {
        CpuExecutor cpu("mpi");
        FourProcesses team;
        const DeviceRanks ranks = cpu.deviceRanksOf(Mesh::parse("a=8").value(), &team);
        QCOMPARE(ranks.rankCount(), 4);
        QCOMPARE(ranks.own(), 1);
        QCOMPARE(cpu.processOf(3), 3);
        const auto demands = cpu.demandsOf({ 1, 20, 300, 4000 }, 100, &team);
        QVERIFY(demands.size() == 1 && demands[0].bytes == 21 && demands[0].available == 100);
        const double share = static_cast<double>(cpu.availableToAll(4, &team)) / static_cast<double>(cpu.availableBytes());
        QVERIFY2(share > 1.5 && share < 2.5, std::to_string(share).c_str()); // of two hosts; others come and go meanwhile
        Arena none;
        Context planned { none, cpu, nullptr, 2, {} };
        planned.team = &team;
        QCOMPARE(cpu.bytesAt(3, 500, planned, false), 500 + 3000 + processMemory(2));
        QCOMPARE(cpu.bytesAt(3, 500, planned, true), 500 + 3000 + processMemory(2)); // the first one measures
        QVERIFY(cpu.reserve({ 1, 2, 3, 4 }, &team).empty());
        QVERIFY(team.reserved == (std::vector<std::int64_t> { 1, 2, 3, 4 }));
    }

    void programsOfOtherBackendsAreRefused()
    {
        const Program none;
        RunOptions options;
        options.backend = "cuda";
        try {
            CpuExecutor().check(none, options);
            QFAIL("it was taken");
        } catch (const Failure& failure) {
            QCOMPARE(failure.code, std::string("bad-plan"));
            QCOMPARE(failure.where, std::string("options.backend"));
            QCOMPARE(failure.message, std::string("this runs on the cpu alone, not on 'cuda'"));
        }
        options.backend = "mpi";
        QCOMPARE(failureCode([&] { CpuExecutor("mpi").check(none, options); }), std::string());
        QCOMPARE(failureCode([&] { CpuExecutor().check(none, options); }), std::string("bad-plan"));
    }
};

SHARDBOARD_TEST(TestCpuExecutor)
#include "tst_cpuexecutor.moc"

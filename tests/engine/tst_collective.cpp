// SPDX-License-Identifier: Apache-2.0
// Reshard steps against brute force: the whole tensor is known, so what each device must hold afterwards is too.
#include "engine/cpu/cpuexecutor.h"
#include "engine/cpu/regions.h"
#include "engine/devices/collective.h"
#include "engine/devices/compare.h"
#include "engine/machine/failure.h"
#include "model/hardware/hardware.h"
#include "model/text/contains.h"
#include "tests/engine/testrun.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

using namespace shardboard;
using namespace shardboard::engine;

namespace {

/// Element values that tell where they belong and sum exactly in float32.
float element(std::int64_t index) { return static_cast<float>(index % 4093); }

std::vector<std::vector<std::int64_t>> indicesOf(const Box& box)
{
    std::vector<std::vector<std::int64_t>> out { {} };
    for (const Range& range : box) {
        std::vector<std::vector<std::int64_t>> next;
        for (const auto& prefix : out)
            for (std::int64_t i = range.lo; i < range.hi; ++i) {
                next.push_back(prefix);
                next.back().push_back(i);
            }
        out = std::move(next);
    }
    return out;
}

std::int64_t linear(const std::vector<std::int64_t>& index, const Shape& shape)
{
    std::int64_t out = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
        out = out * shape[d] + index[d];
    return out;
}

/// The addend of a device: coordinate c of n gives element * (c + 1) for all but the last, which makes up the sum.
float addend(const Layout& layout, const Mesh& mesh, std::int64_t position, std::int64_t index)
{
    std::int64_t rank = 0;
    std::int64_t size = 1;
    for (const AxisRef& ref : layout.partial) {
        rank = rank * sizeOf(ref, mesh) + coordinateOf(ref, mesh, position);
        size *= sizeOf(ref, mesh);
    }
    if (rank + 1 < size)
        return element(index) * static_cast<float>(rank + 2);
    float others = 0;
    for (std::int64_t r = 0; r + 1 < size; ++r)
        others += element(index) * static_cast<float>(r + 2);
    return element(index) - others;
}

void fill(Sharded& tensor)
{
    for (std::int64_t p = 0; p < tensor.deviceCount(); ++p) {
        std::size_t next = 0;
        for (const auto& index : indicesOf(tensor.box(p)))
            tensor.data(p)[next++] = addend(tensor.layout(), tensor.mesh(), p, linear(index, tensor.shape()));
    }
}

/// Every element of every device, with addends summed over the axes that are still partial.
bool holdsTheTensor(const Sharded& tensor)
{
    std::vector<int> partial;
    for (const AxisRef& ref : tensor.layout().partial)
        partial.push_back(ref.axis);
    for (std::int64_t p = 0; p < tensor.deviceCount(); ++p) {
        std::int64_t next = 0;
        for (const auto& index : indicesOf(tensor.box(p))) {
            float sum = 0;
            for (const std::int64_t member : tensor.mesh().group(p, partial))
                sum += tensor.data(member)[next];
            if (sum != element(linear(index, tensor.shape())))
                return false;
            ++next;
        }
    }
    return true;
}

struct Machine {
    Arena arena { std::int64_t { 256 } << 20 };
    TaskPool pool { 2, nullptr };
    CpuExecutor cpu;
    Context context { arena, cpu, &pool, 2, {} };
};

/// A layout that puts each mesh axis on a random dim, or nowhere, or makes it partial.
Layout randomLayout(std::mt19937& random, const Mesh& mesh, std::size_t rank, bool mayBePartial)
{
    Layout layout = Layout::replicated(rank);
    std::vector<int> axes;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        axes.push_back(axis);
    std::shuffle(axes.begin(), axes.end(), random);
    for (const int axis : axes) {
        const std::size_t choice = random() % (rank + 2);
        if (choice < rank)
            layout.dims[choice].push_back({ axis });
        else if (choice == rank && mayBePartial)
            layout.partial.push_back({ axis });
    }
    std::sort(layout.partial.begin(), layout.partial.end(), [](const AxisRef& a, const AxisRef& b) { return a.axis < b.axis; });
    return layout;
}

} // namespace

class TestCollective : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Plans of the model for random layouts, executed step by step.
    void everyPlannedStepKeepsTheTensor()
    {
        Machine machine;
        std::mt19937 random(5);
        const std::vector<std::string> meshes { "a=2", "a=3,b=2", "a=2,b=2,c=3", "a=4,b=3" };
        const std::vector<Shape> shapes { { 7 }, { 5, 9 }, { 12, 8 }, { 3, 7, 5 }, { 1, 13 }, { 24, 12, 6 } };
        std::set<CollectiveKind> seen;
        int runs = 0;
        for (int i = 0; i < 1500; ++i) {
            const Mesh mesh = Mesh::parse(meshes[random() % meshes.size()]).value();
            const Shape& shape = shapes[random() % shapes.size()];
            const Layout from = randomLayout(random, mesh, shape.size(), true);
            Layout to = randomLayout(random, mesh, shape.size(), true);
            std::erase_if(to.partial, [&](const AxisRef& ref) { return !contains(from.partial, ref); });
            const auto steps = sure(reshardSteps(from, to, shape, mesh, "t"));
            Sharded tensor(shape, from, mesh);
            tensor.allocate(machine.arena);
            fill(tensor);
            for (const ReshardStep& step : steps) {
                seen.insert(step.kind);
                const std::string told = collectiveName(step.kind) + " of " + shapeText(shape) + " on " + mesh.text() + ": "
                    + specText(step.before, mesh) + " -> " + specText(step.after, mesh);
                try {
                    tensor = executeStep(machine.context, step, tensor, false, told).tensor;
                } catch (const Failure& failure) {
                    QFAIL((told + ": " + failure.message).c_str());
                }
                QVERIFY2(tensor.layout() == step.after && holdsTheTensor(tensor), told.c_str());
                ++runs;
            }
            QVERIFY(tensor.layout() == to);
        }
        QVERIFY(runs > 1500);
        for (const CollectiveKind kind : { CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                           CollectiveKind::AllToAll, CollectiveKind::LocalSlice, CollectiveKind::SendRecv })
            QVERIFY2(seen.contains(kind), collectiveName(kind).c_str());
    }

    /// On any links, uneven cuts included: what devices send is what others get, and in even cases all send as much.
    void everyDeviceSendsWhatItGets()
    {
        std::mt19937 random(17);
        const std::vector<std::string> meshes { "a=2,b=2", "a=3,b=2", "a=2,b=2,c=2", "a=4,b=2,c=4" };
        const std::vector<Shape> shapes { { 32, 32 }, { 5, 9 }, { 96, 16, 32 } };
        int even = 0;
        int exchanges = 0;
        for (int i = 0; i < 600; ++i) {
            const Mesh mesh = Mesh::parse(meshes[random() % meshes.size()]).value();
            const Shape& shape = shapes[random() % shapes.size()];
            const Layout from = randomLayout(random, mesh, shape.size(), true);
            Layout to = randomLayout(random, mesh, shape.size(), true);
            std::erase_if(to.partial, [&](const AxisRef& ref) { return !contains(from.partial, ref); });
            const Hardware& hardware = hardwarePresets()[random() % hardwarePresets().size()];
            const auto steps = reshardSteps(from, to, { shape, DType::BF16, 1 }, mesh, hardware, "t");
            for (const ReshardStep& step : steps.value()) {
                const Sharded before(shape, step.before, mesh);
                const Sharded after(shape, step.after, mesh);
                const std::string told = collectiveName(step.kind) + " of " + shapeText(shape) + " on " + mesh.text() + ": "
                    + specText(step.before, mesh) + " -> " + specText(step.after, mesh);
                std::vector<std::int64_t> sent(static_cast<std::size_t>(mesh.deviceCount()), 0);
                std::vector<std::int64_t> got = sent;
                std::set<std::int64_t> sources;
                for (std::int64_t p = 0; p < mesh.deviceCount(); ++p) {
                    const auto group = mesh.group(p, step.axes);
                    const auto transfers = transfersOf(step, before, after, p, told);
                    for (const Transfer& transfer : transfers) {
                        QVERIFY2(contains(group, transfer.from), told.c_str());
                        sent[static_cast<std::size_t>(transfer.from)] += volumeOf(transfer.region);
                        got[static_cast<std::size_t>(p)] += volumeOf(transfer.region);
                    }
                    if (step.kind == CollectiveKind::SendRecv && after.elements(p) > 0) {
                        QCOMPARE(transfers.size(), std::size_t { 1 });
                        QVERIFY2(sources.insert(transfers.front().from).second, told.c_str());
                    }
                }
                QCOMPARE(std::accumulate(sent.begin(), sent.end(), std::int64_t { 0 }),
                         std::accumulate(got.begin(), got.end(), std::int64_t { 0 }));
                exchanges += step.kind == CollectiveKind::SendRecv;
                const auto divides = [&](std::int64_t size) { return size % mesh.deviceCount() == 0; };
                if (!std::all_of(shape.begin(), shape.end(), divides))
                    continue;
                ++even;
                QVERIFY2(sent == got, told.c_str());
            }
        }
        QVERIFY2(even > 300 && exchanges > 40, std::to_string(exchanges).c_str());
    }

    void replicasAreAlikeBitForBit()
    {
        Machine machine;
        const Mesh mesh = Mesh::parse("a=3,b=2").value();
        Layout from = Layout::replicated(1);
        from.partial = { { 0 } };
        Sharded tensor({ 10007 }, from, mesh);
        tensor.allocate(machine.arena);
        for (std::int64_t p = 0; p < mesh.deviceCount(); ++p)
            for (std::int64_t i = 0; i < 10007; ++i)
                tensor.data(p)[i] = 1.0f / static_cast<float>(1 + i + 7 * mesh.coordinate(p, 0)); // rounding depends on order
        const ReshardStep step { CollectiveKind::AllReduce, { 0 }, from, Layout::replicated(1) };
        const Sharded sum = executeStep(machine.context, step, tensor, false, "t").tensor;
        for (std::int64_t p = 1; p < mesh.deviceCount(); ++p)
            QVERIFY(std::equal(sum.data(0), sum.data(0) + 10007, sum.data(p)));
        for (std::int64_t i = 0; i < 10007; ++i)
            QCOMPARE(sum.data(0)[i], tensor.data(0)[i] + tensor.data(2)[i] + tensor.data(4)[i]);
    }

    /// On whatever alignment, with stores past the caches or not: what plain loops give, bit for bit, and nothing beside it.
    void fusedRunsArePlainLoops()
    {
        std::mt19937 random(3);
        constexpr std::int64_t kRoom = 1200;
        for (int trial = 0; trial < 400; ++trial) {
            const std::size_t sources = 1 + random() % 9;
            const std::size_t targets = 1 + random() % (trial % 4 == 0 ? 40 : 5);
            FusedRun run;
            run.count = static_cast<std::int64_t>(random() % 1000);
            run.sum = random() % 2 ? FusedSum::Max : FusedSum::Add;
            run.pastCaches = random() % 3 != 0;
            const bool alike = random() % 2;
            const std::size_t common = random() % 17;
            std::vector<std::vector<float>> in(sources, std::vector<float>(kRoom)), out(targets, std::vector<float>(kRoom, -7.0f));
            std::vector<const float*> from;
            std::vector<float*> to;
            for (auto& values : in) {
                for (float& value : values)
                    value = static_cast<float>(random() % 100003) / 77.0f - 500.0f;
                from.push_back(values.data() + random() % 17);
            }
            for (auto& values : out)
                to.push_back(values.data() + 32 - reinterpret_cast<std::uintptr_t>(values.data()) % 64 / 4
                             + (alike ? common : random() % 17));
            run.from = from.data();
            run.to = to.data();
            run.sources = static_cast<std::int64_t>(sources);
            run.targets = static_cast<std::int64_t>(targets);
            fusedTiles(run);
            finishRuns();
            for (std::size_t t = 0; t < targets; ++t) {
                for (std::int64_t i = 0; i < run.count; ++i) {
                    float expected = from[0][i];
                    for (std::size_t s = 1; s < sources; ++s)
                        expected = run.sum == FusedSum::Max ? std::max(expected, from[s][i]) : expected + from[s][i];
                    QVERIFY2(to[t][i] == expected, std::to_string(trial).c_str());
                }
                const auto outside = std::count_if(out[t].begin(), out[t].end(), [](float value) { return value == -7.0f; });
                QVERIFY(outside >= kRoom - run.count);
                QVERIFY(to[t][-1] == -7.0f && to[t][run.count] == -7.0f);
            }
        }
    }

    /// Steps too large for the caches go another way than small ones, to the same bits.
    void stepsPastTheCachesAreOrdinaryOnes_data()
    {
        QTest::addColumn<qint64>("cacheShare");
        QTest::newRow("past the caches") << qint64 { 0 };
        QTest::newRow("ordinary stores") << std::numeric_limits<qint64>::max();
    }
    void stepsPastTheCachesAreOrdinaryOnes()
    {
        QFETCH(qint64, cacheShare);
        Arena arena { std::int64_t { 64 } << 20 };
        TaskPool pool { 2, nullptr };
        CpuExecutor cpu;
        Context context { arena, cpu, &pool, 2, {} };
        context.cacheShare = cacheShare;
        const Mesh mesh = Mesh::parse("a=3").value();
        const Shape shape { 6, 100'003 };
        Layout addends = Layout::replicated(2);
        addends.partial = { { 0 } };
        const Layout rows = Layout::cut(2, 0, { 0 }), columns = Layout::cut(2, 1, { 0 }), whole = Layout::replicated(2);
        for (const ReshardStep& step : { ReshardStep { CollectiveKind::AllReduce, { 0 }, addends, whole },
                                         ReshardStep { CollectiveKind::ReduceScatter, { 0 }, addends, columns },
                                         ReshardStep { CollectiveKind::AllGather, { 0 }, columns, whole },
                                         ReshardStep { CollectiveKind::AllToAll, { 0 }, rows, columns } }) {
            Sharded tensor(shape, step.before, mesh);
            tensor.allocate(arena);
            for (std::int64_t p = 0; p < 3; ++p)
                for (std::int64_t i = 0; i < tensor.elements(p); ++i)
                    tensor.data(p)[i] =
                        static_cast<float>((static_cast<std::uint64_t>(i) * 2654435761u + static_cast<std::uint64_t>(p)) % 65521u)
                        / 3.0f;
            QCOMPARE(context.goesPastCaches(tensor.bytes()), cacheShare == 0);
            const Sharded got = executeStep(context, step, tensor, false, "t").tensor;
            for (std::int64_t p = 0; p < 3; ++p)
                for (std::int64_t i = 0; i < got.elements(p); i += 97) {
                    const Box& box = got.box(p);
                    const std::int64_t row = box[0].lo + i / box[1].size(), column = box[1].lo + i % box[1].size();
                    float expected = 0;
                    for (std::int64_t from = 0; from < 3; ++from) {
                        const Box& held = tensor.box(from);
                        if (row >= held[0].lo && row < held[0].hi && column >= held[1].lo && column < held[1].hi)
                            expected += tensor.data(from)[(row - held[0].lo) * held[1].size() + column - held[1].lo];
                    }
                    QCOMPARE(got.data(p)[i], expected);
                }
        }
    }

    void readsOnlyFromItsOwnGroup()
    {
        const Mesh mesh = Mesh::parse("a=2,b=2").value();
        const Layout from = Layout::cut(1, 0, { 0 });
        const Sharded before({ 9 }, from, mesh);
        const Sharded after({ 9 }, Layout::replicated(1), mesh);
        for (std::int64_t p = 0; p < 4; ++p) {
            const auto group = mesh.group(p, { 0 });
            std::int64_t covered = 0;
            for (const Transfer& transfer :
                 transfersOf({ CollectiveKind::AllGather, { 0 }, from, after.layout() }, before, after, p, "t")) {
                QVERIFY(contains(group, transfer.from));
                covered += volumeOf(transfer.region);
            }
            QCOMPARE(covered, 9);
        }
        // Over the other axis nobody has the other half; and a slice may not fetch anything at all.
        for (const ReshardStep& step : { ReshardStep { CollectiveKind::AllGather, { 1 }, from, after.layout() },
                                         ReshardStep { CollectiveKind::LocalSlice, { 0 }, from, after.layout() } })
            QCOMPARE(shardboard::test::failureCode([&] { transfersOf(step, before, after, 0, "t"); }), std::string("bad-plan"));
    }

    void refusesSumsThatItsGroupsDoNotSpan()
    {
        Machine machine;
        const Mesh mesh = Mesh::parse("a=2,b=2").value();
        Layout from = Layout::replicated(1);
        from.partial = { { 0 } };
        Sharded tensor({ 4 }, from, mesh);
        tensor.allocate(machine.arena);
        for (const ReshardStep& step : { ReshardStep { CollectiveKind::AllReduce, { 1 }, from, Layout::replicated(1) },
                                         ReshardStep { CollectiveKind::AllReduce, { 0 }, Layout::replicated(1), from } })
            QCOMPARE(shardboard::test::failureCode([&] { executeStep(machine.context, step, tensor, false, "t"); }),
                     std::string("bad-plan"));
    }

    void comparisonSeesOneWrongReplica()
    {
        Machine machine;
        const Mesh mesh = Mesh::parse("a=2,b=2").value();
        const Mesh single;
        Sharded reference({ 6, 5 }, Layout::replicated(2), single);
        reference.allocate(machine.arena);
        for (std::int64_t i = 0; i < 30; ++i)
            reference.data(0)[i] = 1 + static_cast<float>(i);
        Sharded y({ 6, 5 }, Layout::cut(2, 1, { 1 }), mesh);
        y.allocate(machine.arena);
        for (std::int64_t p = 0; p < 4; ++p)
            copyRegion(y.box(p), reference.box(0), reference.data(0), y.box(p), y.data(p));
        QCOMPARE(relativeError(machine.context, y, reference), 0.0);
        double norm = 0;
        for (std::int64_t i = 0; i < y.elements(2); ++i)
            norm += double { y.data(2)[i] } * double { y.data(2)[i] };
        y.data(2)[3] += 0.5f;
        const double error = relativeError(machine.context, y, reference);
        QVERIFY2(std::fabs(error - 0.5 / std::sqrt(norm)) < 0.1 * error, std::to_string(error).c_str());
        y.data(2)[3] = std::nanf("");
        QVERIFY(std::isinf(relativeError(machine.context, y, reference)));
    }

    void arenaReusesMemoryAndKeepsItsLimit()
    {
        Arena arena(1000 * 256);
        {
            const Block a = arena.allocate(300 * 256);
            Block b = arena.allocate(300 * 256);
            const Block c = arena.allocate(300 * 256);
            b.release();
            const Block d = arena.allocate(100 * 256);
            const Block e = arena.allocate(200 * 256);
            QCOMPARE(arena.highWater(), 900 * 256);
            QVERIFY(d.floats() > a.floats() && e.floats() < c.floats());
            try {
                const Block tooMuch = arena.allocate(101 * 256);
                QFAIL("more than the capacity was handed out");
            } catch (const Failure& failure) {
                QCOMPARE(failure.code, "memory");
            }
        }
        const Block all = arena.allocate(1000 * 256);
        QCOMPARE(arena.highWater(), 1000 * 256);
    }
};

SHARDBOARD_TEST(TestCollective)
#include "tst_collective.moc"

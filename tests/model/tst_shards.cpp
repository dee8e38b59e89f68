// SPDX-License-Identifier: Apache-2.0
// Which index ranges each device holds. Expected sizes of indivisible dims are those of JAX/XLA, torch.chunk and MAX.
#include "model/core/shards.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <map>
#include <random>

using namespace shardboard;

namespace {
std::vector<std::int64_t> sizes(std::int64_t size, const char* mesh, const char* spec, CutRule rule)
{
    const Mesh m = Mesh::parse(mesh).value();
    const Layout layout = parseSpec(spec, m, 1).value();
    const auto cut = cutDim(size, layout.dims[0], m, rule, 1, "dim 0");
    std::vector<std::int64_t> out;
    if (cut.ok())
        for (std::int64_t i = 0; i < cut.value().count(); ++i)
            out.push_back(cut.value().partSize(i));
    return out;
}
using Sizes = std::vector<std::int64_t>;
}

class TestShards : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cutRules()
    {
        QCOMPARE(sizes(10, "x=4", "P('x')", CutRule::Strict), Sizes());
        QCOMPARE(sizes(10, "x=4", "P('x')", CutRule::CeilFlat), (Sizes { 3, 3, 3, 1 }));
        QCOMPARE(sizes(10, "x=4", "P('x')", CutRule::Balanced), (Sizes { 3, 3, 2, 2 }));
        QCOMPARE(sizes(5, "x=4", "P('x')", CutRule::CeilNested), (Sizes { 2, 2, 1, 0 }));
        QCOMPARE(sizes(5, "x=2,y=2", "P(('x','y'))", CutRule::CeilFlat), (Sizes { 2, 2, 1, 0 }));
        QCOMPARE(sizes(5, "x=2,y=2", "P(('x','y'))", CutRule::CeilNested), (Sizes { 2, 1, 1, 1 }));
        QCOMPARE(sizes(10, "x=2,y=3", "P(('x','y'))", CutRule::CeilNested), (Sizes { 2, 2, 1, 2, 2, 1 }));
        QCOMPARE(sizes(10, "x=2,y=3", "P(('x','y'))", CutRule::CeilFlat), (Sizes { 2, 2, 2, 2, 2, 0 }));
        QCOMPARE(sizes(10, "x=2,y=3", "P(('x','y'))", CutRule::Balanced), (Sizes { 2, 2, 2, 2, 1, 1 }));
        QCOMPARE(sizes(28, "x=8", "P('x')", CutRule::Balanced), (Sizes { 4, 4, 4, 4, 3, 3, 3, 3 }));
    }

    void grainsStayWhole()
    {
        const Mesh mesh = Mesh::parse("x=4").value();
        const auto cut = cutDim(30 * 64, { AxisRef { 0 } }, mesh, CutRule::GrainBalanced, 64, "dim 0").value();
        for (std::int64_t i = 0; i < cut.count(); ++i)
            QCOMPARE(cut.part(i).front().lo % 64, 0);
        QCOMPARE(cut.partSize(0), 8 * 64);
        QCOMPARE(cut.part(3).front(), (Range { 23 * 64, 30 * 64 }));
    }

    void strictNamesTheDim()
    {
        const Mesh mesh = Mesh::parse("model=8").value();
        const auto shards = shardsOf({ 28, 4 }, Layout::cut(2, 0, { 0 }), mesh, CutRule::Strict, "q_proj");
        QVERIFY(!shards.ok());
        QVERIFY(QString::fromStdString(shards.error().text()).startsWith("q_proj dim 0: 28 does not divide by 8; "));
    }

    /// The best single test of an exporter: rows over (model, data) are not rows over (data, model).
    void axisOrderOnADim()
    {
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const Layout layout = parseSpec("P(('model', 'data'))", mesh, 2).value();
        const ShardMap shards = shardsOf({ 16, 8 }, layout, mesh, CutRule::Strict, "W").value();
        const std::int64_t rows[] = { 0, 4, 8, 12, 2, 6, 10, 14 };
        for (std::int64_t device = 0; device < 8; ++device) {
            const Shard shard = shards.shardAt(device);
            QCOMPARE(shard.pieces.size(), std::size_t(1));
            QCOMPARE(shard.pieces[0][0], (Range { rows[device], rows[device] + 2 }));
            QCOMPARE(shard.pieces[0][1], (Range { 0, 8 }));
        }
        QCOMPARE(shards.replication(), 1);
    }

    void fusedDimJoinsPieces()
    {
        const Mesh mesh = Mesh::parse("x=2").value();
        const DimCut cut({ AxisRef { 0 } }, mesh, CutRule::Balanced, { { 0, 4 }, { 4, 4 } });
        const DimCut whole({}, mesh, CutRule::Balanced, { { 0, 3 } });
        const ShardMap shards(mesh, { 8, 3 }, { cut, whole });
        QCOMPARE(shards.joinDim(), 0);
        QCOMPARE(shards.shardAt(1).shape(), (Shape { 4, 3 }));
        QCOMPARE(shards.shardAt(1).pieces[1][0], (Range { 6, 8 }));
        QCOMPARE(shards.maxElements(), 12);
    }

    /// Conservation: every element lies on exactly `replication` devices, whatever shape, mesh, layout and rule.
    void shardsCoverTheTensorExactly()
    {
        std::mt19937 random(11);
        const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        for (int trial = 0; trial < 3000; ++trial) {
            const Mesh mesh = Mesh::make({ { "a", 1 + pick(3) }, { "b", 1 + pick(4) }, { "c", 1 + pick(2) } }).value();
            const Shape shape { 1 + pick(9), 1 + pick(7), 1 + pick(3) };
            Layout layout = Layout::replicated(3);
            std::vector<int> axes { 0, 1, 2 };
            std::ranges::shuffle(axes, random);
            for (const int axis : axes)
                if (const int dim = pick(4); dim < 3)
                    layout.dims[static_cast<std::size_t>(dim)].push_back(AxisRef { axis });
            const auto rule = static_cast<CutRule>(1 + pick(4));
            const ShardMap shards = shardsOf(shape, layout, mesh, rule, "t").value();
            std::vector<std::int64_t> count(static_cast<std::size_t>(elementCount(shape).value()));
            for (std::int64_t device = 0; device < mesh.deviceCount(); ++device)
                for (const Piece& piece : shards.shardAt(device).pieces)
                    for (std::int64_t i = piece[0].lo; i < piece[0].hi; ++i)
                        for (std::int64_t j = piece[1].lo; j < piece[1].hi; ++j)
                            for (std::int64_t k = piece[2].lo; k < piece[2].hi; ++k)
                                ++count[static_cast<std::size_t>((i * shape[1] + j) * shape[2] + k)];
            for (const std::int64_t copies : count)
                QCOMPARE(copies, shards.replication());
        }
    }
};

SHARDBOARD_TEST(TestShards)
#include "tst_shards.moc"

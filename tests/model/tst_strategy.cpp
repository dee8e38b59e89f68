// SPDX-License-Identifier: Apache-2.0
#include "model/core/strategy.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <nlohmann/json.hpp>

#include <QtTest>

using namespace shardboard;

namespace {

using nlohmann::json;

Strategy named(StrategyKind kind, int dim = 0, std::int64_t heads = 0, std::int64_t headDim = 0)
{
    Strategy strategy;
    strategy.kind = kind;
    strategy.axes = { "d" };
    strategy.dim = dim;
    strategy.numHeads = heads;
    strategy.headDim = headDim;
    return strategy;
}

Result<ShardMap> over(std::int64_t devices, const Strategy& strategy, const Shape& shape)
{
    return shardsOf(strategy, shape, Mesh::make({ { "d", devices } }).value(), strategy.defaultCut(), "w");
}

/// `[0:2 | 4:6]`: what a device holds of one dim, in order.
std::string held(const ShardMap& shards, std::int64_t device, std::size_t dim)
{
    std::string out;
    for (const Piece& piece : shards.shardAt(device).pieces)
        out += (out.empty() ? "" : " | ") + std::to_string(piece[dim].lo) + ":" + std::to_string(piece[dim].hi);
    return out;
}

/// A strategy as the published vectors write it.
Strategy strategyOf(const json& vector)
{
    const json& params = vector["params"];
    Strategy strategy = named(strategyKindFromName(vector["strategy"].get<std::string>()).value());
    strategy.dim = params.value("axis", defaultDim(strategy.kind));
    strategy.numHeads = params.value("num_heads", 0);
    strategy.headDim = params.value("head_dim", 0);
    for (const json& part : params.value("segments", json::array()))
        strategy.segments.push_back({ part.value("size", 0), part.value("num_heads", 0), part.value("head_dim", 0) });
    return strategy;
}

} // namespace

class TestStrategy : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void kindsCutTheirDim_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("dim");
        QTest::addColumn<QString>("spec");
        QTest::newRow("replicate") << int(StrategyKind::Replicate) << 0 << "P()";
        QTest::newRow("rowwise is dim 0") << int(StrategyKind::Rowwise) << 0 << "P('model')";
        QTest::newRow("columnwise is dim 1") << int(StrategyKind::Columnwise) << 0 << "P(None, 'model')";
        QTest::newRow("axiswise from the end") << int(StrategyKind::Axiswise) << -1 << "P(None, None, 'model')";
    }
    void kindsCutTheirDim()
    {
        QFETCH(int, kind);
        QFETCH(int, dim);
        QFETCH(QString, spec);
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        Strategy strategy;
        strategy.kind = static_cast<StrategyKind>(kind);
        strategy.dim = dim;
        strategy.axes = { "model" };
        const auto layout = sure(layoutOf(strategy, mesh, 3, "w"));
        QCOMPARE(QString::fromStdString(specText(layout, mesh)), spec);
    }

    void severalAxesMajorFirst()
    {
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const Strategy strategy { StrategyKind::Rowwise, { "model", "data" }, 0, {} };
        QCOMPARE(specText(layoutOf(strategy, mesh, 2, "w").value(), mesh), std::string("P(('model', 'data'))"));
        QCOMPARE(strategy.text(), std::string("rowwise (dim 0) over model, data"));
    }

    void refusals()
    {
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const auto text = [&](Strategy s, std::size_t rank) { return layoutOf(s, mesh, rank, "w").error().text(); };
        QCOMPARE(
            text({ StrategyKind::Columnwise, { "model" }, 0, {} }, 1),
            std::string("w: columnwise cuts dim 1, but the tensor has 1 dim; choose a strategy that cuts a dim of the tensor"));
        QCOMPARE(text({ StrategyKind::Rowwise, { "tp" }, 0, {} }, 2),
                 std::string("w: the mesh has no axis 'tp'; its axes are data=2,model=4"));
        QCOMPARE(
            text({ StrategyKind::Axiswise, { "model" }, -3, {} }, 2),
            std::string("w: axiswise cuts dim -3, but the tensor has 2 dims; choose a strategy that cuts a dim of the tensor"));
        QCOMPARE(text({ StrategyKind::Rowwise, { "model", "model" }, 0, {} }, 2),
                 std::string("w: mesh axis 'model' is used twice; an axis can cut one dim of a tensor once"));
    }

    /// 151674 rows over 4 devices, as MAX cuts them.
    void strategiesCutBalanced()
    {
        const Mesh mesh = Mesh::parse("tp=4").value();
        const Strategy strategy { StrategyKind::Rowwise, { "tp" }, 0, {} };
        const ShardMap shards =
            shardsOf({ 151674, 4096 }, layoutOf(strategy, mesh, 2, "w").value(), mesh, strategy.defaultCut(), "w").value();
        const std::int64_t rows[] = { 37919, 37919, 37918, 37918 };
        for (std::int64_t device = 0; device < 4; ++device)
            QCOMPARE(shards.shardAt(device).shape()[0], rows[device]);
    }

    void fusedDimsAreCutPartByPart()
    {
        const auto qkv = over(2, named(StrategyKind::StackedQkv, 0, 3, 2), { 18, 5 }).value();
        QCOMPARE(held(qkv, 0, 0), std::string("0:4 | 6:10 | 12:16")); // two heads of Q, of K and of V
        QCOMPARE(held(qkv, 1, 0), std::string("4:6 | 10:12 | 16:18"));
        QCOMPARE(qkv.shardAt(1).shape(), (Shape { 6, 5 }));
        QCOMPARE(qkv.joinDim(), 0);
        const auto gateUp = over(4, named(StrategyKind::GateUp, -1), { 3, 12 }).value();
        QCOMPARE(held(gateUp, 1, 1), std::string("2:4 | 8:10"));
        QCOMPARE(held(gateUp, 3, 1), std::string("5:6 | 11:12"));
        QCOMPARE(gateUp.joinDim(), 1);
        Strategy gqa = named(StrategyKind::Segmented);
        gqa.segments = { { 0, 4, 2 }, { 0, 2, 2 }, { 3, 0, 0 } };
        const auto segmented = over(2, gqa, { 15 }).value();
        QCOMPARE(held(segmented, 0, 0), std::string("0:4 | 8:10 | 12:14"));
        QCOMPARE(held(segmented, 1, 0), std::string("4:8 | 10:12 | 14:15"));
    }

    /// Three heads of eight codes: whole, two codes a byte, four codes in three bytes.
    void headsStayWholeInPackedColumns()
    {
        const Strategy heads = named(StrategyKind::HeadAwareColumnwise, 0, 3, 8);
        QCOMPARE(held(over(2, heads, { 2, 24 }).value(), 0, 1), std::string("0:16"));
        QCOMPARE(held(over(2, heads, { 2, 12 }).value(), 0, 1), std::string("0:8"));
        QCOMPARE(held(over(2, heads, { 2, 18 }).value(), 0, 1), std::string("0:12"));
        QCOMPARE(held(over(4, heads, { 2, 24 }).value(), 3, 1), std::string("24:24")); // fewer heads than devices
    }

    void fusedRefusals()
    {
        const auto text = [&](const Strategy& s, const Shape& shape) {
            const auto shards = over(2, s, shape);
            return shards.ok() ? std::string() : shards.error().text();
        };
        QCOMPARE(
            text(named(StrategyKind::StackedQkv, 0, 4, 8), { 100, 32 }),
            std::string("w: dim 0 of size 100 is not three equal parts Q, K and V; use segmented where K and V have fewer heads"));
        QCOMPARE(
            text(named(StrategyKind::GateUp, 2), { 4, 6, 7 }),
            std::string(
                "w: dim 2 of size 7 is odd and so not the halves gate and up; choose the dim along which gate and up are joined"));
        QVERIFY(text(named(StrategyKind::StackedQkv, 0, 4, 16), { 96, 32 }).find("a third of dim 0 is 32, but 4 heads of 16 are 64")
                != std::string::npos);
        QVERIFY(text(named(StrategyKind::HeadAwareColumnwise, 0, 3, 8), { 2, 25 }).find("MAX itself does not check this")
                != std::string::npos);
        QVERIFY(text(named(StrategyKind::GateUp, 2), { 16, 20 }).find("cuts dim 2, but the tensor has 2 dims")
                != std::string::npos);
        QVERIFY(text(named(StrategyKind::TensorParallel), { 8, 8 }).find("is a strategy of modules") != std::string::npos);
        Strategy short1 = named(StrategyKind::Segmented);
        short1.segments = { { 500, 0, 0 } };
        QVERIFY(text(short1, { 1000, 64 }).find("the segments add up to 500, but dim 0 has 1000") != std::string::npos);
    }

    void publishedVectors()
    {
        const QString root = qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"));
        QFile file(root + "/data/max/strategy.json");
        if (!file.open(QIODevice::ReadOnly))
            QSKIP("the vectors of MAX's strategies are not here (SHARDBOARD_SHARED)");
        const json document = json::parse(file.readAll().toStdString());
        QVERIFY(document["vectors"].size() > 50);
        for (const json& vector : document["vectors"]) {
            const std::string id = vector["id"];
            const auto shards = over(vector["num_devices"], strategyOf(vector), vector["shape"].get<Shape>());
            const json& expect = vector["expect"];
            QVERIFY2(shards.ok() != expect.contains("error"), id.c_str());
            if (!shards.ok())
                continue;
            const json& devices = expect["devices"];
            QCOMPARE(shards.value().mesh().deviceCount(), std::int64_t(devices.size()));
            for (std::size_t device = 0; device < devices.size(); ++device) {
                const Shard shard = shards.value().shardAt(static_cast<std::int64_t>(device));
                json pieces = json::array();
                for (const Piece& piece : shard.pieces) {
                    pieces.push_back(json::array());
                    for (const Range& range : piece)
                        pieces.back().push_back({ range.lo, range.hi });
                }
                QVERIFY2(pieces == devices[device]["pieces"], id.c_str());
                QVERIFY2(json(shard.shape()) == devices[device]["shape"], id.c_str());
                if (shard.pieces.size() > 1)
                    QVERIFY2(json(shard.joinDim) == expect["concat_axis"], id.c_str());
            }
        }
    }
};

SHARDBOARD_TEST(TestStrategy)
#include "tst_strategy.moc"

// SPDX-License-Identifier: Apache-2.0
#include "model/core/strategy.h"

#include <QtTest>

using namespace shardboard;

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
        const auto layout = layoutOf(strategy, mesh, 3, "w");
        QVERIFY(layout.ok());
        QCOMPARE(QString::fromStdString(specText(layout.value(), mesh)), spec);
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
        QCOMPARE(text({ StrategyKind::Columnwise, { "model" }, 0, {} }, 1),
                 std::string("w: columnwise cuts dim 1, but the tensor has 1 dim; choose a strategy that cuts a dim of the tensor"));
        QCOMPARE(text({ StrategyKind::Rowwise, { "tp" }, 0, {} }, 2),
                 std::string("w: the mesh has no axis 'tp'; its axes are data=2,model=4"));
        QCOMPARE(text({ StrategyKind::Axiswise, { "model" }, -3, {} }, 2),
                 std::string("w: axiswise cuts dim -3, but the tensor has 2 dims; choose a strategy that cuts a dim of the tensor"));
        QCOMPARE(text({ StrategyKind::Rowwise, { "model", "model" }, 0, {} }, 2),
                 std::string("w: mesh axis 'model' is used twice; an axis can cut one dim of a tensor once"));
    }

    /// 151674 rows over 4 devices, as MAX cuts them.
    void strategiesCutBalanced()
    {
        const Mesh mesh = Mesh::parse("tp=4").value();
        const Strategy strategy { StrategyKind::Rowwise, { "tp" }, 0, {} };
        const ShardMap shards
            = shardsOf({ 151674, 4096 }, layoutOf(strategy, mesh, 2, "w").value(), mesh, strategy.defaultCut(), "w").value();
        const std::int64_t rows[] = { 37919, 37919, 37918, 37918 };
        for (std::int64_t device = 0; device < 4; ++device)
            QCOMPARE(shards.shardAt(device).shape()[0], rows[device]);
    }
};

QTEST_APPLESS_MAIN(TestStrategy)
#include "tst_strategy.moc"

// SPDX-License-Identifier: Apache-2.0
// Weights that no graph takes are grouped by their path, and a name that is too long keeps its last part.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"
#include "widgets/look/elidedpath.h"
#include "widgets/weights/weightmodel.h"

#include <QAbstractItemModelTester>
#include <QFontMetrics>
#include <QTest>

using namespace shardboard;

class TestWeightPaths : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void looseWeightsAreGroupedByPath();
    void lastPartStays();
};

void TestWeightPaths::looseWeightsAreGroupedByPath()
{
    Design design = looseDesign("model=2");
    design.model.looseWeights.clear();
    for (const char* name :
         { "embed.weight", "encoder.layers.0.attn.q.weight", "encoder.layers.0.mlp.up.weight", "encoder.layers.1.attn.q.weight",
           "encoder.layers.1.mlp.up.weight", "encoder.norm.weight", "head.proj.weight", "head.bias.weight" })
        design.model.looseWeights.push_back(looseWeight(name, { 16, 8 }));
    Document document;
    QVERIFY(document.setDesign(design).ok());
    WeightModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setEvaluation(document.evaluation(), Qt::white, Qt::black, Notation::Jax);
    QStringList tree;
    for (int row = 0; row < model.rowCount(); ++row) {
        const QModelIndex top = model.index(row, 0);
        QStringList children;
        for (int child = 0; child < model.rowCount(top); ++child)
            children << model.index(child, 0, top).data().toString();
        tree << (children.isEmpty() ? top.data().toString()
                                    : top.data().toString() + QStringLiteral(": ") + children.join(QStringLiteral(", ")));
    }
    QCOMPARE(tree,
             (QStringList { QStringLiteral("embed"), QStringLiteral("encoder.layers.0: attn.q, mlp.up"),
                            QStringLiteral("encoder.layers.1: attn.q, mlp.up"), QStringLiteral("encoder.norm"),
                            QStringLiteral("head: proj, bias") }));
    const auto& weights = document.evaluation()->weights; // each is found where it stands now
    for (int weight = 0; weight < static_cast<int>(weights.size()); ++weight)
        QCOMPARE(model.weightAt(model.indexOfWeight(weight)), weight);
    const QModelIndex group = model.index(1, 0);
    QCOMPARE(group.data(WeightModel::BytesRole).toLongLong(),
             2 * bytesOf(weights[static_cast<std::size_t>(model.weightAt(model.index(0, 0, group)))].spec));
}

void TestWeightPaths::lastPartStays()
{
    const QFontMetrics metrics { QFont() };
    const QString name = QStringLiteral("vision_tower.encoder.blocks.17.attention.out_proj");
    QCOMPARE(elidedPath(name, metrics, 10000), name);
    for (const int room : { 90, 120, 180, 240 }) {
        const QString shown = elidedPath(name, metrics, room);
        QVERIFY2(metrics.horizontalAdvance(shown) <= room, qPrintable(shown));
        QVERIFY2(shown.endsWith(QStringLiteral("out_proj")), qPrintable(shown));
    }
    QVERIFY(metrics.horizontalAdvance(elidedPath(name, metrics, 30)) <= 30);
}

SHARDBOARD_TEST(TestWeightPaths)

#include "tst_weightpaths.moc"

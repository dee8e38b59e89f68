// SPDX-License-Identifier: Apache-2.0
// Weights that no graph takes are grouped by their path, many of them in time, and a name that is too long keeps its last part.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"
#include "widgets/look/elidedpath.h"
#include "widgets/weights/weightmodel.h"

#include <QAbstractItemModelTester>
#include <QElapsedTimer>
#include <QFontMetrics>
#include <QSignalSpy>
#include <QTest>

#include <algorithm>
#include <limits>
#include <string>

using namespace shardboard;

namespace {

/// `groups` paths of five weights each; of some the first dim is cut.
Design manyWeights(int groups, const char* cut = nullptr)
{
    Design design = looseDesign("model=2");
    design.model.looseWeights.clear();
    for (int i = 0; i < 5 * groups; ++i)
        design.model.looseWeights.push_back(
            looseWeight(("layer" + std::to_string(i / 5) + ".part" + std::to_string(i % 5) + ".weight").c_str(), { 16, 8 }));
    if (cut != nullptr)
        design.strategies.push_back({ cut, { .kind = StrategyKind::Spec, .spec = "P('model')" }, std::nullopt });
    return design;
}

} // namespace

class TestWeightPaths : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void looseWeightsAreGroupedByPath();
    void manyChangesAreOneLayout();
    void manyGroupsAreFoundInTime();
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

/// Rows that stay and say something else are told one by one, and many of them at once; a filter sees both.
void TestWeightPaths::manyChangesAreOneLayout()
{
    Document document;
    QVERIFY(document.setDesign(manyWeights(200)).ok());
    WeightModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    const auto show = [&] { model.setEvaluation(document.evaluation(), Qt::white, Qt::black, Notation::Jax); };
    show();
    WeightFilter filter;
    filter.setSourceModel(&model);
    filter.setText(QStringLiteral("dim 0 = model"));
    const auto shown = [&] {
        int count = 0;
        for (int row = 0; row < filter.rowCount(); ++row)
            count += filter.rowCount(filter.index(row, 0));
        return count;
    };
    QCOMPARE(shown(), 0);
    const QPersistentModelIndex group = model.index(7, 0);
    QSignalSpy rows(&model, &QAbstractItemModel::dataChanged), all(&model, &QAbstractItemModel::layoutChanged),
        reset(&model, &QAbstractItemModel::modelReset);
    QVERIFY(document.setDesign(manyWeights(200, "layer7.part1.weight")).ok());
    show();
    QVERIFY(rows.count() >= 1 && rows.count() <= 2); // its group's memory is another one, too
    QCOMPARE(all.count(), 0);
    QCOMPARE(shown(), 1);
    rows.clear();
    QVERIFY(document.setDesign(manyWeights(200, "*")).ok());
    show();
    QCOMPARE(rows.count(), 0);
    QCOMPARE(all.count(), 1);
    QCOMPARE(shown(), 1000);
    QCOMPARE(reset.count(), 0);
    QVERIFY(group.isValid() && group.row() == 7 && model.rowCount(group) == 5);
}

/// Eight times as many groups take about eight times as long, and not sixty-four.
void TestWeightPaths::manyGroupsAreFoundInTime()
{
    const auto seconds = [](int groups) {
        Document document;
        if (!document.setDesign(manyWeights(groups)).ok())
            return 0.0;
        qint64 best = std::numeric_limits<qint64>::max();
        for (int i = 0; i < 3; ++i) {
            WeightModel model;
            QElapsedTimer timer;
            timer.start();
            model.setEvaluation(document.evaluation(), Qt::white, Qt::black, Notation::Jax);
            best = std::min(best, timer.nsecsElapsed());
        }
        return static_cast<double>(best);
    };
    const double few = seconds(2'000), many = seconds(16'000);
    QVERIFY2(few > 0 && many < 24 * few, qPrintable(QStringLiteral("%1 and %2 ns").arg(few).arg(many)));
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

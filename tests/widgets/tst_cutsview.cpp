// SPDX-License-Identifier: Apache-2.0
// The comparison of the cut rules: the numbers that torch, XLA and MAX are known to give, and the edit from it.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/controls/axispicker.h"
#include "widgets/controls/numberedit.h"
#include "widgets/cuts/cutsmodel.h"
#include "widgets/cuts/cutsview.h"
#include "widgets/look/devicecolors.h"
#include "widgets/look/theme.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QLabel>
#include <QTableView>
#include <QUndoStack>

using namespace shardboard;

namespace {

enum Rule { Strict, CeilFlat, CeilNested, Balanced, GrainBalanced };

/// One weight with a dim of this size, cut on dim 0 over these axes.
Design cutDesign(const char* mesh, std::int64_t size, std::vector<std::string> axes)
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model.name = "one";
    design.model.notUnderstood = "only its weight is of interest";
    design.model.looseWeights = { looseWeight("w", { size, 6 }) };
    Strategy strategy;
    strategy.kind = StrategyKind::Rowwise;
    strategy.axes = std::move(axes);
    design.strategies = { { "w", strategy, std::nullopt } };
    return design;
}

struct ShownCuts {
    Document document;
    std::unique_ptr<CutsView> view;
    QTableView* table = nullptr;

    bool open(const Design& design, int weight = 0, const QSize& size = { 900, 240 })
    {
        if (!document.setDesign(design).ok())
            return false;
        document.selection()->setWeight(weight);
        view = shownView<CutsView>(document, size);
        table = view ? view->findChild<QTableView*>(QStringLiteral("cutsTable")) : nullptr;
        return table != nullptr;
    }
    QString cell(int rule, int column) const { return table->model()->index(rule, column).data().toString(); }
    QString sizes(int rule) const { return cell(rule, CutsModel::SizesColumn); }
};

} // namespace

class TestCutsView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void knownNumbers_data();
    void knownNumbers();
    void headsStayTogether();
    void othersAreNamedByDevice();
    void barsHaveTheDevicesColours();
    void ruleIsUsedInOneStep();
    void otherDimsAndAxesAreCompared();
    void ruleOfAnotherCutIsNotUsed();
    void livesWithoutAWeight();
    void manyPartsAreQuick();
    void allRulesAreSeenInASmallWindow();
};

void TestCutsView::initTestCase() { applyTheme(*qApp, Theme::light()); }

void TestCutsView::knownNumbers_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<qlonglong>("size");
    QTest::addColumn<QString>("flat");
    QTest::addColumn<QString>("nested");
    QTest::addColumn<QString>("balanced");
    QTest::addColumn<QString>("padding"); // of flat and balanced: parts x largest - size
    const auto row = [](const char* name, const char* mesh, qlonglong size, const char* flat, const char* nested,
                        const char* balanced, const char* padding) {
        QTest::newRow(name) << QString::fromLatin1(mesh) << size << QString::fromUtf8(flat) << QString::fromUtf8(nested)
                            << QString::fromUtf8(balanced) << QString::fromLatin1(padding);
    };
    row("10 over 4", "x=4", 10, "3 × 3, 1", "3 × 3, 1", "3 × 2, 2 × 2", "2 2");
    row("5 over 4", "x=4", 5, "2 × 2, 1, 0", "2 × 2, 1, 0", "2, 1 × 3", "3 3");
    row("5 over 2x2", "x=2,y=2", 5, "2 × 2, 1, 0", "2, 1 × 3", "2, 1 × 3", "3 3");
    row("10 over 2x3", "x=2,y=3", 10, "2 × 5, 0", "2 × 2, 1, 2 × 2, 1", "2 × 4, 1 × 2", "2 2");
    row("32000 over 12", "x=12", 32000, "2667 × 11, 2663", "2667 × 11, 2663", "2667 × 8, 2666 × 4", "4 4");
}

void TestCutsView::knownNumbers()
{
    QFETCH(QString, mesh);
    QFETCH(qlonglong, size);
    QFETCH(QString, flat);
    QFETCH(QString, nested);
    QFETCH(QString, balanced);
    QFETCH(QString, padding);
    const std::vector<std::string> axes =
        mesh.contains(QLatin1Char('y')) ? std::vector<std::string> { "x", "y" } : std::vector<std::string> { "x" };
    ShownCuts bench;
    QVERIFY(bench.open(cutDesign(mesh.toLatin1().constData(), size, axes)));
    const QAbstractItemModelTester tester(bench.table->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
    QCOMPARE(bench.sizes(CeilFlat), flat);
    QCOMPARE(bench.sizes(CeilNested), nested);
    QCOMPARE(bench.sizes(Balanced), balanced);
    QCOMPARE(bench.cell(CeilFlat, CutsModel::PaddingColumn) + QLatin1Char(' ') + bench.cell(Balanced, CutsModel::PaddingColumn),
             padding);
    // Strict refuses, with the reason in the row; without a unit so does grain-balanced.
    for (const int rule : { Strict, GrainBalanced }) {
        QVERIFY(bench.table->model()->index(rule, 0).data(CutsModel::kRefusedRole).toBool());
        QCOMPARE(bench.table->columnSpan(rule, CutsModel::BarColumn), CutsModel::ColumnCount - CutsModel::BarColumn);
    }
    QVERIFY2(bench.cell(Strict, CutsModel::BarColumn).contains(QString::number(size)),
             qPrintable(bench.cell(Strict, CutsModel::BarColumn)));
    QVERIFY2(bench.cell(GrainBalanced, CutsModel::BarColumn).contains(QStringLiteral("grain")),
             qPrintable(bench.cell(GrainBalanced, CutsModel::BarColumn)));
    QVERIFY(bench.table->model()->index(Balanced, 0).data(CutsModel::kCurrentRole).toBool());
}

void TestCutsView::headsStayTogether()
{
    ShownCuts bench;
    QVERIFY(bench.open(cutDesign("x=8", 28 * 128, { "x" })));
    auto* unit = bench.view->findChild<NumberEdit*>(QStringLiteral("cutsGrain"));
    QVERIFY(!unit->property("refused").toBool()); // none is fine
    unit->setFocus();
    QTest::keyClicks(unit, QStringLiteral("128"));
    QCOMPARE(bench.sizes(GrainBalanced), QStringLiteral("512 × 4, 384 × 4")); // 4 4 4 4 3 3 3 3 heads
    QCOMPARE(bench.sizes(Strict), QStringLiteral("448 × 8")); // 3584 divides, its heads do not
    QTest::keyClicks(unit, QStringLiteral("x"));
    QVERIFY(unit->property("refused").toBool());
    QVERIFY(bench.table->model()->index(GrainBalanced, 0).data(CutsModel::kRefusedRole).toBool());
}

void TestCutsView::othersAreNamedByDevice()
{
    ShownCuts bench;
    QVERIFY(bench.open(cutDesign("d=2,x=4", 10, { "x" })));
    // ceil-flat [0,3) [3,6) [6,9) [9,10) against balanced [0,3) [3,6) [6,8) [8,10): the third and fourth part of each
    // copy.
    QCOMPARE(bench.cell(CeilFlat, CutsModel::DiffersColumn), QStringLiteral("2–3, 6–7"));
    QCOMPARE(bench.cell(Balanced, CutsModel::DiffersColumn), QStringLiteral("none"));
}

void TestCutsView::barsHaveTheDevicesColours()
{
    ShownCuts bench;
    QVERIFY(bench.open(cutDesign("x=4", 10, { "x" })));
    const QModelIndex index = bench.table->model()->index(Balanced, CutsModel::BarColumn);
    const QRect cell = bench.table->visualRect(index);
    QVERIFY(cell.width() > 100);
    const QImage image = bench.table->viewport()->grab(cell).toImage();
    // 3 3 2 2 of 10: the middles of the parts lie at 0.15, 0.45, 0.7, 0.9 of the bar; above the numbers.
    const double places[] = { 0.05, 0.35, 0.65, 0.85 };
    for (int part = 0; part < 4; ++part) {
        const int x = 8 + static_cast<int>(places[part] * (cell.width() - 16));
        QCOMPARE(image.pixelColor(x * image.width() / cell.width(), 6 * image.height() / cell.height()), partColor(part).fill);
    }
}

void TestCutsView::ruleIsUsedInOneStep()
{
    ShownCuts bench;
    const Design design = cutDesign("x=4", 10, { "x" });
    QVERIFY(bench.open(design));
    bench.table->setFocus();
    bench.table->setCurrentIndex(bench.table->model()->index(CeilFlat, 0));
    QTest::keyClick(bench.table, Qt::Key_Return);
    QCOMPARE(bench.document.undoStack()->count(), 1);
    QVERIFY(weightAt(bench.document, 0).cut == CutRule::CeilFlat);
    QCOMPARE(weightAt(bench.document, 0).shards.shardAt(3).shape(), (Shape { 1, 6 }));
    QVERIFY(bench.table->model()->index(CeilFlat, 0).data(CutsModel::kCurrentRole).toBool());
    bench.view->useRule(Strict);
    auto* message = bench.view->findChild<QLabel*>(QStringLiteral("cutsMessage"));
    QVERIFY(message->isVisible());
    QVERIFY2(message->text().contains(QStringLiteral("divi")), qPrintable(message->text()));
    QCOMPARE(bench.document.undoStack()->count(), 1);
    bench.document.undoStack()->undo();
    QVERIFY(bench.document.design() == design);
}

void TestCutsView::otherDimsAndAxesAreCompared()
{
    ShownCuts bench;
    QVERIFY(bench.open(cutDesign("x=4,y=5", 10, { "x" })));
    auto* dim = bench.view->findChild<ChoiceBox*>(QStringLiteral("cutsDim"));
    QCOMPARE(dim->currentText(), QStringLiteral("dim 0 · 10"));
    chooseByKeys(dim, 1);
    QCOMPARE(bench.sizes(CeilFlat), QStringLiteral("2 × 3, 0")); // 6 over 4
    QVERIFY(!bench.table->model()->index(Balanced, 0).data(CutsModel::kCurrentRole).toBool());
    chooseByKeys(dim, 0);
    auto* axes = bench.view->findChild<AxisPicker*>(QStringLiteral("cutsAxes"));
    QTest::keyClick(axes->chips().front(), Qt::Key_Delete);
    QCOMPARE(bench.sizes(Balanced), QStringLiteral("10"));
    axes->setAxes({ "y" });
    Q_EMIT axes->axesChanged();
    QCOMPARE(bench.sizes(Strict), QStringLiteral("2 × 5"));
}

void TestCutsView::ruleOfAnotherCutIsNotUsed()
{
    ShownCuts bench;
    QVERIFY(bench.open(cutDesign("x=4", 10, { "x" })));
    chooseByKeys(bench.view->findChild<ChoiceBox*>(QStringLiteral("cutsDim")), 1);
    bench.view->useRule(CeilFlat);
    QCOMPARE(bench.document.undoStack()->count(), 0);
    QVERIFY(bench.view->findChild<QLabel*>(QStringLiteral("cutsMessage"))->isVisible());
}

void TestCutsView::livesWithoutAWeight()
{
    Document document;
    const auto view = shownView<CutsView>(document, { 700, 200 });
    view->useRule(0);
    QVERIFY(view->findChild<QLabel*>(QStringLiteral("cutsEmpty"))->isVisible());
    QVERIFY(document.setDesign(looseDesign("model=4")).ok());
    view->useRule(0);
    QVERIFY(view->findChild<QLabel*>(QStringLiteral("cutsEmpty"))->isVisible());
    document.selection()->setWeight(0);
    QVERIFY(!view->findChild<QLabel*>(QStringLiteral("cutsEmpty"))->isVisible());
}

void TestCutsView::manyPartsAreQuick()
{
    ShownCuts bench;
    QVERIFY(bench.open(cutDesign("x=131072", 1000000, { "x" })));
    QCOMPARE(bench.sizes(Balanced), QStringLiteral("8 × 82496, 7 × 48576")); // 1000000 = 131072 x 7 + 82496
    QVERIFY(!bench.view->grab().isNull());
}

void TestCutsView::allRulesAreSeenInASmallWindow()
{
    ShownCuts bench;
    QVERIFY(bench.open(cutDesign("x=4", 10, { "x" }), 0, { 708, 180 }));
    QVERIFY(bench.view->minimumSizeHint().width() <= 600);
    QCOMPARE(namelessIn(*bench.view), QString());
    const QRect last = bench.table->visualRect(bench.table->model()->index(GrainBalanced, 0));
    QVERIFY2(last.bottom() <= bench.table->viewport()->height(), qPrintable(QString::number(last.bottom())));
    QVERIFY(bench.table->columnWidth(CutsModel::BarColumn) >= 150);
}

SHARDBOARD_TEST(TestCutsView)
#include "tst_cutsview.moc"

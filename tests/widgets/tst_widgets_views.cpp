// SPDX-License-Identifier: Apache-2.0
// The views with real mouse, key and drop events on a real document.
#include "tests/support/drag.h"
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/io/checkpoint/openmodel.h"
#include "widgets/controls/card.h"
#include "widgets/cost/collectivesmodel.h"
#include "widgets/cost/collectivesview.h"
#include "widgets/document/speclabel.h"
#include "widgets/explain/inspector.h"
#include "widgets/explain/inspectorpage.h"
#include "widgets/findings/findingsview.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowview.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/memory/memoryview.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weightmodel.h"
#include "widgets/weights/weighttable.h"
#include "widgets/workbench/meshchips.h"
#include "widgets/workbench/summarybar.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPointer>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QTest>
#include <QTreeView>
#include <QTreeWidget>
#include <QUndoStack>

#include <memory>
#include <vector>

using namespace shardboard;
using namespace shardboard::test;

namespace {

QAction* actionNamed(const QMenu& menu, const QString& text)
{
    for (QAction* action : menu.actions())
        if (action->text() == text)
            return action;
    return nullptr;
}

} // namespace

class TestWidgetsViews : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void modelsAreSound();
    void viewsLiveWithoutADesign();
    void meshSelectsAndHovers();
    void meshMovesByKeys();
    void meshOfManyDevices();
    void droppingAnAxisOnTheTopCutsThatDim();
    void droppingAnAxisOnTheLeftCutsDim0();
    void droppingBelowTakesTheAxisOff();
    void foreignDropsChangeNothing();
    void refusedDropSaysWhyAndChangesNothing();
    void menuMakesTheSameEdit();
    void shardOfTheHoveredDeviceIsTold();
    void replicatedWeightIsAFrame();
    void filterShowsOnlyMatches();
    void selectionIsSharedWithTheTable();
    void severalWeightsAreOneUndoStep();
    void groupStandsForItsWeights();
    void strategiesAreCopiedAndPasted();
    void collectivesAreLinkedAndCopied();
    void noCollectiveIsSaid();
    void flowSelects();
    void chipEditsTheMesh();
    void chipRefusalIsShown();
    void focusComesBackToTheChip();
    void inspectorAppliesAnAlternative();
    void inspectorPageTakenAgainIsLikeANewOne();
    void findingSelectsItsWeight();
    void summaryFollowsEdits();
    void everythingHasAName();
    void nothingAsksForTooMuchRoom();
};

void TestWidgetsViews::initTestCase() { applyTheme(*qApp, Theme::light()); }

void TestWidgetsViews::modelsAreSound()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    WeightModel weights;
    WeightFilter filter;
    filter.setSourceModel(&weights);
    CollectivesModel collectives;
    const QAbstractItemModelTester weightTester(&weights, QAbstractItemModelTester::FailureReportingMode::QtTest);
    const QAbstractItemModelTester filterTester(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
    const QAbstractItemModelTester collectivesTester(&collectives, QAbstractItemModelTester::FailureReportingMode::QtTest);
    weights.setEvaluation(document.evaluation(), Qt::white, Qt::black);
    collectives.setEvaluation(document.evaluation(), Qt::gray, Qt::red, {});
    QCOMPARE(filter.matches(), static_cast<int>(document.evaluation()->weights.size()));
    filter.setText(QStringLiteral("proj"));
    QCOMPARE(filter.matches(), 7);
    filter.setSortRole(WeightModel::BytesRole);
    filter.sort(0, Qt::DescendingOrder);
    const QModelIndex group = filter.index(0, 0);
    for (int row = 0; row + 1 < filter.rowCount(group); ++row)
        QVERIFY(filter.index(row, 0, group).data(WeightModel::BytesRole).toLongLong()
                >= filter.index(row + 1, 0, group).data(WeightModel::BytesRole).toLongLong());
    weights.setEvaluation(nullptr, Qt::white, Qt::black);
    QCOMPARE(filter.rowCount(), 0);
    // From plan to plan, with more collectives and with fewer: each row says what the new plan has there.
    Document other;
    QVERIFY(other.setDesign(trainingDesign()).ok());
    Document none;
    QVERIFY(none.setDesign(knownDesign("data=1", "replicate")).ok());
    QSortFilterProxyModel proxy;
    proxy.setSourceModel(&collectives);
    for (const Document* next : { &other, &document, &none, &other, &none, &document }) {
        const auto evaluation = next->evaluation();
        collectives.setEvaluation(evaluation, Qt::gray, Qt::red, {});
        QCOMPARE(collectives.rowCount(), static_cast<int>(evaluation->plan.collectives.size()));
        QCOMPARE(proxy.rowCount(), collectives.rowCount());
        for (int row = 0; row < proxy.rowCount(); ++row)
            QCOMPARE(proxy.index(row, CollectivesModel::CauseColumn).data().toString().toStdString(),
                     evaluation->plan.collectives[static_cast<std::size_t>(row)].cause);
    }
    QVERIFY(other.evaluation()->plan.collectives.size() > document.evaluation()->plan.collectives.size());
    collectives.setEvaluation(nullptr, Qt::gray, Qt::red, {});
    QCOMPARE(collectives.rowCount(), 0);
}

void TestWidgetsViews::viewsLiveWithoutADesign()
{
    Document document;
    const auto mesh = shownView<MeshView>(document, { 300, 300 });
    const auto tiles = shownView<TileView>(document, { 500, 300 });
    const auto weights = shownView<WeightPanel>(document, { 310, 400 });
    const auto collectives = shownView<CollectivesView>(document, { 600, 200 });
    const auto flow = shownView<FlowView>(document, { 600, 200 });
    const auto inspector = shownView<InspectorPanel>(document, { 340, 400 });
    const auto findings = shownView<FindingsView>(document, { 600, 200 });
    const auto memory = shownView<MemoryView>(document, { 600, 200 });
    const auto summary = shownView<SummaryBar>(document, { 1200, 48 });
    QTest::keyClick(mesh->canvas(), Qt::Key_Right);
    QTest::mouseClick(tiles->canvas(), Qt::LeftButton);
    QVERIFY(!dropAxis(tiles->canvas(), QStringLiteral("model"), { 100, 100 }));
    for (QWidget* view : std::initializer_list<QWidget*> { mesh.get(), tiles.get(), weights.get(), collectives.get(), flow.get(),
                                                           inspector.get(), findings.get(), memory.get(), summary.get() })
        QVERIFY(!view->grab().isNull());
    QVERIFY(document.setDesign(knownDesign()).ok());
    QCOMPARE(summary->findChild<QLabel*>(QStringLiteral("summaryName"))->text(), QStringLiteral("llama3-8b"));
}

void TestWidgetsViews::meshSelectsAndHovers()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto view = shownView<MeshView>(document, { 420, 360 });
    MeshCanvas* canvas = view->canvas();
    QTest::mouseClick(canvas, Qt::LeftButton, {}, canvas->deviceRect(6).center().toPoint());
    QCOMPARE(document.selection()->device(), std::int64_t { 6 });
    QTest::mouseMove(canvas, canvas->deviceRect(3).center().toPoint());
    QCOMPARE(document.selection()->hoveredDevice(), std::int64_t { 3 });
    QVERIFY(canvas->deviceText(6).startsWith(QStringLiteral("device 6 · data 1, model 2")));
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(canvas, &leave);
    QCOMPARE(document.selection()->hoveredDevice(), std::int64_t { -1 });
    const QPointF above(canvas->deviceRect(1).center().x(), canvas->deviceRect(1).top() - 16);
    QCOMPARE(canvas->axisAt(above), 1);
    QTest::mouseClick(canvas, Qt::LeftButton, {}, above.toPoint());
    QCOMPARE(document.selection()->meshAxis(), 1);
}

void TestWidgetsViews::meshMovesByKeys()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto view = shownView<MeshView>(document, { 420, 360 });
    document.selection()->setDevice(0);
    for (const Qt::Key key : { Qt::Key_Right, Qt::Key_Right, Qt::Key_Down, Qt::Key_Down, Qt::Key_Left })
        QTest::keyClick(view->canvas(), key);
    QCOMPARE(document.selection()->device(), std::int64_t { 5 });
    QTest::keyClick(view->canvas(), Qt::Key_Escape);
    QCOMPARE(document.selection()->device(), std::int64_t { -1 });
}

void TestWidgetsViews::meshOfManyDevices()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign("data=128,model=128", "replicate")).ok());
    const auto view = shownView<MeshView>(document, { 800, 600 });
    view->canvas()->refresh();
    QVERIFY(!view->canvas()->grab().isNull());
    const QRectF last = view->canvas()->deviceRect(16383);
    QCOMPARE(view->canvas()->deviceAt(last.center()), std::int64_t { 16383 });
}

void TestWidgetsViews::droppingAnAxisOnTheTopCutsThatDim()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign("data=2,model=4", "replicate")).ok());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    const auto view = shownView<TileView>(document, { 620, 420 });
    QCOMPARE(specOf(document, weight), std::string("P()"));
    QVERIFY(dropAxis(view->canvas(), QStringLiteral("model"), view->canvas()->zone(1).center()));
    QCOMPARE(specOf(document, weight), std::string("P(None, 'model')"));
    QCOMPARE(view->canvas()->scene().tiles.size(), std::size_t { 4 });
    QVERIFY(!view->canvas()->chipRect(1).isEmpty());
    QVERIFY(document.undoStack()->undoText().contains(QStringLiteral("o_proj dim 1 over model")));
    QCOMPARE(document.undoStack()->count(), 1);
    document.undoStack()->undo();
    QCOMPARE(specOf(document, weight), std::string("P()"));
    QVERIFY(view->canvas()->chipRect(1).isEmpty());
}

void TestWidgetsViews::droppingAnAxisOnTheLeftCutsDim0()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign("data=2,model=4", "replicate")).ok());
    const int weight = weightNamed(document, "gate_proj");
    document.selection()->setWeight(weight);
    const auto view = shownView<TileView>(document, { 620, 420 });
    QVERIFY(dropAxis(view->canvas(), QStringLiteral("model"), view->canvas()->zone(0).center()));
    QCOMPARE(specOf(document, weight), std::string("P('model')"));
    // Inside the picture the diagonal decides; the lower left is nearer to the left edge.
    const QRectF picture = view->canvas()->picture();
    QVERIFY(dropAxis(view->canvas(), QStringLiteral("data"), { picture.right() - 20, picture.top() + 10 }));
    QCOMPARE(specOf(document, weight), std::string("P('model', 'data')"));
}

void TestWidgetsViews::droppingBelowTakesTheAxisOff()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    const auto view = shownView<TileView>(document, { 620, 420 });
    QVERIFY(dropAxis(view->canvas(), QStringLiteral("model"), view->canvas()->zone(-1).center()));
    QVERIFY(weightAt(document, weight).layout.isReplicated());
}

void TestWidgetsViews::foreignDropsChangeNothing()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    const auto view = shownView<TileView>(document, { 620, 420 });
    const Design before = document.design();
    QVERIFY(!dropAxis(view->canvas(), QStringLiteral("no_such_axis"), view->canvas()->zone(0).center()));
    QMimeData text;
    text.setText(QStringLiteral("model"));
    Drag { view->canvas(), &text }.drop(view->canvas()->zone(0).center());
    QVERIFY(document.design() == before);
    QCOMPARE(document.undoStack()->count(), 0);
}

void TestWidgetsViews::refusedDropSaysWhyAndChangesNothing()
{
    Document document;
    Design design = knownDesign("data=2,model=4", "replicate");
    // A written spec cuts strictly: 4096 does not divide by 2 * 4 * 3, say, so use an axis of 3.
    design.mesh = Mesh::parse("data=2,model=3").value();
    StrategyEntry entry;
    entry.match = "model.layers.*.self_attn.o_proj.weight";
    entry.strategy.kind = StrategyKind::Spec;
    entry.strategy.spec = "P('data')";
    entry.cut = CutRule::Strict;
    design.strategies.push_back(entry);
    QVERIFY(document.setDesign(design).ok());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    const auto view = shownView<TileView>(document, { 620, 420 });
    QVERIFY(!dropAxis(view->canvas(), QStringLiteral("model"), view->canvas()->zone(1).center()));
    view->putAxis(design.mesh.find("model"), 1);
    QCOMPARE(specOf(document, weight), std::string("P('data')"));
    const auto* message = view->findChild<QLabel*>(QStringLiteral("tileMessage"));
    QVERIFY(message->isVisible());
    QVERIFY2(message->text().contains(QStringLiteral("4096")), qPrintable(message->text()));
    QCOMPARE(document.undoStack()->count(), 0);
}

void TestWidgetsViews::menuMakesTheSameEdit()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    const auto view = shownView<TileView>(document, { 620, 420 });
    QMenu menu;
    view->fillMenu(&menu);
    QVERIFY(!actionNamed(menu, QStringLiteral("Cut dim 1 over model"))); // it is there already
    actionNamed(menu, QStringLiteral("Cut dim 0 over model"))->trigger();
    QCOMPARE(specOf(document, weight), std::string("P('model')"));
    QMenu next;
    view->fillMenu(&next);
    actionNamed(next, QStringLiteral("Take model off"))->trigger();
    QVERIFY(weightAt(document, weight).layout.isReplicated());
}

void TestWidgetsViews::shardOfTheHoveredDeviceIsTold()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    const auto view = shownView<TileView>(document, { 620, 420 });
    const QRectF tile = view->canvas()->tileRect(2);
    QTest::mouseMove(view->canvas(), tile.center().toPoint());
    QCOMPARE(document.selection()->hoveredDevice(), std::int64_t { 2 });
    const auto* label = view->findChild<QLabel*>(QStringLiteral("tileShard"));
    QCOMPARE(label->text(), QStringLiteral("Shard of device 2  [0:4096, 2048:3072] · 8 MiB · 2 copies"));
    QCOMPARE(view->findChild<SpecLabel*>(QStringLiteral("tileSpec"))->text(), QStringLiteral("P(None, 'model')"));
    const QString words = view->findChild<QLabel*>(QStringLiteral("tileWords"))->text();
    for (const char* part : { "row-parallel (dim 1)", "MAX: columnwise", "DTensor: R, S(1)" })
        QVERIFY2(words.contains(QLatin1String(part)), part);
}

void TestWidgetsViews::replicatedWeightIsAFrame()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign("data=2,model=4", "replicate")).ok());
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    const auto view = shownView<TileView>(document, { 620, 420 });
    const QRectF picture = view->canvas()->picture();
    const QImage image = view->canvas()->grab().toImage();
    QCOMPARE(QColor(image.pixel((picture.topLeft() + QPointF(12, 12)).toPoint())), Theme::light().panel);
    QTest::mouseMove(view->canvas(), picture.center().toPoint());
    QCOMPARE(document.selection()->hoveredDevice(), std::int64_t { -1 });
}

void TestWidgetsViews::filterShowsOnlyMatches()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto panel = shownView<WeightPanel>(document, { 310, 700 });
    auto* edit = panel->findChild<QLineEdit*>(QStringLiteral("weightFilter"));
    auto* tree = panel->findChild<QTreeView*>(QStringLiteral("weightTree"));
    auto* empty = panel->findChild<QLabel*>(QStringLiteral("weightEmpty"));
    const auto visible = [tree] { return static_cast<WeightFilter*>(tree->model())->matches(); };
    QTest::keyClicks(edit, QStringLiteral("dim 1 = model"));
    QCOMPARE(visible(), 2);
    edit->setText(QStringLiteral("nothing like this"));
    QCOMPARE(visible(), 0);
    QVERIFY(empty->isVisible());
    QTest::keyClick(edit, Qt::Key_Escape);
    QCOMPARE(visible(), static_cast<int>(document.evaluation()->weights.size()));
    QVERIFY(!empty->isVisible());
}

void TestWidgetsViews::selectionIsSharedWithTheTable()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto panel = shownView<WeightPanel>(document, { 310, 700 });
    const int weight = weightNamed(document, "up_proj");
    document.selection()->setWeight(weight);
    QCOMPARE(panel->selectedWeights(), std::vector<int> { weight });
    auto* tree = panel->findChild<QTreeView*>(QStringLiteral("weightTree"));
    tree->setFocus();
    QTest::keyClick(tree, Qt::Key_Down);
    QCOMPARE(document.selection()->weight(), weightNamed(document, "down_proj"));
    document.undoStack()->undo();
    document.selection()->clear();
    QVERIFY(panel->selectedWeights().empty());
}

void TestWidgetsViews::severalWeightsAreOneUndoStep()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto panel = shownView<WeightPanel>(document, { 310, 700 });
    auto* tree = panel->findChild<QTreeView*>(QStringLiteral("weightTree"));
    const int gate = weightNamed(document, "gate_proj");
    const int up = weightNamed(document, "up_proj");
    document.selection()->setWeight(gate);
    tree->setFocus();
    QTest::keyClick(tree, Qt::Key_Down, Qt::ShiftModifier);
    QCOMPARE(panel->selectedWeights(), (std::vector<int> { gate, up }));
    QMenu menu;
    panel->fillMenu(&menu);
    actionNamed(menu, QStringLiteral("Replicate"))->trigger();
    QVERIFY(weightAt(document, gate).layout.isReplicated());
    QVERIFY(weightAt(document, up).layout.isReplicated());
    QCOMPARE(document.undoStack()->count(), 1);
    QCOMPARE(panel->selectedWeights(), (std::vector<int> { gate, up }));
    document.undoStack()->undo();
    QCOMPARE(specOf(document, gate), std::string("P('model')"));
    QCOMPARE(specOf(document, up), std::string("P('model')"));
}

void TestWidgetsViews::groupStandsForItsWeights()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto panel = shownView<WeightPanel>(document, { 310, 700 });
    auto* tree = panel->findChild<QTreeView*>(QStringLiteral("weightTree"));
    for (int row = 0; row < tree->model()->rowCount(); ++row)
        if (const QModelIndex index = tree->model()->index(row, 0); tree->model()->hasChildren(index))
            tree->setCurrentIndex(index);
    QCOMPARE(panel->selectedWeights().size(), std::size_t { 9 });
}

void TestWidgetsViews::strategiesAreCopiedAndPasted()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto panel = shownView<WeightPanel>(document, { 310, 560 });
    auto* tree = panel->findChild<QTreeView*>(QStringLiteral("weightTree"));
    const auto named = [&](const char* part) {
        const auto& weights = document.evaluation()->weights;
        const auto it = std::find_if(weights.begin(), weights.end(),
                                     [&](const auto& w) { return w.spec.name.find(part) != std::string::npos; });
        return static_cast<int>(it - weights.begin());
    };
    const auto layout = [&](int weight) { return document.evaluation()->weights[static_cast<std::size_t>(weight)].layout; };
    const int from = named("up_proj");
    const int first = named("o_proj");
    const int second = named("down_proj");
    QVERIFY(!(layout(from) == layout(first)));
    document.selection()->setWeight(from);
    tree->setFocus();
    QTest::keySequence(tree, QKeySequence::Copy);
    QVERIFY(QApplication::clipboard()->text().contains(QStringLiteral("up_proj.weight\t")));
    document.selection()->setWeights({ first, second }, first);
    QTest::keySequence(tree, QKeySequence::Paste);
    QCOMPARE(layout(first), layout(from));
    QCOMPARE(layout(second), layout(from));
    QCOMPARE(document.undoStack()->count(), 1);
    // A text of another program, and one that is no strategy.
    QApplication::clipboard()->setText(QStringLiteral("P(None, 'model')\n"));
    QTest::keySequence(tree, QKeySequence::Paste);
    QCOMPARE(layout(second), Layout::cut(2, 1, { document.design().mesh.find("model") }));
    QApplication::clipboard()->setText(QStringLiteral("hello"));
    QTest::keySequence(tree, QKeySequence::Paste);
    QCOMPARE(document.undoStack()->count(), 2);
    const auto* message = panel->findChild<QLabel*>(QStringLiteral("weightMessage"));
    QVERIFY(message->isVisible() && message->text().contains(QStringLiteral("clipboard")));
}

void TestWidgetsViews::collectivesAreLinkedAndCopied()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto view = shownView<CollectivesView>(document, { 900, 240 });
    auto* table = view->findChild<QTableView*>(QStringLiteral("collectivesTable"));
    QCOMPARE(table->model()->rowCount(), static_cast<int>(document.evaluation()->plan.collectives.size()));
    document.selection()->setCollective(CollectiveId(1));
    QCOMPARE(table->selectionModel()->selectedRows().size(), 1);
    table->setFocus();
    QTest::keyClick(table, Qt::Key_Down);
    QCOMPARE(document.selection()->collective(), CollectiveId(2));
    table->selectAll();
    QTest::keySequence(table, QKeySequence::Copy);
    const QStringList lines = QApplication::clipboard()->text().split(QLatin1Char('\n'));
    QCOMPARE(lines.size(), table->model()->rowCount() + 1);
    QCOMPARE(lines.front().split(QLatin1Char('\t')).size(), int(CollectivesModel::ColumnCount));
    QCOMPARE(lines.at(2).section(QLatin1Char('\t'), 0, 0), QStringLiteral("all-reduce"));
    QCOMPARE(lines.at(2).section(QLatin1Char('\t'), 5, 6), QStringLiteral("128 MiB\t32"));
}

void TestWidgetsViews::noCollectiveIsSaid()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign("data=2,model=4", "replicate")).ok());
    const auto view = shownView<CollectivesView>(document, { 900, 240 });
    const auto* empty = view->findChild<QLabel*>(QStringLiteral("collectivesEmpty"));
    QVERIFY(empty->isVisible());
    QCOMPARE(empty->text(), QStringLiteral("No collective: every operation finds its operands where it needs them."));
}

void TestWidgetsViews::flowSelects()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto view = shownView<FlowView>(document, { 900, 260 });
    FlowCanvas* canvas = view->canvas();
    const auto items = canvas->scene().items; // a click may unfold other ones
    for (int i = 0; i < static_cast<int>(items.size()); ++i) {
        const FlowItem& item = items[static_cast<std::size_t>(i)];
        if (item.kind == FlowItem::Folded)
            continue;
        canvas->reveal(i);
        QVERIFY(QRectF(canvas->rect()).contains(canvas->itemRect(i).center()));
        QTest::mouseClick(canvas, Qt::LeftButton, {}, canvas->itemRect(i).center().toPoint());
        if (item.collective.valid())
            QCOMPARE(document.selection()->collective(), item.collective);
        else if (!item.weights.empty())
            QVERIFY(std::find(item.weights.begin(), item.weights.end(), document.selection()->weight()) != item.weights.end());
    }
    const PlannedSegmentId block = view->segment();
    document.selection()->clear();
    document.selection()->setWeight(weightNamed(document, "embed_tokens"));
    QVERIFY(view->segment() != block);
    view->stepCollective(1);
    QCOMPARE(document.selection()->collective(), CollectiveId(0));
}

void TestWidgetsViews::chipEditsTheMesh()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto chips = shownView<MeshChips>(document, { 400, 40 });
    auto* chip = chips->findChild<AxisChip*>(QStringLiteral("chip_model"));
    QCOMPARE(chip->text(), QStringLiteral("model = 4"));
    QTest::mouseDClick(chip, Qt::LeftButton);
    auto* edit = chips->findChild<QLineEdit*>(QStringLiteral("axisEdit"));
    QVERIFY(edit->isVisible());
    edit->setText(QStringLiteral("model = 8"));
    QTest::keyClick(edit, Qt::Key_Return);
    QCOMPARE(document.design().mesh.text(), std::string("data=2,model=8"));
    QVERIFY(!edit->isVisible());
    chips->startEdit(-1);
    QTest::keyClicks(edit, QStringLiteral("pod=2"));
    QTest::keyClick(edit, Qt::Key_Return);
    QCOMPARE(document.design().mesh.text(), std::string("data=2,model=8,pod=2"));
    document.undoStack()->undo();
    document.undoStack()->undo();
    QCOMPARE(document.design().mesh.text(), std::string("data=2,model=4"));
}

/// Whether the edit is made, refused and let go of, or the same as before.
void TestWidgetsViews::focusComesBackToTheChip()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto chips = shownView<MeshChips>(document, { 400, 40 });
    chips->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(chips.get()));
    auto* edit = chips->findChild<QLineEdit*>(QStringLiteral("axisEdit"));
    const auto chip = [&](const char* name) {
        AxisChip* seen = nullptr; // those from before may not be gone yet
        for (AxisChip* one : chips->findChildren<AxisChip*>(QString::fromLatin1(name)))
            if (one->isVisible())
                seen = one;
        return seen;
    };
    chip("chip_model")->setFocus();
    QTest::keyClick(chip("chip_model"), Qt::Key_Return);
    QVERIFY(edit->hasFocus());
    QTest::keyClick(edit, Qt::Key_Escape);
    QVERIFY(chip("chip_model") != nullptr && chip("chip_model")->hasFocus());
    QTest::keyClick(chip("chip_model"), Qt::Key_Return);
    QTest::keyClick(edit, Qt::Key_Return); // as it was
    QVERIFY(chip("chip_model")->hasFocus());
    QTest::keyClick(chip("chip_model"), Qt::Key_Return);
    edit->selectAll();
    QTest::keyClicks(edit, QStringLiteral("2"));
    QTest::keyClick(edit, Qt::Key_Return);
    QCOMPARE(document.design().mesh.text(), std::string("data=2,model=2"));
    QVERIFY(chip("chip_model")->hasFocus());
    document.undoStack()->undo();
    QVERIFY(chip("chip_model")->hasFocus());
    auto* add = chips->findChild<QWidget*>(QStringLiteral("addAxis"));
    chips->startEdit(-1);
    QTest::keyClick(edit, Qt::Key_Escape);
    QVERIFY(add->hasFocus());
}

void TestWidgetsViews::chipRefusalIsShown()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto chips = shownView<MeshChips>(document, { 400, 40 });
    auto* edit = chips->findChild<QLineEdit*>(QStringLiteral("axisEdit"));
    for (const char* text : { "model = 0", "model = 1099511627776", "data = 4", "model", "a=1,b=2", "" }) {
        chips->startEdit(1);
        edit->setText(QLatin1String(text));
        QTest::keyClick(edit, Qt::Key_Return);
        QVERIFY2(edit->property("refused").toBool(), text);
        QVERIFY2(!chips->refusal().isEmpty(), text);
        QCOMPARE(document.design().mesh.text(), std::string("data=2,model=4"));
        QTest::keyClick(edit, Qt::Key_Escape);
        QVERIFY(!edit->isVisible());
    }
    QCOMPARE(document.undoStack()->count(), 0);
}

void TestWidgetsViews::inspectorAppliesAnAlternative()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    const auto panel = shownView<InspectorPanel>(document, { 340, 900 });
    // Names are there at once, the numbers come by themselves.
    const auto find = [&panel]() -> Card* {
        for (Card* card : panel->findChildren<Card*>())
            if (card->title() == QStringLiteral("replicate") && card->isVisible())
                return card;
        return nullptr;
    };
    QTRY_VERIFY(find() && find()->value() != QStringLiteral("…"));
    Card* replicate = find();
    const QString byItself = replicate->value();
    panel->buildNow(); // all evaluated before it returns
    replicate = find();
    QVERIFY(replicate);
    QCOMPARE(replicate->value(), byItself);
    const QString promised = replicate->value();
    QTest::mouseClick(replicate, Qt::LeftButton);
    QVERIFY(weightAt(document, weight).layout.isReplicated());
    // What the card promised is what the design then says.
    QTRY_VERIFY(!panel->findChildren<Card*>().isEmpty());
    const auto summary = shownView<SummaryBar>(document, { 1200, 48 });
    QCOMPARE(summary->findChild<QLabel*>(QStringLiteral("summaryStep"))->text(), promised);
}

void TestWidgetsViews::inspectorPageTakenAgainIsLikeANewOne()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
    const auto likeNew = [&] {
        panel->buildNow();
        const auto fresh = shownView<InspectorPanel>(document, { 340, 1400 });
        fresh->buildNow();
        QTest::qWait(20); // layouts that are posted
        if (QWidget* focused = QApplication::focusWidget())
            focused->clearFocus(); // which only one of them has
        std::vector<QWidget*> tabs[2];
        for (int i = 0; i < 2; ++i) {
            QWidget* first = i == 0 ? panel.get() : fresh.get();
            for (QWidget* widget = first->nextInFocusChain(); widget != first; widget = widget->nextInFocusChain())
                if (first->isAncestorOf(widget) && widget->isVisible() && (widget->focusPolicy() & Qt::TabFocus))
                    tabs[i].push_back(widget);
        }
        bool same = tabs[0].size() == tabs[1].size() && panel->grab().toImage() == fresh->grab().toImage();
        for (std::size_t i = 0; same && i < tabs[0].size(); ++i)
            same = tabs[0][i]->accessibleName() == tabs[1][i]->accessibleName() && tabs[0][i]->toolTip() == tabs[1][i]->toolTip();
        return same;
    };
    QVERIFY(likeNew());
    const int weight = weightNamed(document, "o_proj");
    document.selection()->setWeight(weight);
    QVERIFY(likeNew());
    const QPointer<Card> kept(panel->findChild<Card*>());
    QVERIFY(kept);
    const Design before = document.design();
    for (const int dim : { 1, 0, 1 }) {
        const Design edited =
            document.withStrategy(document.patternOf(weight), document.withAxisOnDim(weight, before.mesh.find("model"), dim));
        QVERIFY(document.edit(edited, QStringLiteral("edit"), Misfits::Replicate).ok());
        QVERIFY(likeNew());
    }
    QVERIFY(kept); // an edit leaves the widgets
    Design without = before;
    without.strategies.clear(); // more findings, fewer collectives
    QVERIFY(document.edit(without, QStringLiteral("edit"), Misfits::Replicate).ok());
    QVERIFY(likeNew());
    QVERIFY(document.edit(before, QStringLiteral("edit"), Misfits::Replicate).ok());
    QVERIFY(likeNew());
    for (int i = 0; i < static_cast<int>(document.evaluation()->weights.size()); ++i) {
        document.selection()->setWeight(i);
        QVERIFY(likeNew());
    }
    for (CollectiveId i { 0 }; i < document.evaluation()->plan.collectives.size(); ++i) {
        document.selection()->setCollective(i);
        QVERIFY(likeNew());
    }
    for (PlannedOpId i { 0 }; i < document.evaluation()->plan.segments.front().ops.size(); ++i) {
        document.selection()->setOperation(PlannedSegmentId(0), i);
        QVERIFY(likeNew());
    }
    document.selection()->clear();
    QVERIFY(likeNew());
    panel->setAsleep(true); // it wakes to other colours
    applyTheme(*qApp, Theme::dark());
    QTest::qWait(20);
    panel->setAsleep(false);
    const bool dark = likeNew();
    applyTheme(*qApp, Theme::light());
    QVERIFY(dark);
    QVERIFY(likeNew());
}

void TestWidgetsViews::findingSelectsItsWeight()
{
    Document document;
    Design design = knownDesign();
    design.strategies.clear();
    QVERIFY(document.setDesign(design).ok());
    const auto view = shownView<FindingsView>(document, { 900, 300 });
    auto* list = view->findChild<QTreeWidget*>(QStringLiteral("findingsList"));
    QVERIFY(list->topLevelItemCount() > 0);
    QVERIFY(!list->isColumnHidden(1) && list->columnWidth(1) < 90); // of numbers: words have the room
    int followed = 0;
    for (int i = 0; i < list->topLevelItemCount(); ++i) {
        const auto& finding = document.evaluation()->findings[static_cast<std::size_t>(i)];
        document.selection()->clear();
        Q_EMIT list->itemActivated(list->topLevelItem(i), 0);
        if (finding.kind != "silently-replicated")
            continue;
        ++followed;
        QCOMPARE(weightAt(document, document.selection()->weight()).spec.name, finding.where);
    }
    QVERIFY(followed > 0);
}

void TestWidgetsViews::summaryFollowsEdits()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto bar = shownView<SummaryBar>(document, { 1280, 48 });
    const auto* memory = bar->findChild<QLabel*>(QStringLiteral("summaryMemory"));
    const QString before = memory->text();
    Design design = document.design();
    design.strategies.clear();
    QVERIFY(document.edit(design, QStringLiteral("clear")).ok());
    QVERIFY(memory->text() != before);
    // In the unit that other views write it in; once where both have it.
    QVERIFY2(memory->text().startsWith(bytesText(document.evaluation()->plan.memory.peak).section(QLatin1Char(' '), 0, 0)),
             qPrintable(memory->text()));
    QVERIFY2(memory->text().endsWith(QStringLiteral(" GiB")) && memory->text().count(QStringLiteral("iB")) <= 2,
             qPrintable(memory->text()));
    design.model = builtinModel("llama3.1-405b").value();
    design.workload.kind = WorkloadKind::Train;
    QVERIFY(document.edit(design, QStringLiteral("larger"), Misfits::Replicate).ok());
    QVERIFY(document.evaluation()->plan.memory.peak > std::int64_t { 1 } << 40);
    QCOMPARE(memory->text().section(QStringLiteral(" / "), 0, 0), bytesText(document.evaluation()->plan.memory.peak));
    auto* action = new QAction(QStringLiteral("Run"), bar.get());
    bar->setAct(action, new QAction(QStringLiteral("Stop"), bar.get()));
    int runs = 0;
    connect(action, &QAction::triggered, this, [&runs] { ++runs; });
    for (QPushButton* button : bar->findChildren<QPushButton*>())
        QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(runs, 1);
}

void TestWidgetsViews::everythingHasAName()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto mesh = shownView<MeshView>(document, { 300, 300 });
    const auto tiles = shownView<TileView>(document, { 500, 300 });
    const auto weights = shownView<WeightPanel>(document, { 310, 400 });
    const auto collectives = shownView<CollectivesView>(document, { 600, 200 });
    const auto flow = shownView<FlowView>(document, { 600, 200 });
    const auto summary = shownView<SummaryBar>(document, { 1200, 48 });
    for (QWidget* view :
         std::initializer_list<QWidget*> { mesh.get(), tiles.get(), weights.get(), collectives.get(), flow.get(), summary.get() }) {
        QVERIFY(!view->accessibleName().isEmpty());
        for (QWidget* child : view->findChildren<QWidget*>())
            if (child->focusPolicy() != Qt::NoFocus && !child->objectName().startsWith(QStringLiteral("qt_"))
                && !qobject_cast<QLabel*>(child) && child->isVisible())
                QVERIFY2(!child->accessibleName().isEmpty(), child->metaObject()->className());
    }
}

void TestWidgetsViews::nothingAsksForTooMuchRoom()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    // At 1280 x 800 with 310 + 340 at the sides, 630 is left for mesh and tiles side by side.
    const auto mesh = shownView<MeshView>(document, { 260, 300 });
    const auto tiles = shownView<TileView>(document, { 360, 300 });
    const auto weights = shownView<WeightPanel>(document, { 310, 400 });
    const auto inspector = shownView<InspectorPanel>(document, { 340, 400 });
    const auto summary = shownView<SummaryBar>(document, { 1280, 48 });
    QVERIFY(mesh->minimumSizeHint().width() + tiles->minimumSizeHint().width() <= 630);
    QVERIFY(weights->minimumSizeHint().width() <= 310);
    QVERIFY(inspector->minimumSizeHint().width() <= 340);
    QVERIFY(summary->minimumSizeHint().width() <= 1000);
}

SHARDBOARD_TEST(TestWidgetsViews)
#include "tst_widgets_views.moc"

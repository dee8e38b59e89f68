// SPDX-License-Identifier: Apache-2.0
// Where time and memory go, in the real views: the table of parts and operations, memory by cause and over the step, and what
// would make a design fit, with progress, cancel and one click to take it.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/design/evaluate/evaluate.h"
#include "model/plan/time/partcosts.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/cost/costview.h"
#include "widgets/look/format.h"
#include "widgets/look/swatch.h"
#include "widgets/look/theme.h"
#include "widgets/memory/devicebars.h"
#include "widgets/memory/fitadvisor.h"
#include "widgets/memory/fitlist.h"
#include "widgets/memory/memoryview.h"
#include "widgets/plots/timelinechart.h"
#include "widgets/workbench/summarybar.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QProgressBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QSet>
#include <QSignalSpy>
#include <QTreeWidget>
#include <QUndoStack>
#include <QVBoxLayout>

#include <cmath>

using namespace shardboard;

namespace {

Design trainDesign(const char* mesh = "fsdp=4,model=2")
{
    Design design = knownDesign(mesh, "tp+fsdp", 2048);
    design.workload.kind = WorkloadKind::Train;
    (void)applyPreset(design, "tp+fsdp").ok();
    return design;
}

/// More than a device has.
Design fullDesign()
{
    Design design = knownDesign("model=8", "megatron-tp", 2048);
    design.workload.kind = WorkloadKind::Train;
    design.workload.batch = 64;
    (void)applyPreset(design, "megatron-tp").ok();
    return design;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

} // namespace

class TestCostViews : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void partsAddUpToThePlan();
    void tableHasEveryPartAndPhase();
    void operationsAreSelectedEverywhere();
    void rowsOfTheSamePartsStay();
    void sleepersAreReadAnyTime();
    void tableFitsItsPanel();
    void rowsAreAsHighAsInAllTables();
    void memoryOverTheStep();
    void pointingTellsTheMoment();
    void stagesOfAPipeline();
    void barsOfTheDevicesByCause();
    void legendNamesEveryColourAndFilters();
    void fittingDesignsNeedNoAdvice();
    void adviceIsTakenWithOneClick();
    void searchCanBeCancelled();
    void summaryTellsTheRate();
    void summaryFoldsAtEverySize();
    void withoutADesign();
    void everythingHasAName();
};

void TestCostViews::partsAddUpToThePlan()
{
    for (const Overlap overlap : { Overlap::None, Overlap::Weights, Overlap::All }) {
        Design design = trainDesign();
        design.workload.overlap = overlap;
        design.workload.microBatches = 2;
        const auto evaluation = evaluate(design).value();
        double compute = 0;
        double collectives = 0;
        double exposed = 0;
        double operations = 0;
        std::int64_t moved = 0;
        for (const PartCost& part : partCosts(evaluation->graph, evaluation->plan)) {
            compute += part.compute;
            collectives += part.collectives;
            exposed += part.exposed;
            moved += part.moved;
            QVERIFY(part.exposed <= part.collectives && part.exposed >= 0);
            for (const OperationCost& operation : part.operations)
                operations += operation.compute + operation.collectives;
        }
        QVERIFY(near(compute, evaluation->plan.computeSeconds));
        QVERIFY(near(collectives, evaluation->plan.collectiveSeconds));
        QVERIFY(near(exposed, evaluation->plan.exposedSeconds));
        QVERIFY(near(operations, compute + collectives));
        QCOMPARE(moved, evaluation->plan.collectiveBytes());
    }
}

void TestCostViews::tableHasEveryPartAndPhase()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    const auto view = shownView<CostView>(document, { 900, 260 });
    const auto* tree = view->findChild<QTreeWidget*>(QStringLiteral("costTree"));
    QCOMPARE(tree->topLevelItemCount(), static_cast<int>(document.evaluation()->plan.segments.size()));
    QStringList names;
    for (int i = 0; i < tree->topLevelItemCount(); ++i)
        names << tree->topLevelItem(i)->text(0);
    QVERIFY2(names.contains(QStringLiteral("block × 32 · forward")), qPrintable(names.join(QLatin1Char(';'))));
    QVERIFY(names.contains(QStringLiteral("block × 32 · backward")));
    QVERIFY(names.contains(QStringLiteral("head · forward")));
    const auto parts = partCosts(document.evaluation()->graph, document.evaluation()->plan);
    const qsizetype block = names.indexOf(QStringLiteral("block × 32 · forward"));
    const QTreeWidgetItem* item = tree->topLevelItem(static_cast<int>(block));
    QCOMPARE(item->text(2), secondsText(parts[static_cast<std::size_t>(block)].seconds()));
    QCOMPARE(item->text(7), bytesText(parts[static_cast<std::size_t>(block)].kept));
    QVERIFY(parts[static_cast<std::size_t>(block)].kept > 0);
    // Inference has one phase and keeps nothing.
    QVERIFY(document.setDesign(knownDesign()).ok());
    QVERIFY(tree->isColumnHidden(7));
    QCOMPARE(tree->topLevelItem(1)->text(0), QStringLiteral("block × 32"));
}

void TestCostViews::operationsAreSelectedEverywhere()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto view = shownView<CostView>(document, { 900, 300 });
    auto* tree = view->findChild<QTreeWidget*>(QStringLiteral("costTree"));
    QTreeWidgetItem* block = tree->topLevelItem(1);
    block->setExpanded(true);
    QVERIFY(block->childCount() > 5);
    tree->setCurrentItem(block->child(2));
    QCOMPARE(document.selection()->segment(), PlannedSegmentId(1));
    const auto& planned = document.evaluation()->plan.segments[1].ops[document.selection()->operation()];
    QCOMPARE(qstr(document.evaluation()->graph.op(planned.op).name), block->child(2)->text(0));
    // And back: a collective that is chosen elsewhere shows its operation.
    const auto& collectives = document.evaluation()->plan.collectives;
    for (CollectiveId i { 0 }; i < collectives.size(); ++i)
        if (collectives[i].plannedSegment == PlannedSegmentId(1)) {
            document.selection()->setCollective(i);
            QCOMPARE(tree->currentItem()->text(0), qstr(document.evaluation()->graph.op(collectives[i].op).name));
        }
    // What was unfolded stays so after an edit.
    Design edited = document.design();
    edited.workload.batch = 4;
    QVERIFY(document.edit(edited, QStringLiteral("Batch 4")).ok());
    QVERIFY(tree->topLevelItem(1)->isExpanded());
}

/// After an edit they show other numbers, and it is said of all of them; other parts get rows of their own.
void TestCostViews::rowsOfTheSamePartsStay()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    const auto view = shownView<CostView>(document, { 900, 300 });
    const auto* tree = view->findChild<QTreeWidget*>(QStringLiteral("costTree"));
    const QTreeWidgetItem* block = tree->topLevelItem(1);
    const QTreeWidgetItem* operation = block->child(2);
    const QStringList before { block->text(2), operation->text(2) };
    const QSignalSpy told(tree->model(), &QAbstractItemModel::dataChanged);
    Design edited = document.design();
    edited.workload.batch *= 2;
    QVERIFY(document.edit(edited, QStringLiteral("Batch")).ok());
    QCOMPARE(tree->topLevelItem(1), block);
    QCOMPARE(block->child(2), operation);
    const auto parts = partCosts(document.evaluation()->graph, document.evaluation()->plan);
    QCOMPARE(block->text(2), secondsText(parts[1].seconds()));
    QVERIFY(before != QStringList({ block->text(2), operation->text(2) }));
    bool ofParts = false;
    bool ofOperations = false;
    for (const QList<QVariant>& one : told) {
        const auto first = one[0].toModelIndex();
        (first.parent().isValid() ? ofOperations : ofParts) = true;
    }
    QVERIFY(ofParts && ofOperations);
    QVERIFY(document.setDesign(knownDesign()).ok());
    QCOMPARE(tree->topLevelItemCount(), static_cast<int>(document.evaluation()->plan.segments.size()));
    QCOMPARE(tree->topLevelItem(1)->text(0), QStringLiteral("block × 32"));
}

/// While nobody sees it the view keeps to the design that it last showed, which its rows are read of.
void TestCostViews::sleepersAreReadAnyTime()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    const auto view = shownView<CostView>(document, { 900, 300 });
    const auto* tree = view->findChild<QTreeWidget*>(QStringLiteral("costTree"));
    const auto texts = [tree] {
        QStringList out;
        for (int i = 0; i < tree->topLevelItemCount(); ++i)
            for (int k = -1; k < tree->topLevelItem(i)->childCount(); ++k)
                for (int column = 0; column < tree->columnCount(); ++column) {
                    const QTreeWidgetItem* row = k < 0 ? tree->topLevelItem(i) : tree->topLevelItem(i)->child(k);
                    out << row->text(column) << row->toolTip(column) << row->data(column, Qt::AccessibleTextRole).toString();
                }
        return out;
    };
    const QStringList before = texts();
    view->setAsleep(true);
    QVERIFY(document.setDesign(knownDesign("model=1", "replicate")).ok()); // with fewer parts, and no collectives
    QCOMPARE(texts(), before);
    view->setAsleep(false);
    QVERIFY(texts() != before);
}

void TestCostViews::tableFitsItsPanel()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    const auto view = shownView<CostView>(document, { 600, 260 });
    const auto* tree = view->findChild<QTreeWidget*>(QStringLiteral("costTree"));
    for (const int width : { 560, 710, 1000 }) {
        view->resize(width, 260);
        QTest::qWait(1);
        int columns = 0;
        for (int column = 0; column < tree->columnCount(); ++column)
            columns += tree->isColumnHidden(column) ? 0 : tree->columnWidth(column);
        QStringList widths;
        for (int column = 0; column < tree->columnCount(); ++column)
            widths << QString::number(tree->isColumnHidden(column) ? 0 : tree->columnWidth(column));
        QVERIFY2(
            columns <= tree->viewport()->width() + 1,
            qPrintable(
                QStringLiteral("%1 in %2, at %3").arg(widths.join(QLatin1Char(' '))).arg(tree->viewport()->width()).arg(width)));
    }
}

/// Also where the view had no room for its columns when it got its rows, as in a mode that is not shown.
void TestCostViews::rowsAreAsHighAsInAllTables()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign()).ok());
    CostView view(&document);
    view.resize(120, 90);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    auto* tree = view.findChild<QTreeWidget*>();
    document.selection()->setWeight(weightNamed(document, "lm_head"));
    view.resize(900, 400);
    QCoreApplication::processEvents();
    for (int i = 0; i < tree->topLevelItemCount(); ++i)
        QVERIFY2(tree->visualItemRect(tree->topLevelItem(i)).height() >= kRowHeight,
                 qPrintable(QString::number(tree->visualItemRect(tree->topLevelItem(i)).height())));
}

void TestCostViews::memoryOverTheStep()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    const auto view = shownView<MemoryView>(document, { 900, 280 });
    const MemoryTimeline& timeline = view->timeline();
    QCOMPARE(view->chart()->count(), static_cast<int>(timeline.moments.size()));
    QVERIFY(timeline.moments.size() > 20);
    QCOMPARE(timeline.moments[static_cast<std::size_t>(timeline.peak())].bytes.total(), document.evaluation()->plan.memory.peak);
    const auto* moment = view->findChild<ElidedLabel*>(QStringLiteral("memoryMoment"));
    QVERIFY(moment->text().startsWith(QStringLiteral("Peak ")));
    QVERIFY(moment->text().contains(bytesText(document.evaluation()->plan.memory.peak)));
    const auto* verdict = view->findChild<QLabel*>(QStringLiteral("memoryVerdict"));
    QVERIFY(verdict->text().contains(QStringLiteral("Fits")) && verdict->text().contains(QStringLiteral("to spare")));
    // Every cause of the peak stands in the legend with its bytes.
    for (const MemoryCause& cause : memoryCauses())
        if (const std::int64_t bytes = document.evaluation()->plan.memory.*cause.bytes; bytes > 0) {
            const auto* label = view->findChild<QLabel*>(QStringLiteral("memory.") + QString::fromLatin1(cause.key));
            QVERIFY2(label, cause.key);
            QCOMPARE(label->text(), bytesText(bytes));
        }
}

void TestCostViews::pointingTellsTheMoment()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    const auto view = shownView<MemoryView>(document, { 900, 280 });
    TimelineChart* chart = view->chart();
    const auto* moment = view->findChild<ElidedLabel*>(QStringLiteral("memoryMoment"));
    const QString peak = moment->text();
    chart->setFocus();
    QTest::keyClick(chart, Qt::Key_Home);
    QCOMPARE(chart->current(), 0);
    QVERIFY(!moment->text().startsWith(QStringLiteral("Peak")));
    QVERIFY(moment->text().contains(bytesText(view->timeline().moments.front().bytes.total())));
    QTest::keyClick(chart, Qt::Key_Right);
    QCOMPARE(chart->current(), 1);
    QTest::keyClick(chart, Qt::Key_End);
    QCOMPARE(chart->current(), chart->count() - 1);
    // The mouse in the middle of the chart is over some moment; away from it the peak is told again.
    QWidget* plot = chart->findChild<QWidget*>();
    QTest::mouseMove(plot, { plot->width() / 2, plot->height() / 2 });
    QTRY_VERIFY(chart->current() > 0 && chart->current() < chart->count() - 1);
    QTest::mouseClick(plot, Qt::LeftButton, {}, { plot->width() / 2, plot->height() / 2 });
    QVERIFY(document.selection()->operation().valid());
    chart->setCurrent(-1);
    QCOMPARE(moment->text(), peak);
}

void TestCostViews::stagesOfAPipeline()
{
    Design design = knownDesign("stage=4,data=2", "replicate", 2048);
    design.workload.kind = WorkloadKind::Train;
    design.workload.microBatches = 8;
    QVERIFY(applyPreset(design, "pp-1f1b").ok());
    Document document;
    const Status set = document.setDesign(design);
    QVERIFY2(set.ok(), set.ok() ? "" : set.error().text().c_str());
    QVERIFY(document.evaluation()->plan.pipeline.has_value());
    const auto view = shownView<MemoryView>(document, { 900, 280 });
    auto* stages = view->findChild<ChoiceBox*>(QStringLiteral("memoryStage"));
    const auto& pipeline = *document.evaluation()->plan.pipeline;
    QVERIFY(stages->isVisible());
    QCOMPARE(stages->count(), static_cast<int>(pipeline.memory.size()));
    QCOMPARE(stages->currentIndex(), static_cast<int>(pipeline.fullestStage));
    const int other = pipeline.fullestStage == 0 ? 3 : 0;
    stages->setCurrentIndex(other);
    Q_EMIT stages->activated(other);
    QCOMPARE(view->timeline().stage, std::int64_t { other });
    const auto peak = view->timeline().peak();
    QCOMPARE(view->timeline().moments[static_cast<std::size_t>(peak)].bytes.total(),
             pipeline.memory[static_cast<std::size_t>(other)].peak);
    // A device that is hovered in another view shows its stage.
    const QImage quiet = view->bars()->grab().toImage();
    document.selection()->setHoveredDevice(5); // of 4 stages of two devices the third
    QCOMPARE(view->bars()->hovered(), 2);
    QVERIFY(view->bars()->grab().toImage() != quiet);
    document.selection()->setHoveredDevice(-1);
    QCOMPARE(view->bars()->hovered(), -1);
    QVERIFY(view->bars()->grab().toImage() == quiet);
}

void TestCostViews::barsOfTheDevicesByCause()
{
    Design design = knownDesign("stage=4,data=2", "replicate", 2048);
    design.workload.kind = WorkloadKind::Train;
    design.workload.microBatches = 8;
    QVERIFY(applyPreset(design, "pp-1f1b").ok());
    Document document;
    QVERIFY(document.setDesign(design).ok());
    const auto view = shownView<MemoryView>(document, { 900, 400 });
    const auto& pipeline = *document.evaluation()->plan.pipeline;
    const auto& bars = view->bars()->bars();
    QCOMPARE(bars.size(), pipeline.memory.size());
    for (std::size_t stage = 0; stage < bars.size(); ++stage)
        QCOMPARE(bars[stage].total(), pipeline.memory[stage].peak);
    // Parts lie side by side, as wide as their bytes.
    double right = 0;
    double perByte = 0;
    for (int part = 0; part < static_cast<int>(bars[0].parts.size()); ++part) {
        const QRectF rect = view->bars()->partRect(0, part);
        if (rect.isEmpty())
            continue;
        const auto bytes = static_cast<double>(bars[0].parts[static_cast<std::size_t>(part)].bytes);
        if (perByte > 0) {
            QVERIFY(std::abs(rect.left() - right) < 1e-6);
            QVERIFY(near(rect.width() / bytes, perByte));
        }
        perByte = rect.width() / bytes;
        right = rect.right();
    }
    // A click on a bar shows that stage over time.
    const int other = pipeline.fullestStage == 1 ? 2 : 1;
    QTest::mouseClick(view->bars(), Qt::LeftButton, {}, view->bars()->partRect(other, 0).center().toPoint());
    QCOMPARE(view->timeline().stage, std::int64_t { other });
    QTest::keyClick(view->bars(), Qt::Key_Down);
    QCOMPARE(view->timeline().stage, std::int64_t { other + 1 });
    // Devices that are alike have one bar.
    QVERIFY(document.setDesign(knownDesign()).ok());
    QCOMPARE(view->bars()->bars().size(), std::size_t(1));
    QCOMPARE(view->bars()->bars()[0].total(), document.evaluation()->plan.memory.peak);
    QVERIFY(view->bars()->bars()[0].name.contains(QLatin1Char('8')));
}

void TestCostViews::legendNamesEveryColourAndFilters()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    const auto view = shownView<MemoryView>(document, { 1100, 400 });
    const auto swatches = view->findChildren<Swatch*>();
    const auto boxes = view->findChildren<QCheckBox*>(QRegularExpression(QStringLiteral("^memory\\.shown\\.")));
    QCOMPARE(swatches.size(), boxes.size());
    QCOMPARE(static_cast<std::size_t>(boxes.size()), view->bars()->bars()[0].parts.size());
    QSet<QString> looks; // no two alike: hatched where the hues come again
    for (const Swatch* swatch : swatches)
        looks.insert(swatch->color().fill.name() + QString::number(int(swatch->color().hatch)));
    QCOMPARE(looks.size(), swatches.size());
    const std::int64_t all = view->bars()->bars()[0].total();
    std::int64_t weights = 0;
    for (const BarPart& part : view->bars()->bars()[0].parts)
        if (part.name == boxes.front()->text())
            weights = part.bytes;
    QVERIFY(weights > 0 && weights < all);
    boxes.front()->click();
    QCOMPARE(view->bars()->bars()[0].total(), all - weights);
    QVERIFY(boxes.front() == view->findChild<QCheckBox*>(boxes.front()->objectName())); // still there, unticked
    QVERIFY(!boxes.front()->isChecked());
    boxes.front()->click();
    QCOMPARE(view->bars()->bars()[0].total(), all);
}

void TestCostViews::fittingDesignsNeedNoAdvice()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto view = shownView<MemoryView>(document, { 900, 280 });
    QVERIFY(!view->fitList()->isVisible());
    QVERIFY(!view->fitList()->advisor()->isBusy());
}

void TestCostViews::adviceIsTakenWithOneClick()
{
    Document document;
    QVERIFY(document.setDesign(fullDesign()).ok());
    const Design before = document.design();
    const auto view = shownView<MemoryView>(document, { 900, 400 });
    const auto* verdict = view->findChild<QLabel*>(QStringLiteral("memoryVerdict"));
    QVERIFY2(verdict->text().contains(QStringLiteral("Does not fit")), qPrintable(verdict->text()));
    FitList* list = view->fitList();
    QVERIFY(list->isVisible());
    QVERIFY(list->findChild<QProgressBar*>(QStringLiteral("fitProgress"))->isVisible()); // it is looked for off this thread
    constexpr int kPatience = 60000;
    QTRY_VERIFY_WITH_TIMEOUT(!list->advisor()->isBusy(), kPatience);
    QVERIFY(!list->findChild<QProgressBar*>(QStringLiteral("fitProgress"))->isVisible());
    const FitAdvice* advice = list->advisor()->advice();
    QVERIFY(advice && !advice->fixes.empty());
    const std::int64_t promised = advice->fixes.front().peakBytes;
    auto* apply = list->findChild<QPushButton*>(QStringLiteral("fitApply"));
    QVERIFY(apply && apply->accessibleName().contains(qstr(advice->fixes.front().what)));
    QTest::mouseClick(apply, Qt::LeftButton);
    QTRY_COMPARE(document.undoStack()->count(), 1);
    QCOMPARE(document.evaluation()->plan.memory.peak, promised);
    QVERIFY(verdict->text().contains(QStringLiteral("Fits")));
    QVERIFY(!list->isVisible());
    document.undoStack()->undo();
    QVERIFY(document.design() == before);
}

void TestCostViews::searchCanBeCancelled()
{
    FitAdvisor advisor;
    QSignalSpy answered(&advisor, &FitAdvisor::answered);
    advisor.ask(fullDesign());
    QVERIFY(advisor.isBusy());
    advisor.stop();
    constexpr int kPatience = 60000;
    QTRY_COMPARE_WITH_TIMEOUT(answered.count(), 1, kPatience);
    QVERIFY(advisor.advice());
    const int tried = advisor.advice()->tried;
    advisor.ask(fullDesign());
    QTRY_COMPARE_WITH_TIMEOUT(answered.count(), 2, kPatience);
    QVERIFY(tried < advisor.advice()->tried);
    // A forgotten search says nothing.
    advisor.ask(fullDesign());
    advisor.forget();
    QTest::qWait(50);
    QCOMPARE(answered.count(), 2);
}

void TestCostViews::summaryTellsTheRate()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    const auto bar = shownView<SummaryBar>(document, { 1500, 48 });
    const Performance& performance = document.evaluation()->plan.performance;
    QCOMPARE(bar->findChild<QLabel*>(QStringLiteral("summaryRate"))->text(),
             digitsText(performance.tokensPerSecondPerDevice) + QStringLiteral(" tok/s/device"));
    QCOMPARE(bar->findChild<QLabel*>(QStringLiteral("summaryRateTitle"))->text(),
             QStringLiteral("MFU %1 %").arg(digitsText(100 * performance.mfu)));
}

/// What is shown and hidden lays the window out anew, which is where folding came from.
void TestCostViews::summaryFoldsAtEverySize()
{
    Document document;
    QVERIFY(document.setDesign(trainDesign()).ok());
    QWidget host;
    auto* column = new QVBoxLayout(&host);
    column->setContentsMargins({});
    auto* bar = new SummaryBar(&document, &host);
    QAction run(QStringLiteral("Run on this machine"));
    bar->setAct(&run, &run);
    bar->setFinder(&run);
    column->addWidget(bar);
    column->addStretch(1);
    for (const int points : { 8, 10, 13, 16, 20 }) {
        QFont font = host.font();
        font.setPointSize(points);
        host.setFont(font);
        host.show();
        QCoreApplication::processEvents(); // fonts are followed later
        const int height = bar->height();
        for (int width = 600; width <= 1700; width += 20) {
            host.resize(width, 300);
            QCoreApplication::sendPostedEvents();
            QCOMPARE(bar->height(), height); // the window does not jump
            int shown = 0;
            for (const QWidget* child : bar->findChildren<QWidget*>(Qt::FindDirectChildrenOnly)) {
                shown += child->isVisible() ? 1 : 0;
                QVERIFY2(!child->isVisible() || bar->rect().contains(child->geometry()) || width < 900,
                         qPrintable(child->objectName()));
            }
            QVERIFY(shown >= 3);
        }
    }
}

void TestCostViews::withoutADesign()
{
    Document document;
    const auto costs = shownView<CostView>(document, { 700, 240 });
    QVERIFY(costs->findChild<QLabel*>(QStringLiteral("costEmpty"))->isVisible());
    const auto memory = shownView<MemoryView>(document, { 700, 240 });
    QVERIFY(memory->findChild<QLabel*>(QStringLiteral("memoryEmpty"))->isVisible());
    QVERIFY(document.setDesign(looseDesign("model=4")).ok()); // weights without a plan
    QVERIFY(costs->findChild<QLabel*>(QStringLiteral("costEmpty"))->isVisible());
    QVERIFY(!memory->chart()->isVisible());
}

void TestCostViews::everythingHasAName()
{
    Document document;
    QVERIFY(document.setDesign(fullDesign()).ok());
    const auto costs = shownView<CostView>(document, { 700, 240 });
    QCOMPARE(namelessIn(*costs), QString());
    const auto memory = shownView<MemoryView>(document, { 700, 240 });
    constexpr int kPatience = 60000;
    QTRY_VERIFY_WITH_TIMEOUT(!memory->fitList()->advisor()->isBusy(), kPatience);
    QCOMPARE(namelessIn(*memory), QString());
}

SHARDBOARD_TEST(TestCostViews)
#include "tst_costviews.moc"

// SPDX-License-Identifier: Apache-2.0
// Findings and their repairs with real clicks and keys on a real document, in the list and in the inspector.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "widgets/controls/card.h"
#include "widgets/edits/repairs.h"
#include "widgets/explain/inspector.h"
#include "widgets/findings/findingsview.h"
#include "widgets/jobs/longwork.h"
#include "widgets/look/theme.h"
#include "widgets/tables/notedelegate.h"

#include <QAction>
#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTreeWidget>
#include <QUndoStack>

#include <algorithm>
#include <memory>

using namespace shardboard;

namespace {

/// Nothing says anything about the weights: each large one is a finding with a repair.
Design silentDesign()
{
    Design design = knownDesign();
    design.strategies.clear();
    return design;
}

bool has(const Document& document, const Finding& finding)
{
    const auto& all = document.evaluation()->findings;
    return std::any_of(all.begin(), all.end(),
                       [&](const Finding& other) { return other.kind == finding.kind && other.where == finding.where; });
}

int repairsIn(const Document& document)
{
    const auto& all = document.evaluation()->findings;
    return static_cast<int>(std::count_if(all.begin(), all.end(), [](const DesignFinding& f) { return f.fix.has_value(); }));
}

struct ShownFindings : ShownView<FindingsView> {
    explicit ShownFindings(const Design& design)
        : ShownView(design, { 940, 260 })
    {
        activate();
    }
    QTreeWidget* list() const { return view->findChild<QTreeWidget*>(QStringLiteral("findingsList")); }
    QPushButton* button(int row) const
    {
        const QWidget* cell = list()->itemWidget(list()->topLevelItem(row), FindingsView::RepairColumn);
        return cell ? cell->findChild<QPushButton*>() : nullptr;
    }
    const DesignFinding& finding(int row) const { return document.evaluation()->findings[static_cast<std::size_t>(row)]; }
    int firstWithFix() const
    {
        for (int row = 0; row < list()->topLevelItemCount(); ++row)
            if (finding(row).fix)
                return row;
        return -1;
    }
};

} // namespace

class TestFindingsView : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void clickRepairsInOneStep();
    void keyRepairsTheCurrentOne();
    void keyWithoutAChoiceTakesTheWorst();
    void allAtOnceIsOneStep();
    void repairOfAllIsCancelledAndGivesWayToEdits();
    void repairOfAConflictAddsARule();
    void ruleFindingsLeadToTheRules();
    void longMessagesWrap();
    void costsAreComparable();
    void inspectorRepairsToo();
    void selectedWeightIsTheCurrentFinding();
    void pinsMemoryAndOperationsAreLedTo();
    void everyPlaceThatIsNamedIsThere();
};

void TestFindingsView::initTestCase() { applyTheme(*qApp, Theme::light()); }

void TestFindingsView::clickRepairsInOneStep()
{
    ShownFindings shown(silentDesign());
    QVERIFY(shown.ready);
    const int row = shown.firstWithFix();
    QVERIFY(row >= 0);
    const DesignFinding finding = shown.finding(row);
    shown.document.selection()->setWeight(weightNamed(shown.document, "k_proj"));
    shown.list()->scrollToItem(shown.list()->topLevelItem(row));
    QVERIFY(shown.button(row));
    QCOMPARE(shown.button(row)->accessibleName().toStdString(), finding.fix->text);
    for (int other = 0; other < shown.list()->topLevelItemCount(); ++other)
        if (const QPushButton* button = shown.button(other))
            QVERIFY2(button->width() >= button->sizeHint().width(), qPrintable(button->text())); // all of what it says
    QTest::mouseClick(shown.button(row), Qt::LeftButton);
    QTRY_COMPARE(shown.document.undoStack()->count(), 1);
    QCOMPARE(shown.document.undoStack()->undoText().toStdString(), finding.fix->text);
    QVERIFY(!has(shown.document, finding));
    QCOMPARE(weightAt(shown.document, shown.document.selection()->weight()).spec.name,
             weightAt(shown.document, weightNamed(shown.document, "k_proj")).spec.name);
    QCOMPARE(shown.list()->topLevelItemCount(), static_cast<int>(shown.document.evaluation()->findings.size()));
    shown.document.undoStack()->undo();
    QCOMPARE(shown.document.design(), silentDesign());
    QVERIFY(has(shown.document, finding));
}

void TestFindingsView::keyRepairsTheCurrentOne()
{
    ShownFindings shown(silentDesign());
    QVERIFY(shown.ready);
    int row = shown.firstWithFix();
    for (int next = row + 1; next < shown.list()->topLevelItemCount(); ++next) // not the first, so that the choice counts
        if (shown.finding(next).fix)
            row = next;
    QVERIFY(row > 0);
    const DesignFinding finding = shown.finding(row);
    shown.list()->setFocus();
    shown.list()->setCurrentItem(shown.list()->topLevelItem(row));
    QTest::keyClick(shown.list(), Qt::Key_Period, Qt::ControlModifier);
    QCOMPARE(shown.document.undoStack()->count(), 1);
    QCOMPARE(shown.document.undoStack()->undoText().toStdString(), finding.fix->text);
    QVERIFY(!has(shown.document, finding));
}

void TestFindingsView::keyWithoutAChoiceTakesTheWorst()
{
    ShownFindings shown(silentDesign());
    QVERIFY(shown.ready);
    const DesignFinding finding = shown.finding(shown.firstWithFix());
    shown.view->repairAction()->trigger();
    QCOMPARE(shown.document.undoStack()->undoText().toStdString(), finding.fix->text);
    ShownFindings clean(knownDesign());
    QVERIFY(clean.ready);
    if (repairsIn(clean.document) == 0)
        QVERIFY(!clean.view->repairAction()->isEnabled());
}

void TestFindingsView::allAtOnceIsOneStep()
{
    ShownFindings shown(silentDesign());
    QVERIFY(shown.ready);
    const int before = repairsIn(shown.document);
    QVERIFY(before > 1);
    auto* all = shown.view->findChild<QPushButton*>(QStringLiteral("repairAll"));
    QVERIFY(all->isVisible());
    QTest::mouseClick(all, Qt::LeftButton);
    QTRY_COMPARE(shown.document.undoStack()->count(), 1);
    for (const DesignFinding& finding : shown.document.evaluation()->findings)
        QVERIFY2(!finding.fix, (finding.where + ": " + finding.message).c_str());
    shown.document.undoStack()->undo();
    QCOMPARE(shown.document.design(), silentDesign());
}

/// All repairs are evaluated while the window lives on: they can be cancelled, which is no error, and an edit wins over them.
void TestFindingsView::repairOfAllIsCancelledAndGivesWayToEdits()
{
    ShownFindings shown(silentDesign());
    QVERIFY(shown.ready);
    auto* all = shown.view->findChild<QPushButton*>(QStringLiteral("repairAll"));
    auto* work = shown.view->findChild<LongWork*>();
    auto* refusal = shown.view->findChild<QLabel*>(QStringLiteral("findingsRefusal"));
    QSignalSpy ended(work, &LongWork::ended);
    all->click();
    QVERIFY(work->isBusy());
    QVERIFY(!all->isEnabled());
    QCOMPARE(shown.document.undoStack()->count(), 0);
    work->findChild<QPushButton*>(QStringLiteral("longWork.cancel"))->click();
    QCOMPARE(ended.count(), 1);
    QVERIFY(all->isEnabled());
    QTest::qWait(200);
    QCOMPARE(shown.document.design(), silentDesign());
    QVERIFY(!refusal->isVisible());
    all->click();
    const int weight = weightNamed(shown.document, "down_proj");
    const Design edited = shown.document.withStrategy(shown.document.patternOf(weight), shown.document.withAxisOnDim(weight, 0, 0));
    QVERIFY(shown.document.edit(edited, QStringLiteral("meanwhile")).ok());
    QTRY_COMPARE(ended.count(), 2);
    QCOMPARE(shown.document.undoStack()->count(), 1);
    QCOMPARE(shown.document.design(), edited);
    QVERIFY(all->isEnabled());
}

void TestFindingsView::repairOfAConflictAddsARule()
{
    Design design = knownDesign("fsdp=4,tensor=2");
    design.strategies.clear();
    // down_proj is (embed, mlp): embed wants fsdp and tensor, but mlp took tensor, and so fsdp is lost too.
    design.rules = { "test", { { "mlp", { "tensor" }, {} }, { "embed", { "fsdp", "tensor" }, {} } } };
    ShownFindings shown(design);
    QVERIFY(shown.ready);
    QCOMPARE(specOf(shown.document, weightNamed(shown.document, "down_proj")), std::string("P(None, 'tensor')"));
    int row = -1;
    for (int i = 0; i < shown.list()->topLevelItemCount(); ++i)
        if (shown.finding(i).where.find("down_proj") != std::string::npos && shown.finding(i).fix)
            row = i;
    QVERIFY(row >= 0);
    const DesignFinding finding = shown.finding(row);
    shown.list()->scrollToItem(shown.list()->topLevelItem(row));
    QTest::mouseClick(shown.button(row), Qt::LeftButton);
    QTRY_COMPARE(shown.document.undoStack()->count(), 1);
    QVERIFY(!has(shown.document, finding));
    QCOMPARE(specOf(shown.document, weightNamed(shown.document, "down_proj")), std::string("P('fsdp', 'tensor')"));
}

void TestFindingsView::ruleFindingsLeadToTheRules()
{
    Design design = knownDesign("fsdp=4,tensor=2");
    design.rules = { "test", { { "embed", {}, {} }, { "embed", { "fsdp" }, {} } } }; // the second can never apply
    ShownFindings shown(design);
    QVERIFY(shown.ready);
    const QSignalSpy named(shown.view.get(), &FindingsView::placeChosen);
    for (int row = 0; row < shown.list()->topLevelItemCount(); ++row)
        if (shown.finding(row).where == "embed")
            Q_EMIT shown.list()->itemActivated(shown.list()->topLevelItem(row), 0);
    QVERIFY(named.count() >= 1);
    QCOMPARE(named.first().first().value<FindingPlace>().name, QStringLiteral("embed"));
}

void TestFindingsView::longMessagesWrap()
{
    ShownFindings shown(silentDesign());
    QVERIFY(shown.ready);
    const auto height = [&] { return shown.list()->visualItemRect(shown.list()->topLevelItem(0)).height(); };
    const int wide = height();
    shown.view->resize(420, 260);
    QTRY_VERIFY(height() > wide);
    shown.view->resize(940, 260);
    QTRY_COMPARE(height(), wide);
}

void TestFindingsView::costsAreComparable()
{
    ShownFindings shown(silentDesign());
    QVERIFY(shown.ready);
    int costs = 0;
    for (int row = 0; row < shown.list()->topLevelItemCount(); ++row) {
        const QTreeWidgetItem* item = shown.list()->topLevelItem(row);
        if (shown.finding(row).costBytes < (std::int64_t { 1 } << 20))
            continue;
        ++costs;
        const double gib = static_cast<double>(shown.finding(row).costBytes) / (1 << 30);
        bool isNumber = false;
        QVERIFY(std::abs(item->text(FindingsView::CostColumn).toDouble(&isNumber) - gib) <= 0.05);
        QVERIFY(isNumber);
        QVERIFY(item->textAlignment(FindingsView::CostColumn) & Qt::AlignRight);
    }
    QVERIFY(costs > 0);
}

void TestFindingsView::inspectorRepairsToo()
{
    Document document;
    QVERIFY(document.setDesign(silentDesign()).ok());
    InspectorPanel inspector(&document);
    inspector.resize(340, 900);
    inspector.show();
    QVERIFY(QTest::qWaitForWindowExposed(&inspector));
    document.selection()->setWeight(weightNamed(document, "down_proj"));
    inspector.buildNow();
    auto* button = inspector.findChild<QPushButton*>(QStringLiteral("inspectorRepair"));
    QVERIFY(button);
    QTest::mouseClick(button, Qt::LeftButton);
    QTRY_COMPARE(document.undoStack()->count(), 1);
    QVERIFY(weightAt(document, document.selection()->weight()).spec.name.find("down_proj") != std::string::npos);
    for (const DesignFinding& finding : document.evaluation()->findings)
        QVERIFY(finding.kind != "silently-replicated" || finding.where.find("down_proj") == std::string::npos);
}

void TestFindingsView::selectedWeightIsTheCurrentFinding()
{
    ShownFindings shown(silentDesign());
    QVERIFY(shown.ready);
    shown.list()->clearFocus();
    shown.document.selection()->setWeight(weightNamed(shown.document, "up_proj"));
    const int row = shown.list()->indexOfTopLevelItem(shown.list()->currentItem());
    QVERIFY(row >= 0);
    QVERIFY(shown.finding(row).where.find("up_proj") != std::string::npos);
}

/// What a finding speaks of is shown by its row and, where there is no repair, by a button.
void TestFindingsView::pinsMemoryAndOperationsAreLedTo()
{
    Design design = knownDesign("model=4");
    design.hardware = "dgx-h100";
    design.workload.batch = 4096; // more than fits
    design.picker.onReshard = OnReshard::Raise;
    design.pins = { parsePin("*:sequense=model").value() };
    ShownFindings shown(design);
    QVERIFY(shown.ready);
    const QSignalSpy chosen(shown.view.get(), &FindingsView::placeChosen);
    const auto rowOf = [&](const char* kind) {
        for (int row = 0; row < shown.list()->topLevelItemCount(); ++row)
            if (shown.finding(row).kind == kind)
                return row;
        return -1;
    };
    const auto last = [&] { return chosen.last().first().value<FindingPlace>(); };
    const int memory = rowOf("over-memory");
    QVERIFY(memory >= 0 && shown.button(memory));
    QCOMPARE(shown.button(memory)->accessibleName(), QStringLiteral("Show memory"));
    QTest::mouseClick(shown.button(memory), Qt::LeftButton);
    QTRY_COMPARE(chosen.count(), 1);
    QCOMPARE(static_cast<int>(last().kind), static_cast<int>(FindingPlace::Kind::Memory));
    const int dead = rowOf("dead-pin");
    QVERIFY(dead >= 0 && shown.finding(dead).fix);
    QCOMPARE(shown.button(dead)->accessibleName().toStdString(), shown.finding(dead).fix->text); // the repair comes first
    Q_EMIT shown.list()->itemActivated(shown.list()->topLevelItem(dead), 0);
    QCOMPARE(chosen.count(), 2);
    QCOMPARE(static_cast<int>(last().kind), static_cast<int>(FindingPlace::Kind::Pin));
    QCOMPARE(last().index, 0);
    const int moved = rowOf("reshard");
    QVERIFY(moved >= 0 && shown.button(moved));
    shown.list()->scrollToItem(shown.list()->topLevelItem(moved));
    shown.document.selection()->clear();
    QTest::mouseClick(shown.button(moved), Qt::LeftButton);
    QTRY_VERIFY(shown.document.selection()->operation().valid() || shown.document.selection()->collective().valid());
    QCOMPARE(chosen.count(), 2); // it is a selection, no other view
    // The inspector of the whole design leads there too, and to the memory.
    shown.document.selection()->clear();
    InspectorPanel panel(&shown.document);
    panel.show();
    panel.buildNow();
    const QSignalSpy fromPanel(&panel, &InspectorPanel::placeChosen);
    for (Card* card : panel.findChildren<Card*>())
        if (card->toolTip() == QStringLiteral("Show memory"))
            QTest::mouseClick(card, Qt::LeftButton);
    QTRY_COMPARE(fromPanel.count(), 1);
}

void TestFindingsView::everyPlaceThatIsNamedIsThere()
{
    Document document;
    Design design = knownDesign("data=2,model=4");
    design.picker.picker = PickerKind::None;
    design.picker.profile = PickerProfile::G1;
    design.pins = { parsePin("*:batch=data").value() };
    QVERIFY(document.setDesign(design).ok());
    int refused = 0;
    for (const DesignFinding& finding : document.evaluation()->findings) {
        const FindingPlace place = placeOf(document, finding);
        if (finding.kind == "refused-pick") {
            ++refused;
            QVERIFY2(place.kind == FindingPlace::Kind::Operation || place.kind == FindingPlace::Kind::Collective,
                     finding.where.c_str());
            QVERIFY(selectPlace(document, place));
        }
        if (finding.kind == "unknown-pins")
            QCOMPARE(static_cast<int>(place.kind), static_cast<int>(FindingPlace::Kind::Pin));
    }
    QVERIFY(refused > 0);
    QCOMPARE(static_cast<int>(placeNamed(document, "no such thing").kind), static_cast<int>(FindingPlace::Kind::None));
    QCOMPARE(static_cast<int>(placeNamed(document, "model").kind), static_cast<int>(FindingPlace::Kind::MeshAxis));
}

SHARDBOARD_TEST(TestFindingsView)
#include "tst_findingsview.moc"

// SPDX-License-Identifier: Apache-2.0
// A step of training in the flow and in the collectives: which phase is seen, what belongs to it, and how it is chosen.
#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"

#include "widgets/controls/choicebox.h"
#include "widgets/cost/collectivesmodel.h"
#include "widgets/cost/collectivesview.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowview.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QApplication>
#include <QLineEdit>
#include <QTableView>
#include <QTest>
#include <QUndoStack>

#include <algorithm>
#include <set>

using namespace shardboard;

namespace {

void choose(ChoiceBox* box, Phase phase)
{
    const int index = box->findData(static_cast<int>(phase));
    box->setCurrentIndex(index);
    Q_EMIT box->activated(index);
}

ChoiceBox* boxOf(const QWidget& view, const char* name) { return view.findChild<ChoiceBox*>(QString::fromLatin1(name)); }

int collectivesIn(const Document& document, Phase phase)
{
    const Plan& plan = document.evaluation()->plan;
    return static_cast<int>(std::count_if(plan.collectives.begin(), plan.collectives.end(),
                                          [&](const Collective& it) { return plan.segment(it.plannedSegment).phase == phase; }));
}

} // namespace

class TestPhases : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, Theme::light()); }
    void inferenceHasNothingToChoose();
    void flowShowsThePhaseThatIsChosen();
    void flowFollowsTheSelection();
    void updateHasABoxForEachWeight();
    void collectivesAreFilteredByPhase();
    void filterOutlivesEditsAndEndsWithTraining();
    void bytesTimeAndCauseAreInSight();
};

void TestPhases::inferenceHasNothingToChoose()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    FlowView flow(&document);
    CollectivesView collectives(&document);
    flow.show();
    collectives.show();
    QVERIFY(!boxOf(flow, "flowPhase")->isVisible());
    QVERIFY(boxOf(flow, "flowSegment")->isVisible());
    QVERIFY(!boxOf(collectives, "collectivesPhase")->isVisible());
    QVERIFY(collectives.findChild<QTableView*>()->isColumnHidden(CollectivesModel::PhaseColumn));
}

void TestPhases::flowShowsThePhaseThatIsChosen()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign()).ok());
    FlowView flow(&document);
    flow.resize(900, 400);
    flow.show();
    ChoiceBox* box = boxOf(flow, "flowPhase");
    QVERIFY(box->isVisible());
    QStringList phases;
    for (int i = 0; i < box->count(); ++i)
        phases << box->itemText(i);
    QCOMPARE(phases, (QStringList { QStringLiteral("forward"), QStringLiteral("backward"), QStringLiteral("update") }));
    const auto evaluation = document.evaluation();
    const auto& segments = evaluation->plan.segments;
    const std::string block = segments[flow.segment()].name;
    for (const Phase phase : { Phase::Backward, Phase::Update, Phase::Forward }) {
        choose(box, phase);
        const PlannedSegment& shown = segments[flow.segment()];
        QCOMPARE(static_cast<int>(shown.phase), static_cast<int>(phase));
        QCOMPARE(shown.name, block); // the same layers
        // All operations of the segment, and no others; its collectives.
        std::set<OpId> wanted;
        std::set<CollectiveId> moved;
        for (const PlannedOp& op : shown.ops) {
            wanted.insert(op.op);
            for (const OperandUse& use : op.operands)
                moved.insert(use.collectives.begin(), use.collectives.end());
        }
        std::set<OpId> painted;
        std::set<CollectiveId> pills;
        for (const FlowItem& item : flow.canvas()->scene().items) {
            painted.insert(item.ops.begin(), item.ops.end());
            if (item.collective.valid())
                pills.insert(item.collective);
        }
        QVERIFY(painted == wanted);
        QVERIFY(pills == moved);
        // The segments to choose from are those of the phase.
        const ChoiceBox* choice = boxOf(flow, "flowSegment");
        for (int i = 0; i < choice->count(); ++i)
            QCOMPARE(static_cast<int>(segments[static_cast<std::size_t>(choice->itemData(i).toInt())].phase),
                     static_cast<int>(phase));
        QCOMPARE(choice->currentData().toInt(), flow.segment().number());
    }
}

void TestPhases::flowFollowsTheSelection()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign()).ok());
    FlowView flow(&document);
    flow.resize(900, 400);
    flow.show();
    const Plan& plan = document.evaluation()->plan;
    for (const Phase phase : { Phase::Backward, Phase::Forward }) {
        for (CollectiveId i { 0 }; i < plan.collectives.size(); ++i)
            if (plan.segment(plan.collective(i).plannedSegment).phase == phase) {
                document.selection()->setCollective(i);
                break;
            }
        QCOMPARE(boxOf(flow, "flowPhase")->currentData().toInt(), static_cast<int>(phase));
        QCOMPARE(flow.segment(), plan.collective(document.selection()->collective()).plannedSegment);
    }
}

void TestPhases::updateHasABoxForEachWeight()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign()).ok());
    FlowView flow(&document);
    flow.resize(900, 400);
    flow.show();
    choose(boxOf(flow, "flowPhase"), Phase::Update);
    const PlannedSegment& segment = document.evaluation()->plan.segment(flow.segment());
    const auto& items = flow.canvas()->scene().items;
    const auto folded =
        std::count_if(items.begin(), items.end(), [](const FlowItem& item) { return item.kind == FlowItem::Folded; });
    QCOMPARE(items.size() - static_cast<std::size_t>(folded), segment.ops.size());
    const auto box = std::find_if(flow.canvas()->scene().items.begin(), flow.canvas()->scene().items.end(),
                                  [](const FlowItem& item) { return item.title == QStringLiteral("Adam o_proj"); });
    QVERIFY(box != flow.canvas()->scene().items.end());
    QCOMPARE(box->detail, QStringLiteral("S(0) fsdp S(1) model")); // as the weight lies
}

void TestPhases::collectivesAreFilteredByPhase()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign()).ok());
    CollectivesView view(&document);
    view.resize(950, 400);
    view.show();
    const auto* table = view.findChild<QTableView*>();
    const int all = static_cast<int>(document.evaluation()->plan.collectives.size());
    QVERIFY(!table->isColumnHidden(CollectivesModel::PhaseColumn));
    QCOMPARE(table->model()->rowCount(), all);
    ChoiceBox* box = boxOf(view, "collectivesPhase");
    int seen = 0;
    for (const Phase phase : { Phase::Forward, Phase::Backward, Phase::Update }) {
        if (box->findData(static_cast<int>(phase)) < 0)
            continue;
        box->setCurrentIndex(box->findData(static_cast<int>(phase)));
        QCOMPARE(table->model()->rowCount(), collectivesIn(document, phase));
        for (int row = 0; row < table->model()->rowCount(); ++row)
            QCOMPARE(table->model()->index(row, CollectivesModel::PhaseColumn).data().toString().toStdString(), phaseName(phase));
        seen += table->model()->rowCount();
    }
    QCOMPARE(seen, all);
    // Both filters count.
    box->setCurrentIndex(box->findData(static_cast<int>(Phase::Backward)));
    view.findChild<QLineEdit*>(QStringLiteral("collectivesFilter"))->setText(QStringLiteral("reduce-scatter"));
    const int scatters = table->model()->rowCount();
    QVERIFY(scatters > 0 && scatters < collectivesIn(document, Phase::Backward));
    // A click on a row selects that collective, whatever is filtered.
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(table->model()->index(0, 0)).center());
    const Collective& chosen = document.evaluation()->plan.collective(document.selection()->collective());
    QCOMPARE(static_cast<int>(chosen.kind), static_cast<int>(CollectiveKind::ReduceScatter));
    view.findChild<QLineEdit*>(QStringLiteral("collectivesFilter"))->clear();
    box->setCurrentIndex(0);
    QCOMPARE(table->model()->rowCount(), all);
}

void TestPhases::filterOutlivesEditsAndEndsWithTraining()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign()).ok());
    CollectivesView view(&document);
    view.show();
    const auto* table = view.findChild<QTableView*>();
    ChoiceBox* box = boxOf(view, "collectivesPhase");
    box->setCurrentIndex(box->findData(static_cast<int>(Phase::Backward)));
    Design edited = document.design();
    edited.workload.sequence = 2048;
    QVERIFY(document.edit(edited, QStringLiteral("shorter")).ok());
    QCOMPARE(box->currentData().toInt(), static_cast<int>(Phase::Backward));
    QCOMPARE(table->model()->rowCount(), collectivesIn(document, Phase::Backward));
    edited.workload.kind = WorkloadKind::Prefill;
    QVERIFY(document.edit(edited, QStringLiteral("prefill")).ok());
    QVERIFY(!box->isVisible());
    QCOMPARE(table->model()->rowCount(), static_cast<int>(document.evaluation()->plan.collectives.size()));
}

void TestPhases::bytesTimeAndCauseAreInSight()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign("deepseek2-16b", "data=2,fsdp=2,expert=4", "ep")).ok());
    CollectivesView view(&document);
    view.resize(950, 260);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    auto* table = view.findChild<QTableView*>();
    const int cause = table->columnViewportPosition(CollectivesModel::CauseColumn);
    QVERIFY2(table->viewport()->width() - cause >= 150, qPrintable(QString::number(cause)));
    // What is copied has the whole names.
    table->selectAll();
    QVERIFY(asTsv(selectedCells(table)).contains(QStringLiteral("grad of model.layers.*.mlp.experts.*.gate_proj.weight")));
}

SHARDBOARD_TEST(TestPhases)
#include "tst_phases.moc"

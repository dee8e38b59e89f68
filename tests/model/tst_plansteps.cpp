// SPDX-License-Identifier: Apache-2.0
// A plan walked step by step: every collective and every operation once, in the order in which they run.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/plan/plansteps.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <map>
#include <set>

using namespace shardboard;

namespace {

struct Case {
    const char* name;
    const char* mesh;
    const char* preset;
    WorkloadKind kind;
};

std::shared_ptr<const Evaluation> evaluated(const Case& it)
{
    const std::int64_t microBatches = std::string(it.preset).starts_with("pp") ? 8 : 1;
    return evaluated(designOn(it.mesh, llama3Model(), { it.kind, 16, 4096, DType::BF16, microBatches }, it.preset));
}

} // namespace

class TestPlanSteps : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyStepOnceAndInOrder_data();
    void everyStepOnceAndInOrder();
    void sharedAndUnnamedCollectives();
    void stepsAreFound();
};

void TestPlanSteps::everyStepOnceAndInOrder_data()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("kind");
    dataRow("replicated", "data=2,model=4", "replicate", static_cast<int>(WorkloadKind::Prefill));
    dataRow("megatron", "data=2,model=4", "megatron-tp", static_cast<int>(WorkloadKind::Prefill));
    dataRow("sequence", "data=2,model=4", "tp-sp", static_cast<int>(WorkloadKind::Decode));
    dataRow("training", "fsdp=4,model=2", "tp+fsdp", static_cast<int>(WorkloadKind::Train));
    dataRow("ring", "data=2,context=4", "cp-ring", static_cast<int>(WorkloadKind::Train));
    dataRow("pipeline", "pipe=4,data=2", "pp-1f1b", static_cast<int>(WorkloadKind::Train));
}

void TestPlanSteps::everyStepOnceAndInOrder()
{
    QFETCH(QString, mesh);
    QFETCH(QString, preset);
    QFETCH(int, kind);
    const auto evaluation =
        evaluated({ QTest::currentDataTag(), qPrintable(mesh), qPrintable(preset), static_cast<WorkloadKind>(kind) });
    const Plan& plan = evaluation->plan;
    const auto steps = planSteps(plan);
    std::set<int> collectives;
    std::map<std::pair<int, int>, int> operations; // to their place
    std::pair<int, int> last { -1, -1 };
    int lastCollective = -1;
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
        const PlanStep& step = steps[static_cast<std::size_t>(i)];
        if (step.collective < 0) {
            const std::pair place { step.segment, step.operation };
            QVERIFY(last < place); // program order
            last = place;
            operations[place] = i;
            continue;
        }
        QVERIFY2(collectives.insert(step.collective).second, qPrintable(QString::number(step.collective)));
        const Collective& collective = plan.collectives[static_cast<std::size_t>(step.collective)];
        QCOMPARE(step.segment, collective.plannedSegment);
        QCOMPARE(plan.segments[static_cast<std::size_t>(step.segment)].ops[static_cast<std::size_t>(step.operation)].op,
                 collective.op);
        if (!plan.pipeline) { // sends between stages are at the end of the plan's list
            QVERIFY(step.collective > lastCollective);
            lastCollective = step.collective;
        }
    }
    QCOMPARE(collectives.size(), plan.collectives.size());
    std::size_t all = 0;
    for (const PlannedSegment& segment : plan.segments)
        all += segment.ops.size();
    QCOMPARE(operations.size(), all);
    // What an operation waits for comes before it, and after the one before it.
    for (int i = 0; i < static_cast<int>(steps.size()); ++i)
        if (const PlanStep& step = steps[static_cast<std::size_t>(i)]; step.collective >= 0) {
            QVERIFY(i < operations[(std::pair { step.segment, step.operation })]);
            if (step.operation > 0)
                QVERIFY(i > operations[(std::pair { step.segment, step.operation - 1 })]);
        }
    if (QString::fromLatin1(QTest::currentDataTag()) != QLatin1String("replicated"))
        QVERIFY(!collectives.empty());
}

/// A plan written by hand: collective 1 serves two operations, collective 2 none that the segment has.
void TestPlanSteps::sharedAndUnnamedCollectives()
{
    Plan plan;
    plan.collectives.resize(3);
    for (Collective& collective : plan.collectives)
        collective.op = 7;
    plan.collectives[2].op = 99;
    PlannedSegment segment;
    segment.ops.resize(3);
    const OpId ids[] = { 7, 8, 9 };
    for (std::size_t i = 0; i < 3; ++i) {
        segment.ops[i].op = ids[i];
        segment.ops[i].operands.resize(2);
    }
    segment.ops[0].operands[1].collectives = { 0, 1 };
    segment.ops[2].operands[0].collectives = { 1 };
    plan.segments = { segment };
    const std::vector<PlanStep> wanted { { 0, 0, 0 }, { 0, 0, 1 }, { 0, 0, -1 }, { 0, 1, -1 }, { 0, 2, -1 }, { 0, 2, 2 } };
    QVERIFY(planSteps(plan) == wanted);
    QVERIFY(planSteps(Plan()).empty());
}

void TestPlanSteps::stepsAreFound()
{
    const std::vector<PlanStep> steps { { 0, 0, 4 }, { 0, 0, -1 }, { 1, 0, 2 }, { 1, 0, -1 } };
    QCOMPARE(stepOfCollective(steps, 2), 2);
    QCOMPARE(stepOfCollective(steps, 3), -1);
    QCOMPARE(stepOfCollective(steps, -1), -1); // and not the first operation
    QCOMPARE(stepOfOperation(steps, 1, 0), 3);
    QCOMPARE(stepOfOperation(steps, 0, 1), -1);
}

SHARDBOARD_TEST(TestPlanSteps)
#include "tst_plansteps.moc"

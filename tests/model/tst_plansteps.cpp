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

PlanStep step(int segment, int operation, int collective = -1)
{
    return { PlannedSegmentId(segment), PlannedOpId(operation), CollectiveId(collective) };
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
    std::set<CollectiveId> collectives;
    std::map<std::pair<PlannedSegmentId, PlannedOpId>, int> operations; // to their place
    std::pair<PlannedSegmentId, PlannedOpId> last;
    CollectiveId lastCollective;
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
        const PlanStep& step = steps[static_cast<std::size_t>(i)];
        if (!step.collective.valid()) {
            const std::pair place { step.segment, step.operation };
            QVERIFY(last < place); // program order
            last = place;
            operations[place] = i;
            continue;
        }
        QVERIFY2(collectives.insert(step.collective).second, qPrintable(QString::number(step.collective.number())));
        const Collective& collective = plan.collective(step.collective);
        QCOMPARE(step.segment, collective.plannedSegment);
        QCOMPARE(plan.segment(step.segment).ops[step.operation].op, collective.op);
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
        if (const PlanStep& step = steps[static_cast<std::size_t>(i)]; step.collective.valid()) {
            QVERIFY(i < operations[(std::pair { step.segment, step.operation })]);
            if (step.operation.number() > 0)
                QVERIFY(i > operations[(std::pair { step.segment, PlannedOpId(step.operation - 1) })]);
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
        collective.op = OpId(7);
    plan.collectives[2].op = OpId(99);
    PlannedSegment segment;
    segment.ops.resize(3);
    const OpId ids[] = { OpId(7), OpId(8), OpId(9) };
    for (std::size_t i = 0; i < 3; ++i) {
        segment.ops[i].op = ids[i];
        segment.ops[i].operands.resize(2);
    }
    segment.ops[0].operands[1].collectives = { CollectiveId(0), CollectiveId(1) };
    segment.ops[2].operands[0].collectives = { CollectiveId(1) };
    plan.segments = { segment };
    const std::vector<PlanStep> wanted { step(0, 0, 0), step(0, 0, 1), step(0, 0), step(0, 1), step(0, 2), step(0, 2, 2) };
    QVERIFY(planSteps(plan) == wanted);
    QVERIFY(planSteps(Plan()).empty());
}

void TestPlanSteps::stepsAreFound()
{
    const std::vector<PlanStep> steps { step(0, 0, 4), step(0, 0), step(1, 0, 2), step(1, 0) };
    QCOMPARE(stepOfCollective(steps, CollectiveId(2)), 2);
    QCOMPARE(stepOfCollective(steps, CollectiveId(3)), -1);
    QCOMPARE(stepOfCollective(steps, {}), -1); // and not the first operation
    QCOMPARE(stepOfOperation(steps, PlannedSegmentId(1), PlannedOpId(0)), 3);
    QCOMPARE(stepOfOperation(steps, PlannedSegmentId(0), PlannedOpId(1)), -1);
}

SHARDBOARD_TEST(TestPlanSteps)
#include "tst_plansteps.moc"

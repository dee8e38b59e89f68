// SPDX-License-Identifier: Apache-2.0
// Runs and traces as lanes, and the table of errors: their numbers are those of the run.
#include "model/io/lanes/errortable.h"
#include "model/io/lanes/runlanes.h"
#include "model/io/lanes/tracelanes.h"
#include "model/io/trace/readtrace.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cmath>
#include <set>

using namespace shardboard;

namespace {

/// Two devices, three steps of two operations and a collective: device 1 takes longer in the first.
RunProfile smallProfile()
{
    RunProfile out;
    out.mode = ProfileMode::Batched;
    out.devices = { { 0, "device 0", 100, 90, "a" }, { 1, "device 1", 100, 80, "a" } };
    out.operations = { { "block/a", "matmul", false, 0, 0, 0, 1, {}, {}, 1.0 },
                       { "block/a/o", "all-reduce", true, 0, 0, 64, 2, "t", { { 0, 1 } }, 0.5 },
                       { "block/b", "add", false, 0, 0, 0, 1, {}, {}, 0.25 } };
    for (std::int64_t step = 0; step < 3; ++step) {
        const double slow = 2.0 + static_cast<double>(step);
        out.events.push_back({ 0, step, 0, 0, 0.9 * slow, slow, { { 0, 0, 1, 1.5, 90 }, { 1, 0, 1, slow, 80 } } });
        out.events.push_back({ 1, step, 0, 0, 0.7, 0.7, { { 0, 2, 3, 0.1, 60 }, { 1, 2, 3, 0.6, 60 } } });
        out.events.push_back({ 2, step, 0, 0, 0.2, 0.2, { { 0, 3, 4, 0.2, 50 } } });
    }
    return out;
}

double sumOfLane(const Lane& lane)
{
    double out = 0;
    for (const LaneInterval& it : lane.intervals)
        out += it.seconds;
    return out;
}

bool same(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max({ std::abs(a), std::abs(b), 1.0 }); }

} // namespace

class TestRunLanes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The typical step takes 3 + 0.7 + 0.2, on every device.
    void lanesAddUpToTheStep()
    {
        const RunProfile profile = smallProfile();
        QCOMPARE(wholeSteps(profile).size(), std::size_t { 3 });
        QCOMPARE(typicalStep(profile), std::int64_t { 1 });
        const Timeline lanes = runLanes(profile, 1, {});
        QCOMPARE(lanes.lanes.size(), std::size_t { 4 });
        QVERIFY(same(lanes.seconds, 3.9));
        for (const Lane& lane : lanes.lanes)
            QVERIFY(same(sumOfLane(lane), lane.predicted ? 1.75 : 3.9));
        const auto& first = lanes.lanes[1];
        QVERIFY(!first.predicted && first.group == "device 0");
        QCOMPARE(lanes.nameOf(first.intervals[0]), std::string("block/a"));
        QCOMPARE(lanes.nameOf(first.intervals[1]), std::string("waits for the slowest device"));
        QVERIFY(same(first.intervals[0].seconds, 1.5) && same(first.intervals[1].seconds, 1.5));
        QVERIFY(first.intervals[2].kind == IntervalKind::Collective && same(first.intervals[2].seconds, 0.7));
        QCOMPARE(lanes.nameOf(lanes.lanes[3].intervals.back()), std::string("other devices work"));
        // Device 1 is the slowest of the product, and the collective ends for both; the last is device 0's alone.
        QCOMPARE(lanes.path.size(), std::size_t { 2 });
        QVERIFY(lanes.path[0].lane == 3 && same(lanes.path[0].start, 0) && same(lanes.path[0].end, 3.7));
        QVERIFY(lanes.path[1].lane == 1 && same(lanes.path[1].end, 3.9));
        QCOMPARE(lanes.memory.size(), std::size_t { 2 });
        QVERIFY(same(lanes.memory[0].peak(), 90) && same(lanes.memory[1].peak(), 80));
    }

    /// Rows are those of the step that is shown, the most seconds first, and add up to it.
    void tableAddsUpToTheStep()
    {
        const RunProfile profile = smallProfile();
        RunResult result;
        const ErrorTable table = errorTable(result, &profile, 1, {}, nullptr, {});
        QCOMPARE(table.step, std::int64_t { 1 });
        QVERIFY(same(table.measured, 3.9) && same(table.predicted, 1.75));
        double measured = 0;
        double predicted = 0;
        for (const ErrorRow& row : table.rows) {
            measured += row.measured;
            predicted += row.predicted;
        }
        QVERIFY(same(measured, runLanes(profile, 1, {}).seconds) && same(predicted, table.predicted));
        QCOMPARE(table.rows.front().id, std::string("block/a"));
        QVERIFY(same(*table.rows.front().error(), 2.0) && same(table.rows.front().lost(), 2.0));
        QVERIFY(std::abs(table.rows[1].lost()) >= std::abs(table.rows[2].lost()));
    }

    /// Without a profile medians are told, and what they miss of the median step is a row.
    void mediansAreMadeWhole()
    {
        RunResult result;
        result.operations = { { "a", "matmul", 1.0, 0.5, 0, 3, -1 }, { "c", "all-reduce", 0.25, 0.5, 8, 2, -1 } };
        result.stepMedian = 3.75;
        result.predictedStepSeconds = 2.5;
        const ErrorTable table = errorTable(result, nullptr, -1, {}, nullptr, {});
        QCOMPARE(table.step, std::int64_t { -1 });
        double measured = 0;
        double predicted = 0;
        for (const ErrorRow& row : table.rows) {
            measured += row.measured;
            predicted += row.predicted;
        }
        QVERIFY(same(measured, 3.75) && same(predicted, 2.5));
        QCOMPARE(table.rows.size(), std::size_t { 3 });
        QVERIFY(!table.rows.back().error() || table.rows.back().count == 0);
        result.stepMedian = 3.5;
        QCOMPARE(errorTable(result, nullptr, -1, {}, nullptr, {}).rows.size(), std::size_t { 2 });
    }

    /// What was left out begins in the last step that is there.
    void brokenStepsAreNotShown()
    {
        RunProfile profile = smallProfile();
        profile.leftOut = 1;
        QCOMPARE(wholeSteps(profile).size(), std::size_t { 2 });
        profile.events.resize(2);
        QVERIFY(wholeSteps(profile).empty());
        QCOMPARE(typicalStep(profile), std::int64_t { -1 });
    }

    /// Operations of a run are those of the plan by their ids.
    void itemsAreThoseOfThePlan()
    {
        const Design design = designOn("fsdp=2,model=2", llama3Model(), { WorkloadKind::Train, 8, 1024, DType::BF16 }, "tp+fsdp");
        const auto evaluation = evaluated(design);
        const auto items = timelineItems(evaluation->graph, evaluation->plan);
        std::set<std::string> ids;
        for (const TimelineItem& item : items)
            QVERIFY2(ids.insert(item.id).second, item.id.c_str());
        RunProfile profile = smallProfile();
        profile.operations[0].id = items.front().id;
        profile.operations[1].id = evaluation->plan.collectives.front().id;
        const Timeline lanes = runLanes(profile, 0, items);
        QCOMPARE(lanes.lanes[1].intervals.front().item, 0);
        QVERIFY(lanes.items[static_cast<std::size_t>(lanes.lanes[1].intervals[2].item)].collective == CollectiveId(0));
        const ErrorTable table = errorTable({}, &profile, 0, items, &evaluation->plan, sure(hardwareOf(design)));
        for (const ErrorRow& row : table.rows)
            QCOMPARE(row.boundBy.empty(), row.item < 0);
    }

    /// Calls within calls get lanes below, each without overlaps; collectives are marked.
    void tracesOfOthers()
    {
        const std::string text = R"({"traceEvents":[
            {"ph":"M","pid":1,"name":"process_name","args":{"name":"python"}},
            {"ph":"X","pid":1,"tid":1,"name":"step","ts":0,"dur":100},
            {"ph":"X","pid":1,"tid":1,"name":"linear","ts":10,"dur":20},
            {"ph":"X","pid":1,"tid":1,"name":"linear","ts":40,"dur":20},
            {"ph":"X","pid":1,"tid":2,"name":"ncclDevKernel_AllReduce_Sum_bf16","cat":"kernel","ts":30,"dur":50},
            {"ph":"C","pid":1,"name":"memory","ts":0,"args":{"bytes":5}}]})";
        const auto trace = parseTrace(jsonSource(text), "t.json");
        QVERIFY(trace.ok());
        const Timeline lanes = traceLanes(trace.value());
        QCOMPARE(lanes.lanes.size(), std::size_t { 3 });
        QVERIFY(!lanes.lanes[0].nested && lanes.lanes[1].nested && !lanes.lanes[2].nested);
        QCOMPARE(lanes.lanes[1].intervals.size(), std::size_t { 2 });
        QVERIFY(lanes.lanes[2].intervals.front().kind == IntervalKind::Collective);
        QVERIFY(same(lanes.seconds, 100e-6));
        QCOMPARE(lanes.nameOf(lanes.lanes[1].intervals[1]), std::string("linear"));
        QCOMPARE(lanes.memory.size(), std::size_t { 1 });
    }
};

SHARDBOARD_TEST(TestRunLanes)
#include "tst_runlanes.moc"

// SPDX-License-Identifier: Apache-2.0
// Plots are made of the numbers that they stand for: rooflines and bandwidths by hand, sums that are the step, axes whose ticks lie
// in them, tables that have every point.
#include "model/design/evaluate/evaluate.h"
#include "model/io/lanes/runlanes.h"
#include "model/io/plots/runplots.h"
#include "model/io/plots/scalingplot.h"
#include "model/timeline/predictedlanes.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <cmath>

using namespace shardboard;

namespace {

Design plottedDesign()
{
    return designOn("fsdp=2,model=4", llama3Model(), { WorkloadKind::Train, 16, 4096, DType::BF16 }, "tp+fsdp");
}

const PlotSeries* seriesOf(const Plot& plot, const std::string& name)
{
    for (const PlotSeries& one : plot.series)
        if (one.name == name)
            return &one;
    return nullptr;
}

bool near(double a, double b, double share = 1e-12) { return std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b)); }

/// Two devices, one step: a product twice, a norm, and a collective.
RunProfile handProfile(const std::string& collective)
{
    RunProfile out;
    out.mode = ProfileMode::Batched;
    out.limits = { 100e9, 200e9, 10e9, 15e9 };
    out.devices = { { 0, "device 0", 0, 0, {} }, { 1, "device 1", 0, 0, {} } };
    out.operations = { { "p", "matmul", false, 8e9, 1e9, 0, 1, {}, {}, 0.1 },
                       { "n", "rms-norm", false, 0, 2e9, 0, 1, {}, {}, 0.2 },
                       { collective, "all-reduce", true, 0, 0, 1 << 20, 2, "t", { { 0, 1 } }, 0.3 } };
    for (const double slow : { 0.2, 0.3 })
        out.events.push_back({ 0, 0, 0, 0, 0, 0, { { 0, 0, 1, 0.1, 0 }, { 1, 0, 1, slow, 0 } } });
    out.events.push_back({ 1, 0, 0, 0, 0, 0, { { 0, 0, 1, 0.4, 0 }, { 1, 0, 1, 0.25, 0 } } });
    out.events.push_back({ 2, 0, 0, 0, 0.001, 0.001, { { 0, 0, 1, 0.0005, 0 }, { 1, 0, 1, 0.0005, 0 } } });
    return out;
}

} // namespace

class TestPlots : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The product: 16 GFLOP in 0.5 s at 8 FLOP a byte. The norm: 2 GB in 0.4 s of 10 GB/s, so half of the slope.
    void rooflineByHand()
    {
        const Plot plot = rooflinePlot(handProfile("c"), 0, {});
        const PlotSeries* products = seriesOf(plot, "products");
        QVERIFY(products != nullptr && products->points.size() == 1);
        QVERIFY(near(products->points[0].x, 8) && near(products->points[0].y, 32e9));
        const PlotSeries* moves = seriesOf(plot, "moves data");
        QVERIFY(moves != nullptr && moves->points.size() == 1);
        const PlotSeries* roof = seriesOf(plot, "roof");
        QVERIFY(roof != nullptr && roof->points.size() == 3);
        QVERIFY(near(roof->points[1].x, 10) && near(roof->points[1].y, 100e9)); // 100 GFLOP/s by 10 GB/s
        QVERIFY(near(moves->points[0].y, 0.5 * moves->points[0].x * 10e9));
        QVERIFY(seriesOf(plot, "attention") == nullptr);
    }

    /// Every operation with a time is under the roof of the hardware that it was predicted for.
    void plannedRooflineIsBelowTheRoof()
    {
        const Design design = plottedDesign();
        const auto evaluation = sure(evaluate(design));
        const Hardware hardware = sure(hardwareOf(design));
        const Plot plot = rooflinePlot(evaluation->graph, evaluation->plan, hardware);
        std::size_t points = 0;
        for (const PlotSeries& one : plot.series) {
            if (one.name == "roof")
                continue;
            points += one.points.size();
            for (const PlotPoint& point : one.points) {
                const double roof = std::min(point.x * hardware.memoryBytesPerSecond(), hardware.peakFlops(DType::BF16));
                QVERIFY2(point.y <= roof * 1.0001, point.what.c_str());
                QVERIFY(point.item >= 0);
            }
        }
        QVERIFY(points > 10);
    }

    /// Predicted collectives lie on the curve of their kind, below its limit; what was measured is S by its seconds.
    void bandwidthOverTheModelsCurve()
    {
        const Design design = plottedDesign();
        const auto evaluation = sure(evaluate(design));
        const Plan& plan = evaluation->plan;
        const Hardware hardware = sure(hardwareOf(design));
        const auto items = timelineItems(evaluation->graph, plan);
        const Plot plot = bandwidthPlot(plan, hardware, nullptr, -1, items);
        QVERIFY(plot.series.size() >= 3 && plot.series.size() % 3 == 0);
        for (std::size_t i = 0; i < plot.series.size(); i += 3) {
            const auto& curve = plot.series[i].points;
            const auto& limit = plot.series[i + 1].points;
            for (std::size_t j = 1; j < curve.size(); ++j)
                QVERIFY(curve[j].y >= curve[j - 1].y * 0.999 && curve[j].y <= limit[0].y * 1.001);
            QVERIFY(!plot.series[i + 2].points.empty());
            for (std::size_t j = 0; j < i; ++j) // a hue is a kind, which the legend names once
                QCOMPARE(plot.series[i].hue == plot.series[j].hue, plot.series[i].group == plot.series[j].group);
            QVERIFY(plot.series[i].name.starts_with(plot.series[i].group + " over "));
        }
        const auto reduce = std::find_if(plan.collectives.begin(), plan.collectives.end(),
                                         [](const Collective& one) { return one.kind != CollectiveKind::LocalSlice; });
        QVERIFY(reduce != plan.collectives.end());
        const RunProfile profile = handProfile(reduce->id);
        const Plot measured = bandwidthPlot(plan, hardware, &profile, 0, items);
        QCOMPARE(measured.series.size(), std::size_t { 3 });
        QCOMPARE(measured.series[2].points.size(), std::size_t { 1 });
        QVERIFY(near(measured.series[2].points[0].x, 1 << 20) && near(measured.series[2].points[0].y, (1 << 20) / 0.001));
    }

    /// Points are seconds of one occurrence; with their counts they are the step.
    void accuracyAddsUpToTheStep()
    {
        RunResult result;
        const RunProfile profile = handProfile("c");
        const ErrorTable table = errorTable(result, &profile, 0, {}, nullptr, {});
        const Plot plot = accuracyPlot(table);
        double measured = 0;
        double predicted = 0;
        std::size_t points = 0;
        for (const PlotSeries& one : plot.series)
            if (one.mark != PlotMark::None)
                for (const PlotPoint& point : one.points) {
                    const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                                  [&](const ErrorRow& it) { return point.what.starts_with(it.id + ":"); });
                    QVERIFY(row != table.rows.end());
                    predicted += point.x * static_cast<double>(row->count);
                    measured += point.y * static_cast<double>(row->count);
                    ++points;
                }
        QCOMPARE(points, table.rows.size());
        QVERIFY(near(measured, table.measured) && near(predicted, table.predicted));
        QVERIFY(near(measured, runLanes(profile, 0, {}).seconds));
        // 0.25 for 0.1, 0.4 for 0.2, and 1 ms for 0.3 s.
        QVERIFY(near(meanError(table, 50e-6), (1.5 + 1 + (1 - 0.001 / 0.3)) / 3));
        QVERIFY(near(meanError(table, 0.1), (1.5 + 1) / 2) && meanError(table, 10) < 0);
    }

    /// The top of the pile is the memory of the timeline; it goes from 0 to the end of the step.
    void memoryIsStacked()
    {
        const Design design = plottedDesign();
        const auto evaluation = sure(evaluate(design));
        const Timeline lanes = predictedLanes(evaluation->graph, evaluation->plan, sure(hardwareOf(design)));
        const std::string group = fullestGroup(lanes);
        QVERIFY(!group.empty());
        const Plot plot = memoryPlot(lanes, group);
        const MemoryLane& lane = lanes.memory.front();
        double most = 0;
        const PlotSeries* top = nullptr;
        for (const PlotSeries& one : plot.series)
            if (one.filled)
                top = &one;
        QVERIFY(top != nullptr && top->points.size() == lane.times.size() + 1);
        for (const PlotPoint& point : top->points)
            most = std::max(most, point.y);
        QVERIFY(near(most, lane.peak()));
        QVERIFY(near(top->points.back().x, lanes.seconds));
        QVERIFY(memoryPlot(lanes, "nobody").isEmpty() && memoryPlot({}, "").isEmpty() && fullestGroup({}).empty());
    }

    /// The present mesh is a point of every line, with the seconds of the plan; twice the data axis is what planning it says.
    void scalingPlansOtherMeshes()
    {
        const Design design = plottedDesign();
        const auto evaluation = sure(evaluate(design));
        const Plot plot = scalingPlot(design, { { 2, 0.5, "a run" } });
        const double devices = static_cast<double>(design.mesh.deviceCount());
        int lines = 0;
        for (const PlotSeries& one : plot.series) {
            if (!one.name.starts_with("more of "))
                continue;
            ++lines;
            QVERIFY(std::any_of(one.points.begin(), one.points.end(), [&](const PlotPoint& point) {
                return point.x == devices && near(point.y, evaluation->plan.seconds());
            }));
            const int axis = design.mesh.find(one.name.substr(8));
            QVERIFY(axis >= 0);
            std::vector<MeshAxis> axes = design.mesh.axes();
            axes[static_cast<std::size_t>(axis)].size *= 2;
            Design other = design;
            other.mesh = sure(Mesh::make(axes));
            const auto twice = evaluate(other, Misfits::Replicate);
            const auto found =
                std::find_if(one.points.begin(), one.points.end(), [&](const PlotPoint& point) { return point.x == 2 * devices; });
            QCOMPARE(found != one.points.end(), twice.ok());
            if (twice.ok())
                QVERIFY(near(found->y, twice.value()->plan.seconds(), 1e-9));
        }
        QVERIFY(lines >= 1);
        const PlotSeries* runs = seriesOf(plot, "measured");
        QVERIFY(runs != nullptr && runs->points.size() == 1 && runs->points[0].y == 0.5);
        std::atomic<bool> stop = true;
        QVERIFY(scalingPlot(design, {}, &stop).isEmpty());
    }

    void ticksLieOnTheAxis_data()
    {
        QTest::addColumn<int>("unit");
        QTest::addColumn<bool>("logarithmic");
        QTest::addColumn<double>("from");
        QTest::addColumn<double>("to");
        for (const int unit : { 0, 1, 2 }) {
            QTest::addRow("wide %d", unit) << unit << true << 1e-6 << 3e9;
            QTest::addRow("narrow %d", unit) << unit << true << 3.0 << 7.0;
            QTest::addRow("less than a step %d", unit) << unit << true << 1.1 << 1.9;
            QTest::addRow("from zero %d", unit) << unit << false << 0.0 << 7.3e9;
            QTest::addRow("small %d", unit) << unit << false << 0.0 << 3.1e-5;
            QTest::addRow("below zero %d", unit) << unit << false << -5.0 << 5.0;
            QTest::addRow("nothing %d", unit) << unit << true << 0.0 << 0.0;
            QTest::addRow("not finite %d", unit) << unit << false << 0.0 << HUGE_VAL;
        }
    }

    void ticksLieOnTheAxis()
    {
        QFETCH(int, unit);
        QFETCH(bool, logarithmic);
        QFETCH(double, from);
        QFETCH(double, to);
        const PlotAxis axis { "x", static_cast<PlotUnit>(unit), logarithmic };
        for (const int most : { 0, 2, 3, 5, 8 }) {
            const std::vector<PlotTick> ticks = plotTicks(axis, { from, to }, most);
            QVERIFY2(static_cast<int>(ticks.size()) <= std::max(most, 2) + 1, qPrintable(QString::number(ticks.size())));
            for (std::size_t i = 0; i < ticks.size(); ++i) {
                QVERIFY(ticks[i].value >= from - 1e-6 * (to - from) && ticks[i].value <= to + 1e-6 * (to - from));
                QVERIFY(!ticks[i].text.empty() && (i == 0 || ticks[i].value > ticks[i - 1].value));
                QVERIFY(i == 0 || ticks[i].text != ticks[i - 1].text);
            }
        }
        if (to > from && std::isfinite(to) && !(from > 1 && to < 2))
            QVERIFY(!plotTicks(axis, { from, to }, 6).empty());
    }

    /// Commas and quotes in names do not make columns.
    void tablesHaveEveryPoint()
    {
        Plot plot;
        plot.x.title = "bytes, all";
        plot.y.title = "s";
        plot.series = { { "a \"b\"", PlotMark::Circle, false, false, false, false, 0, { { 1, 2, "x,y" }, { 0.1, 1e300, "" } } },
                        { "empty" } };
        QCOMPARE(plotCsv(plot),
                 std::string("series,\"bytes, all\",s,what\r\n\"a \"\"b\"\"\",1,2,\"x,y\"\r\n\"a \"\"b\"\"\",0.10000000000000001,"
                             "1.0000000000000001e+300,\r\n"));
        QVERIFY(Plot {}.isEmpty() && !plot.isEmpty());
        const PlotRange none = plotRange({}, false);
        QVERIFY(none.to > none.from);
    }
};

SHARDBOARD_TEST(TestPlots)
#include "tst_plots.moc"

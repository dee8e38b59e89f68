// SPDX-License-Identifier: Apache-2.0
// The search around the layouts against enumeration of the same settings, the design itself, and smaller searches.
#include "model/design/evaluation.h"
#include "model/design/optimize/designsearch.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;

namespace {

Design trained(const std::string& mesh, const std::string& preset, std::int64_t batch)
{
    Workload work { WorkloadKind::Train, batch, 1024, DType::BF16 };
    return designOn(mesh, denseModel(4096, 1024, 4096, 8, 16, 8, 64), work, preset);
}

SearchResult searched(const Design& design, const char* parts, std::optional<double> limit = std::nullopt, int threads = 2)
{
    SearchOptions options;
    options.parts = searchedPartsFrom(parts).value();
    options.devices = design.mesh.deviceCount();
    options.memoryBytes = limit;
    options.threads = threads;
    return searchDesigns(design, options).value();
}

struct Point {
    double seconds;
    double least;
};

/// Every design that differs in micro-batches, recompute, and ZeRO, planned by itself.
std::vector<Point> enumerated(const Design& design, std::int64_t copies)
{
    std::vector<Point> out;
    for (std::int64_t count = 1; count <= design.workload.batch; ++count)
        for (const Recompute recompute : { Recompute::None, Recompute::Selective, Recompute::Full })
            for (int zero = 0; zero < 3; ++zero) {
                if (design.workload.batch % count != 0 || design.workload.batch / count < copies)
                    continue;
                Design other = design;
                other.workload.microBatches = count;
                other.workload.recompute = recompute;
                other.workload.optimizer = {};
                if (zero > 0)
                    other.workload.optimizer = { { "data" }, zero > 1 };
                const auto evaluation = planOnly(other);
                if (evaluation.ok())
                    out.push_back(
                        { evaluation.value()->plan.seconds(), static_cast<double>(evaluation.value()->plan.memory.least) });
            }
    return out;
}

} // namespace

class TestDesignSearch : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void equalsEnumeration_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<int>("copies");
        QTest::newRow("copies") << "data=4,model=2"
                                << "megatron-tp" << 4;
        QTest::newRow("shards") << "data=2,fsdp=4"
                                << "hsdp" << 8;
        QTest::newRow("stages") << "stage=2,data=2,model=2"
                                << "pp+tp+dp" << 2;
    }

    /// Under every limit that makes a difference.
    void equalsEnumeration()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(int, copies);
        const Design design = trained(mesh.toStdString(), preset.toStdString(), 24);
        std::vector<Point> all = enumerated(design, copies);
        QVERIFY(all.size() >= 18);
        std::ranges::sort(all, {}, &Point::least);
        for (std::size_t i = 0; i < all.size(); i += 3) {
            const double limit = all[i].least;
            double best = all[i].seconds;
            for (const Point& point : all)
                if (point.least <= limit)
                    best = std::min(best, point.seconds);
            const SearchResult found = searched(design, "micro-batches,recompute,zero", limit);
            QVERIFY2(found.best, qPrintable(QString::number(limit)));
            QCOMPARE(found.front[*found.best].seconds, best);
            QVERIFY(found.complete);
        }
        const SearchResult none = searched(design, "micro-batches,recompute,zero", all.front().least * 0.99);
        QVERIFY(!none.best);
        QCOMPARE(none.nearest->leastBytes, all.front().least);
    }

    /// What is there already is one of the designs, whatever is searched.
    void isNeverWorseThanTheDesign()
    {
        Design design = trained("data=4,model=2", "megatron-tp", 24);
        design.workload.microBatches = 3;
        design.workload.recompute = recomputeFromName("norms,activations").value();
        design.workload.optimizer = { { "data" }, true };
        const double before = planOnly(design).value()->plan.seconds();
        for (const char* parts : { "micro-batches", "recompute", "zero", "order", "mesh", "mesh,recompute", "precision" }) {
            const SearchResult found = searched(design, parts);
            QVERIFY(found.before);
            QCOMPARE(found.before->seconds, before);
            QVERIFY2(found.front[*found.best].seconds <= before * (1 + 1e-12), parts);
        }
    }

    /// ZeRO is over each axis once, and stays where it is not searched.
    void zeroIsNotRepeated()
    {
        Design design = trained("data=4,model=2", "megatron-tp", 16);
        design.workload.optimizer = { { "data" }, true };
        for (const char* parts : { "zero", "mesh", "mesh,zero", "micro-batches" })
            for (const SearchedDesign& found : searched(design, parts).front) {
                std::vector<std::string> axes = found.design.workload.optimizer.axes;
                std::ranges::sort(axes);
                QVERIFY(std::ranges::adjacent_find(axes) == axes.end());
                if (QByteArray(parts).contains("zero") || found.design.mesh.find("data") < 0)
                    continue;
                QCOMPARE(axes, std::vector<std::string> { "data" });
                QVERIFY(found.design.workload.optimizer.gradients);
            }
    }

    /// More that may change never makes it worse, with a limit or without.
    void largerSearchesAreNoWorse()
    {
        const Design design = trained("model=8", "megatron-tp", 8);
        const SearchResult widest = searched(design, "mesh,micro-batches,recompute");
        const double least = std::ranges::min(widest.front, {}, &SearchedDesign::leastBytes).leastBytes;
        for (const double limit : { 1.01 * least, 1.3 * least, 2 * least, 4 * least }) {
            const auto best = [&](const char* parts) {
                const SearchResult found = searched(design, parts, limit);
                return found.best ? found.front[*found.best].seconds : std::numeric_limits<double>::infinity();
            };
            const double all = best("mesh,micro-batches,recompute");
            for (const char* parts : { "mesh", "recompute", "mesh,recompute", "micro-batches,recompute", "mesh,micro-batches" })
                QVERIFY2(all <= best(parts), parts);
        }
    }

    /// Where a step may not take longer, what is nearest is nearest in time.
    void nearestInTime()
    {
        const Design design = trained("data=4,model=2", "megatron-tp", 16);
        const SearchResult all = searched(design, "mesh,recompute");
        SearchOptions options;
        options.parts = searchedPartsFrom("mesh,recompute").value();
        options.devices = 8;
        options.mostSeconds = all.front.front().seconds / 2;
        const SearchResult none = searchDesigns(design, options).value();
        QVERIFY(!none.best);
        if (none.nearest && none.nearest->preset != "the design itself")
            QVERIFY(none.nearest->seconds < 2 * all.front.front().seconds);
    }

    /// Each design that was tried can be made again from what is remembered of it.
    void triedDesignsAreMadeAgain()
    {
        const Design design = trained("data=4,model=2", "megatron-tp", 16);
        SearchOptions options;
        options.parts = searchedPartsFrom("mesh,order,micro-batches,virtual-stages,recompute,zero").value();
        options.devices = 4;
        std::vector<SearchedDesign> tried;
        options.tried = [&](const SearchedDesign& found) { tried.push_back(found); };
        const SearchResult result = searchDesigns(design, options).value();
        QCOMPARE(tried.size(), result.planned);
        QVERIFY(tried.size() > 100);
        for (const SearchedDesign& found : tried) {
            const auto again = designAgain(design, found.design.mesh, found.preset, found.design.workload, found.design.pipeline);
            QVERIFY(again.ok());
            QVERIFY2(again.value() == found.design, (found.design.mesh.text() + ", " + found.preset).c_str());
        }
    }

    /// What is told on the way: the best only falls, no bound is above the best that was found in the end, and at the end of a
    /// complete search they meet.
    void boundIsOne()
    {
        const Design design = trained("data=4,model=2", "megatron-tp", 16);
        for (const SearchObjective objective : { SearchObjective::StepTime, SearchObjective::TokensPerDevice,
                                                 SearchObjective::SlowestLink, SearchObjective::Memory }) {
            SearchOptions options;
            options.parts = searchedPartsFrom("mesh,micro-batches,recompute").value();
            options.devices = 4;
            options.objective = objective;
            std::vector<SearchProgress> told;
            options.progress = [&](const SearchProgress& now) { told.push_back(now); };
            const SearchResult result = searchDesigns(design, options).value();
            const double best = result.front[*result.best].value(objective);
            QVERIFY(told.size() > 2);
            for (std::size_t i = 0; i < told.size(); ++i) {
                QVERIFY(told[i].bound <= best);
                QVERIFY(i == 0 || told[i].best <= told[i - 1].best);
            }
            QCOMPARE(told.back().best, best);
            QCOMPARE(result.lowerBound, best);
            QCOMPARE(*result.gap(objective), 0.0);
        }
    }

    /// With layouts it is at least as fast as without, and as the layouts alone; alone they are what optimizeLayouts() finds.
    void layoutsOfTheBest()
    {
        const Design design = trained("data=4,model=2", "megatron-tp", 16);
        const auto secondsOf = [](const SearchResult& result) { return result.front[*result.best].seconds; };
        const SearchResult alone = searched(design, "layouts");
        const OptimizedDesign optimized = optimizeLayouts(design, {}).value();
        QCOMPARE(secondsOf(alone), optimized.evaluation->plan.seconds());
        QCOMPARE(alone.lowerBound, optimized.certificate.lowerBound);
        QVERIFY(alone.layouts && !alone.exact.empty());
        const SearchResult without = searched(design, "mesh");
        const SearchResult with = searched(design, "layouts,mesh");
        QVERIFY(secondsOf(with) <= secondsOf(without) && secondsOf(with) <= secondsOf(alone) * (1 + 1e-12));
        QVERIFY(with.lowerBound <= secondsOf(with));
        const SearchedDesign& best = with.front[*with.best];
        QCOMPARE(planOnly(best.design).value()->plan.seconds(), best.seconds);
        // Where no preset fits, layouts may.
        OptimizeOptions smallest;
        smallest.objective = LayoutObjective::Memory;
        const auto least = static_cast<double>(optimizeLayouts(design, smallest).value().evaluation->plan.memory.least);
        const SearchResult tight = searched(design, "layouts", least * 1.001);
        QVERIFY(tight.best && tight.front[*tight.best].leastBytes <= least * 1.001);
    }

    /// Nothing is made in advance that would take long: with the time over it ends at once, and says so.
    void endsWhenItIsStopped()
    {
        const Design design = trained("data=8,model=2", "megatron-tp", 16384);
        std::atomic<bool> cancelled = true;
        SearchOptions options;
        options.parts = searchedPartsFrom("mesh,order,micro-batches").value();
        options.devices = 16384;
        options.cancelled = &cancelled;
        const SearchResult found = searchDesigns(design, options).value();
        QVERIFY(!found.complete);
        QVERIFY(found.planned <= 1);
    }
};

SHARDBOARD_TEST(TestDesignSearch)
#include "tst_designsearch.moc"

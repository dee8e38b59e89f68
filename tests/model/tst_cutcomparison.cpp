// SPDX-License-Identifier: Apache-2.0
// The five cut rules side by side; the sizes are those of formats in use (torch's were run against torch.chunk).
#include "model/core/cutcomparison.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <limits>
#include <random>

using namespace shardboard;

namespace {

CutComparison compared(std::int64_t size, const char* meshText, std::optional<std::int64_t> grain = {})
{
    const Mesh mesh = Mesh::parse(meshText).value();
    std::vector<AxisRef> axes;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        axes.push_back({ axis });
    return compareCuts(size, axes, mesh, grain, "dim 0");
}

const CutRow& row(const CutComparison& comparison, CutRule rule) { return comparison.rows[static_cast<std::size_t>(rule)]; }

} // namespace

class TestCutComparison : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sizes_data()
    {
        QTest::addColumn<qint64>("size");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("flat");
        QTest::addColumn<QString>("nested");
        QTest::addColumn<QString>("balanced");
        dataRow("10 over 4", qint64(10), "x=4", "3 x 3, 1", "3 x 3, 1", "3 x 2, 2 x 2");
        dataRow("5 over 4", qint64(5), "x=4", "2 x 2, 1, 0", "2 x 2, 1, 0", "2, 1 x 3");
        dataRow("5 over 2x2", qint64(5), "x=2,y=2", "2 x 2, 1, 0", "2, 1 x 3", "2, 1 x 3");
        dataRow("10 over 2x3", qint64(10), "x=2,y=3", "2 x 5, 0", "2 x 2, 1, 2 x 2, 1", "2 x 4, 1 x 2");
        dataRow("28 over 8", qint64(28), "x=8", "4 x 7, 0", "4 x 7, 0", "4 x 4, 3 x 4");
        dataRow("32000 over 12", qint64(32000), "x=12", "2667 x 11, 2663", "2667 x 11, 2663", "2667 x 8, 2666 x 4");
        dataRow("nothing over 3", qint64(0), "x=3", "0 x 3", "0 x 3", "0 x 3");
    }
    void sizes()
    {
        QFETCH(qint64, size);
        QFETCH(QString, mesh);
        QFETCH(QString, flat);
        QFETCH(QString, nested);
        QFETCH(QString, balanced);
        const CutComparison comparison = compared(size, mesh.toUtf8().constData());
        QCOMPARE(QString::fromStdString(runsText(row(comparison, CutRule::CeilFlat).sizes)), flat);
        QCOMPARE(QString::fromStdString(runsText(row(comparison, CutRule::CeilNested).sizes)), nested);
        QCOMPARE(QString::fromStdString(runsText(row(comparison, CutRule::Balanced).sizes)), balanced);
        QCOMPARE(row(comparison, CutRule::Strict).refused.has_value(), size > 0);
        QVERIFY(row(comparison, CutRule::GrainBalanced).refused->text().find("needs a grain") != std::string::npos);
    }

    void whatARowSays()
    {
        const Mesh mesh = Mesh::parse("x=2,y=3").value();
        const CutComparison comparison = compared(10, "x=2,y=3");
        const CutRow& flat = row(comparison, CutRule::CeilFlat); // 0-2 2-4 4-6 6-8 8-10, balanced 0-2 2-4 4-6 6-8 8-9 9-10
        QCOMPARE(flat.largest, 2);
        QCOMPARE(flat.smallest, 0);
        QCOMPARE(flat.empty, 1);
        QCOMPARE(flat.padding, 2);
        QCOMPARE(flat.differing, 2);
        QCOMPARE(differingPositions(flat, comparison, mesh), (std::vector<Range> { { 4, 6 } }));
        const CutRow& nested = row(comparison, CutRule::CeilNested); // 0-2 2-4 4-5 5-7 7-9 9-10
        QCOMPARE(differingPositions(nested, comparison, mesh), (std::vector<Range> { { 2, 5 } }));
        QCOMPARE(nested.padding, 2);
        QCOMPARE(row(comparison, CutRule::Balanced).differing, 0);
        QVERIFY(row(comparison, CutRule::Strict).refused->text().find("10 does not divide by 6") != std::string::npos);
    }

    void grainsStayWhole()
    {
        const CutComparison comparison = compared(28 * 128, "x=8", 128);
        QCOMPARE(runsText(row(comparison, CutRule::GrainBalanced).sizes), std::string("512 x 4, 384 x 4"));
        QCOMPARE(runsText(row(compared(10, "x=2", 4), CutRule::GrainBalanced).sizes),
                 std::string("4, 6")); // the rest goes to the last
    }

    void positionsFollowTheAxes()
    {
        // Only y cuts: its parts repeat along x.
        const Mesh mesh = Mesh::parse("x=2,y=4").value();
        const CutComparison comparison = compareCuts(5, { { 1 } }, mesh, {}, "dim 0");
        QCOMPARE(comparison.parts, 4);
        const CutRow& flat = row(comparison, CutRule::CeilFlat); // 0-2 2-4 4-5 none; balanced 0-2 2-3 3-4 4-5
        QCOMPARE(differingPositions(flat, comparison, mesh), (std::vector<Range> { { 1, 4 }, { 5, 8 } }));
    }

    void everyRuleCoversTheDim()
    {
        std::mt19937 random(3);
        for (int i = 0; i < 2000; ++i) {
            const std::string mesh = "a=" + std::to_string(1 + random() % 5) + ",b=" + std::to_string(1 + random() % 5);
            const CutComparison comparison =
                compared(static_cast<std::int64_t>(random() % 60), mesh.c_str(), static_cast<std::int64_t>(1 + random() % 7));
            for (const CutRow& r : comparison.rows) {
                if (r.refused)
                    continue;
                std::int64_t total = 0;
                std::int64_t parts = 0;
                for (const SizeRun& run : r.sizes) {
                    total += run.size * run.count;
                    parts += run.count;
                }
                QCOMPARE(total, comparison.size);
                QCOMPARE(parts, comparison.parts);
                QCOMPARE(r.padding, r.largest * parts - total);
            }
        }
    }

    void hugeSizesDoNotWrap()
    {
        const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
        const CutComparison comparison = compared(huge, "x=4", huge);
        QCOMPARE(runsText(row(comparison, CutRule::CeilFlat).sizes), std::string("2305843009213693952 x 3, 2305843009213693951"));
        QCOMPARE(row(comparison, CutRule::GrainBalanced).largest, huge);
        QCOMPARE(row(comparison, CutRule::GrainBalanced).padding, huge); // saturated
    }

    void longListsAreShortened()
    {
        std::vector<SizeRun> runs;
        for (int i = 0; i < 20; ++i)
            runs.push_back({ i, 1 });
        QCOMPARE(runsText(runs, 3), std::string("0, 1, 2, ..."));
    }
};

SHARDBOARD_TEST(TestCutComparison)
#include "tst_cutcomparison.moc"

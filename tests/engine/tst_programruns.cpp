// SPDX-License-Identifier: Apache-2.0
// Programs that a calibration runs: what they need is announced before, each runs in every round, and a point is one operation's.
#include "engine/calibrate/programruns.h"
#include "engine/cpu/backend.h"
#include "engine/cpu/cpuexecutor.h"
#include "engine/machine/failure.h"
#include "model/core/statistics.h"
#include "tests/engine/testprogram.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>

using namespace shardboard;
using namespace shardboard::engine;
using shardboard::test::programOf;
using shardboard::test::TestDesign;

namespace {

Program large()
{
    TestDesign from;
    from.model.vocabSize = 4099;
    from.workload = { WorkloadKind::Train, 6, 64, DType::F32 };
    return programOf(from);
}

/// As the run itself says.
std::int64_t announced(const Program& program)
{
    RunOptions options;
    options.steps = 4;
    std::int64_t out = 0;
    RunHooks hooks;
    hooks.announce = [&](std::int64_t bytes, double) { out = bytes; };
    runOnCpu({ program, options, hooks, { .workers = 2 } });
    return out;
}

} // namespace

class TestProgramRuns : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void announcesTheLargest()
    {
        CpuExecutor executor;
        const Program small = programOf({});
        const ProgramRuns runs({ small, large() }, executor, 2, false);
        QVERIFY(announced(small) < announced(large()));
        QCOMPARE(runs.neededBytes(), announced(large()));
        QVERIFY(runs.seconds() > 0);
        QCOMPARE(ProgramRuns({}, executor, 2, false).neededBytes(), std::int64_t { 0 });
    }

    /// In turn, so that a slow while does not fall on one program alone; medians over the rounds.
    void everyRoundRunsAll()
    {
        CpuExecutor executor;
        const ProgramRuns runs({ programOf({}), large() }, executor, 2, false);
        QVERIFY(runs.count() > 2 && runs.count() % 2 == 0);
        Calibration out;
        std::vector<std::int64_t> told;
        runs.addTo(
            out, [&](std::int64_t run) { told.push_back(run); }, nullptr);
        QCOMPARE(static_cast<std::int64_t>(told.size()), runs.count());
        QVERIFY(!out.points.empty());
        std::size_t most = 0;
        for (const CalibrationPoint& point : out.points) {
            QVERIFY(point.source == "run" && point.seconds == median(point.samples));
            most = std::max(most, point.samples.size());
        }
        QCOMPARE(static_cast<std::int64_t>(most), runs.count() / 2);
    }

    /// One that this machine has no memory for is left out, the others are not.
    void leavesOutWhatIsTooLarge()
    {
        CpuExecutor executor;
        TestDesign from;
        from.workload = { WorkloadKind::Prefill, 1 << 12, 1 << 18, DType::F32 };
        const ProgramRuns runs({ programOf(from), programOf({}) }, executor, 2, true);
        QCOMPARE(runs.count(), std::int64_t { 1 });
        QCOMPARE(runs.neededBytes(), announced(programOf({})));
    }

    void cancelEndsThem()
    {
        CpuExecutor executor;
        const ProgramRuns runs({ programOf({}) }, executor, 2, false);
        const std::atomic<bool> cancel { true };
        Calibration out;
        QVERIFY_EXCEPTION_THROWN(runs.addTo(out, {}, &cancel), Stopped);
        QVERIFY(out.points.empty());
    }
};

SHARDBOARD_TEST(TestProgramRuns)
#include "tst_programruns.moc"

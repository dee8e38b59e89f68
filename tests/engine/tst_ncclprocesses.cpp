// SPDX-License-Identifier: Apache-2.0
// The backend nccl over several processes of mpirun: which GPUs they take, and whole programs on stand-ins for GPUs and library
// (ncclprocesses.cpp), one or two devices in each process. Skipped where there is no mpirun.
#include "engine/nccl/gpuassignment.h"
#include "tests/support/runner.h"

#include <QProcess>
#include <QTest>

#include <string>

using namespace shardboard::engine::nccl;

namespace {

ProcessGpus process(int rank, const std::string& host, int firstGpu, int gpus)
{
    ProcessGpus out { "rank " + std::to_string(rank) + " on " + host, host, {}, {} };
    for (int gpu = firstGpu; gpu < firstGpu + gpus; ++gpu)
        out.gpus.push_back({ host + std::to_string(gpu), "a GPU", 100, 1000 });
    return out;
}

std::string refusalOf(std::int64_t devices, const std::vector<ProcessGpus>& processes)
{
    const auto assignment = assignGpus(devices, processes);
    const auto* missing = std::get_if<std::string>(&assignment);
    return missing == nullptr ? std::string() : *missing;
}

bool has(const std::string& text, std::initializer_list<const char*> parts)
{
    for (const char* part : parts)
        if (text.find(part) == std::string::npos) {
            qWarning("'%s' is not in: %s", part, text.c_str());
            return false;
        }
    return true;
}

struct Said {
    int status = -1;
    QString text;
};

/// Started as users start it. `hosts`: every process pretends to be on a host of its own.
Said run(int processes, const QStringList& arguments, bool hosts = false, int milliseconds = 120000)
{
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("OMPI_ALLOW_RUN_AS_ROOT", "1");
    environment.insert("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    if (hosts)
        environment.insert("SHARDBOARD_MPI_HOSTS", "rank");
    program.setProcessEnvironment(environment);
    program.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    program.start("mpirun",
                  QStringList { "-n", QString::number(processes), "--oversubscribe", "--bind-to", "none", "--mca", "btl",
                                "self,vader", qEnvironmentVariable("SHARDBOARD_NCCLPROCESSES") }
                      + arguments);
    Said out;
    if (!program.waitForFinished(milliseconds)) {
        program.terminate(); // mpirun takes its processes with it
        program.waitForFinished(5000);
        out.text = "no end: ";
    } else if (program.exitStatus() == QProcess::NormalExit) {
        out.status = program.exitCode();
    }
    out.text += QString::fromUtf8(program.readAllStandardOutput());
    return out;
}

} // namespace

class TestNcclProcesses : public QObject {
    Q_OBJECT

    bool m_hasLauncher = false;

private Q_SLOTS:
    void initTestCase()
    {
        QProcess probe;
        probe.start("mpirun", { "--version" });
        m_hasLauncher = probe.waitForFinished(10000) && probe.exitCode() == 0;
    }

    void processesOfAHostTakeTheirOwnGpus()
    {
        // All see all of them.
        const auto assignment =
            assignGpus(8, { process(0, "a", 0, 4), process(1, "a", 0, 4), process(2, "b", 0, 4), process(3, "b", 0, 4) });
        QVERIFY(std::holds_alternative<GpuAssignment>(assignment));
        const GpuAssignment& all = std::get<GpuAssignment>(assignment);
        QVERIFY(all.gpus == (std::vector<std::vector<int>> { { 0, 1 }, { 2, 3 }, { 0, 1 }, { 2, 3 } }));
        QVERIFY(all.processes() == (std::vector<int> { 0, 0, 1, 1, 2, 2, 3, 3 }));
        QVERIFY(all.sharing == std::vector<int>(8, 1));
        QCOMPARE(all.ranks(), 8);
        // The launcher has given each its own, which it counts from 0.
        const auto bound = assignGpus(4, { process(0, "a", 0, 2), process(1, "a", 2, 2) });
        QVERIFY(std::get<GpuAssignment>(bound).gpus == (std::vector<std::vector<int>> { { 0, 1 }, { 0, 1 } }));
        QCOMPARE(mostDevices({ process(0, "a", 0, 4), process(1, "a", 0, 4), process(2, "b", 0, 3) }), 6);
        QCOMPARE(mostDevices({ process(0, "a", 0, 1), process(1, "a", 0, 1) }), 0);
        const GpuAssignment read = shardboard::messageFromJson<GpuAssignment>(shardboard::jsonOf(all), "GPUs").value();
        QVERIFY(read.gpus == all.gpus && read.sharing == all.sharing);
    }

    /// As NCCL takes them with different NCCL_HOSTID: they have to do with what memory the one GPU has.
    void pretendedHostsShareAGpu()
    {
        ProcessGpus first = process(0, "x", 0, 1);
        ProcessGpus second = process(1, "y", 0, 1);
        second.gpus = first.gpus;
        const auto assignment = assignGpus(2, { first, second });
        QVERIFY(std::holds_alternative<GpuAssignment>(assignment));
        QVERIFY(std::get<GpuAssignment>(assignment).sharing == (std::vector<int> { 2, 2 }));
        const ProcessGpus read = shardboard::messageFromJson<ProcessGpus>(shardboard::jsonOf(first), "GPUs").value();
        QVERIFY(read.host == "x" && read.gpus.size() == 1 && read.gpus[0].id == "x0" && read.gpus[0].memoryBytes == 1000);
    }

    void whatIsInTheWayIsSaid()
    {
        const std::vector<ProcessGpus> two { process(0, "a", 0, 2), process(1, "a", 0, 2) };
        QVERIFY(
            has(refusalOf(3, two), { "3 logical devices", "2 processes", "start one process without mpirun", "multiple of 2" }));
        QVERIFY(has(refusalOf(4, two),
                    { "rank 1 on a needs 2 GPUs", "has 0", "2 processes there see 2 GPUs", "at most 2 devices", "backend cuda" }));
        QVERIFY(has(refusalOf(9, { two[0], two[1], two[0], two[0], two[0], two[0] }), { "start 3 processes" }));
        QVERIFY(has(refusalOf(2, { process(0, "a", 0, 1), process(1, "a", 0, 1) }),
                    { "rank 1 on a needs 1 GPU ", "start fewer processes on that host" }));
        std::vector<ProcessGpus> lacking = two;
        lacking[1].missing = "NCCL is not installed";
        QCOMPARE(refusalOf(2, lacking), std::string("rank 1 on a: NCCL is not installed"));
        QCOMPARE(refusalOf(2, two), std::string());
    }

    void processesThatDoNotKnowOfEachOtherAreRefused()
    {
        const auto with = [](const char* name, const char* value) {
            return [=](const char* asked) { return std::string(name) == asked ? value : nullptr; };
        };
        QCOMPARE(whyProcessesAreApart(1, with("HOME", "2")), std::string());
        QCOMPARE(whyProcessesAreApart(1, with("SLURM_STEP_NUM_TASKS", "1")), std::string());
        QCOMPARE(whyProcessesAreApart(4, with("OMPI_COMM_WORLD_SIZE", "4")), std::string());
        for (const char* name : { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS" })
            QVERIFY(has(whyProcessesAreApart(1, with(name, "4")), { "4 processes", "find each other", "start" }));
    }

    void worksAcrossProcesses_data()
    {
        QTest::addColumn<int>("processes");
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        QTest::newRow("whole models, two hosts") << 2 << QStringList { "2", "same" } << "values";
        QTest::newRow("profile, two hosts") << 2 << QStringList { "1", "profile" } << "every device";
        QTest::newRow("cancel, two hosts") << 2 << QStringList { "1", "cancel" } << "cancelled after 40";
        QTest::newRow("whole models, two of one") << 2 << QStringList { "1", "same" } << "values";
        QTest::newRow("whole models, two of two") << 2 << QStringList { "2", "same" } << "values";
        QTest::newRow("whole models, four of one") << 4 << QStringList { "1", "same" } << "values";
        QTest::newRow("whole models, four of two") << 4 << QStringList { "2", "same" } << "values";
        QTest::newRow("suite, changes of layout") << 2 << QStringList { "2", "conform", "reshard" } << "cases";
        QTest::newRow("suite, operations") << 2 << QStringList { "1", "conform", "op: " } << "cases";
        QTest::newRow("suite, models") << 2 << QStringList { "2", "conform", "model" } << "cases";
        QTest::newRow("profile, one each") << 2 << QStringList { "1", "profile" } << "every device";
        QTest::newRow("profile, two each") << 2 << QStringList { "2", "profile" } << "every device";
        QTest::newRow("announces and verifies") << 2 << QStringList { "2", "announce" } << "broken collective is found";
        QTest::newRow("cancel") << 2 << QStringList { "2", "cancel" } << "cancelled after 40";
        QTest::newRow("cancel, four") << 4 << QStringList { "1", "cancel" } << "cancelled after 40";
        QTest::newRow("cancelled whenever") << 2 << QStringList { "2", "storm", "25" } << "the next run";
        QTest::newRow("cancelled whenever, two hosts") << 2 << QStringList { "1", "storm", "25" } << "the next run";
        QTest::newRow("refuses") << 2 << QStringList { "2", "refuse" } << "the next run";
    }
    void worksAcrossProcesses()
    {
        QFETCH(int, processes);
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        if (!m_hasLauncher)
            QSKIP("there is no mpirun here");
        const Said said = run(processes, arguments, QByteArray(QTest::currentDataTag()).endsWith("two hosts"));
        QVERIFY2(said.status == 0 && said.text.contains(says) && !said.text.contains("WRONG"), qPrintable(said.text));
    }

    void refusesWithOneMessage()
    {
        if (!m_hasLauncher)
            QSKIP("there is no mpirun here");
        const Said said = run(2, { "2", "refuse" });
        const std::string text = said.text.toStdString();
        QVERIFY(has(text,
                    { "failure backend: options.backend: nccl takes as many GPUs in every process, and 3 logical devices",
                      "1 logical device ", "needs 8 GPUs for its part of a mesh of 16 devices", "ok the next run" }));
        const Said none = run(2, { "0", "refuse" });
        QVERIFY(has(none.text.toStdString(), { "unusable", "needs 1 GPU" }));
        const Said missing = run(2, { "1", "refuse", "1", "missing", "1" });
        QVERIFY(has(missing.text.toStdString(), { "unusable rank 1 on ", "NCCL (libnccl.so.2) is not installed" }));
    }

    /// In either process, wherever it happens: one failure that names it, nobody waits for ever, and the next run is well.
    void troubleEndsTheRun_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        for (const char* rank : { "0", "1" })
            for (const char* call : { "1", "9", "200" }) {
                QTest::addRow("call %s fails in process %s", call, rank)
                    << QStringList { "2", "trouble", rank, "fail", call } << "unhandled system error";
                QTest::addRow("call %s is another one in process %s", call, rank)
                    << QStringList { "2", "trouble", rank, "other", call } << "";
            }
        QTest::newRow("does not join") << QStringList { "2", "trouble", "1", "join", "1" } << "rank 1 on ";
        QTest::newRow("the first one does not join") << QStringList { "2", "trouble", "0", "join", "1" } << "ncclCommInitRank";
        for (const char* rank : { "0", "1" })
            QTest::addRow("process %s hangs and is cancelled", rank)
                << QStringList { "2", "hang", rank, "hang", "50" } << "failure cancelled";
        QTest::newRow("hangs and is cancelled, two hosts") << QStringList { "2", "hang", "1", "hang", "50" } << "failure cancelled";
        QTest::newRow("call fails, two hosts") << QStringList { "2", "trouble", "1", "fail", "50" } << "unhandled system error";
    }
    void troubleEndsTheRun()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        if (!m_hasLauncher)
            QSKIP("there is no mpirun here");
        const Said said = run(2, arguments, QByteArray(QTest::currentDataTag()).endsWith("two hosts"), 60000);
        QVERIFY2(said.status == 0 && said.text.contains(says) && said.text.contains("failure ")
                     && said.text.contains("ok the next run"),
                 qPrintable(said.text));
        if (arguments[2] == "1" && arguments[3] == "fail")
            QVERIFY2(said.text.contains("rank 1 on "), qPrintable(said.text));
    }

    /// When the first process is through with its part and others are not.
    void aLateCancelIsACancel()
    {
        if (!m_hasLauncher)
            QSKIP("there is no mpirun here");
        const Said said = run(2, { "1", "late" });
        QVERIFY2(said.text.contains("failure cancelled: : the run was cancelled"), qPrintable(said.text));
    }

    /// Whoever is faster, we or mpirun: nobody waits for the one that is gone.
    void aLostProcessEndsAll()
    {
        if (!m_hasLauncher)
            QSKIP("there is no mpirun here");
        for (const char* rank : { "0", "1" }) {
            const Said said = run(2, { "2", "trouble", rank, "die", "40" }, false, 30000);
            QVERIFY2(said.status != 0 && !said.text.startsWith("no end") && !said.text.contains("ok the next run"),
                     qPrintable(said.text));
        }
    }
};

SHARDBOARD_TEST(TestNcclProcesses)
#include "tst_ncclprocesses.moc"

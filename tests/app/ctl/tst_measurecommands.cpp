// SPDX-License-Identifier: Apache-2.0
// The commands that measure: run --profile, --trace and --project, and calibrate. How fast this machine is, is told and not tested.
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"
#include "tests/support/tracecheck.h"

#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <cstdio>
#include <map>
#include <set>

using namespace shardboard::test;
using nlohmann::json;

class TestMeasureCommands : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString written(const QString& name, const QByteArray& text) const
    {
        return writeFile(path(name), text) ? path(name) : QString();
    }
    QString design(const QStringList& more = {})
    {
        const QString file = path("d.shardboard");
        const Outcome made = shardctl(QStringList { "new", "--model", "qwen3-0.6b", "--mesh", "data=2,model=2", "--preset",
                                                    "megatron-tp", "--batch", "2", "-o", file }
                                      + (more.contains("--sequence") ? more : more + QStringList { "--sequence", "16" }));
        return made.code == 0 ? file : QString();
    }
    static json read(const QString& file) { return json::parse(contentOf(file).toStdString(), nullptr, false); }
    static QStringList run(const QString& file, const QStringList& more)
    {
        return QStringList { "run", file, "--layers", "1", "--no-ends", "--steps", "3" } + more;
    }

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_folder.isValid()); }

    void profilesAndTraces_data()
    {
        QTest::addColumn<QString>("mode");
        QTest::newRow("serial") << "serial";
        QTest::newRow("batched") << "batched";
    }
    void profilesAndTraces()
    {
        QFETCH(QString, mode);
        const Outcome measured =
            shardctl(run(design(), { "--verify", "--profile", path("p.json"), "--trace", path("t.json"), "--profile-mode", mode }));
        QVERIFY2(measured.code == 0, qPrintable(measured.err));
        QVERIFY2(measured.out.contains("of the limit"), qPrintable(measured.out));
        QVERIFY2(measured.out.contains("held most"), qPrintable(measured.out));
        const json profile = read(path("p.json"));
        QCOMPARE(QString::fromStdString(profile["format"]), "shardboard-profile");
        QCOMPARE(QString::fromStdString(profile["mode"]), mode);
        for (const char* key : { "backend", "devices", "steps", "verified", "max_relative_error", "worst_op", "step_seconds",
                                 "predicted_step_seconds", "operations", "machine", "memory" })
            QVERIFY2(profile.contains(key), key);
        bool collective = false;
        for (const json& operation : profile["operations"]) {
            for (const char* key : { "id", "kind", "median_seconds", "predicted_seconds", "bytes" })
                QVERIFY2(operation.contains(key), key);
            if (operation.value("collective", false)) {
                collective = true;
                QCOMPARE(static_cast<int>(operation["samples"].size()), 3);
                QVERIFY(operation["bus_bandwidth"].get<double>() > 0);
                QVERIFY(operation["share_of_limit"].get<double>() > 0);
                // Of the plan bf16, executed float32.
                QCOMPARE(operation["executed_bytes"].get<std::int64_t>(), 2 * operation["bytes"].get<std::int64_t>());
            }
        }
        QVERIFY(collective);
        const auto defects = traceDefects(read(path("t.json")));
        QVERIFY2(defects.empty(), defects.empty() ? "" : defects.front().c_str());
    }

    void projects()
    {
        const Outcome measured = shardctl(run(design(), { "--project", "dgx-h100", "--json" }));
        QVERIFY2(measured.code == 0, qPrintable(measured.err));
        const QJsonObject projection = measured.json()["projection"].toObject();
        QCOMPARE(projection["communication"].toString(), "modelled");
        QCOMPARE(projection["compute"].toString(), "measured");
        QVERIFY(projection["step_seconds"].toDouble() > projection["collective_seconds"].toDouble());
        QVERIFY(projection["statement"].toString().contains("not run on dgx-h100"));
        QVERIFY(projection["whole_model"].isNull()); // without its ends
        const Outcome text = shardctl(run(design(), { "--project", "tpu-v5p" }));
        QVERIFY2(text.out.contains("not run on tpu-v5p"), qPrintable(text.out));
        const Outcome unknown = shardctl(run(design(), { "--project", "abacus" }));
        QCOMPARE(unknown.code, 2);
        QCOMPARE(unknown.err.count('\n'), 1);
    }

    void refusalsAreOneLineBeforeAnythingRuns_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        QTest::newRow("profile nowhere") << run(design(), { "--profile", "/nonexistent/p.json" }) << 3;
        QTest::newRow("trace is a folder") << run(design(), { "--trace", m_folder.path() }) << 3;
        QTest::newRow("trace is no file") << run(design(), { "--trace", "/dev/full" }) << 3;
        QTest::newRow("mode") << run(design(), { "--profile-mode", "sideways" }) << 2;
        QTest::newRow("mode none") << run(design(), { "--profile-mode", "none" }) << 2;
        QTest::newRow("hosts of one process") << run(design(), { "--hosts", "a:1,b:1" }) << 2;
        QTest::newRow("no hostfile") << run(design(), { "--backend", "mpi", "--hosts", "/nonexistent/hosts" }) << 3;
        const QStringList far { "--backend", "mpi", "--hosts" };
        QTest::newRow("hosts that are none") << run(design(), far + QStringList { "" }) << 3;
        QTest::newRow("a host without a name") << run(design(), far + QStringList { "a:1,,b:1" }) << 3;
        QTest::newRow("a host that is an option") << run(design(), far + QStringList { "-oX" }) << 3;
        QTest::newRow("no processes on a host") << run(design(), far + QStringList { "localhost:0" }) << 3;
        QTest::newRow("fewer than none") << run(design(), far + QStringList { "localhost:-2" }) << 3;
        QTest::newRow("no number of processes") << run(design(), far + QStringList { "localhost:x" }) << 3;
        QTest::newRow("a folder of hosts") << run(design(), far + QStringList { m_folder.path() }) << 3;
        QTest::newRow("a hostfile without hosts") << run(design(), far + QStringList { written("hosts", "\n# localhost\n") }) << 3;
        QTest::newRow("ranks beside a command") << run(design(), { "--backend", "mpi", "--ranks", "2", "--engine", "srun x" }) << 2;
        QTest::newRow("a calibration on hosts of one process")
            << QStringList { "calibrate", "--hosts", "a:1", "-o", path("h.json") } << 2;
        QTest::newRow("a benchmark on hosts of one process") << QStringList { "bench", "pick", "--hosts", "a:1" } << 2;
        QTest::newRow("a benchmark of no such name on ranks") << QStringList { "bench", "nccl", "--ranks", "2" } << 2;
        QTest::newRow("a benchmark by a command of no worker") << QStringList { "bench", "pick", "--engine", "x" } << 2;
        QTest::newRow("calibrate without a file") << QStringList { "calibrate" } << 2;
        QTest::newRow("calibrate nowhere") << QStringList { "calibrate", "-o", "/nonexistent/h.json" } << 3;
        QTest::newRow("calibrate on an abacus") << QStringList { "calibrate", "--backend", "abacus", "-o", path("h.json") } << 2;
    }
    void refusalsAreOneLineBeforeAnythingRuns()
    {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        const Outcome refused = shardctl(arguments);
        QVERIFY2(refused.code == code, qPrintable(refused.err));
        QVERIFY2(refused.err.count('\n') == 1, qPrintable(refused.err)); // no announcement either
        QVERIFY(refused.out.isEmpty());
    }

    /// The disk is full when the trace is written: told in a line, and the result of the run is not lost.
    void noSpaceKeepsTheResult()
    {
        QProcess process;
        const QString command = "trap '' XFSZ; ulimit -f 4; exec '" SHARDBOARD_BINARY_DIR "/bin/shardctl' "
            + run(design(), { "--trace", path("full.json"), "--json" }).join(' ');
        process.start("/bin/sh", { "-c", command });
        QVERIFY(process.waitForFinished(120000));
        QCOMPARE(process.exitCode(), 3);
        const QString err = QString::fromUtf8(process.readAllStandardError());
        QVERIFY2(err.contains("cannot be written"), qPrintable(err));
        QCOMPARE(QJsonDocument::fromJson(process.readAllStandardOutput()).object()["steps"].toInt(), 3);
        QVERIFY(!QFile::exists(path("full.json")));
    }

    void engineThatDies_data()
    {
        QTest::addColumn<QString>("engine");
        const QString hello = R"(echo '{"type":"hello","protocol":1,"backends":[]}'; )";
        QTest::newRow("before hello") << "exit 3";
        QTest::newRow("while it works") << hello + "read line; kill -9 $$";
        QTest::newRow("answers nonsense") << hello + R"(read line; echo '{"type":"result","id":1}')";
        QTest::newRow("answers half of it") << hello
                + R"(read line; echo '{"type":"result","run":{},"profile":{"mode":7},"calibration":{"points":0}}')";
    }
    void engineThatDies()
    {
        QFETCH(QString, engine);
        for (const QStringList& command :
             { run(design(), { "--trace", path("dead.json") }), QStringList { "calibrate", "--quick", "-o", path("dead.json") } }) {
            const Outcome outcome = shardctl(command + QStringList { "--engine", engine });
            QVERIFY2(outcome.code == 4, qPrintable(outcome.err));
            QVERIFY2(outcome.err.count('\n') == 1, qPrintable(outcome.err));
            QVERIFY(!QFile::exists(path("dead.json")));
        }
    }

    void interruptCancelsACalibration()
    {
        QProcess process;
        process.start(QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardctl"), { "calibrate", "-o", path("never.json") });
        process.setReadChannel(QProcess::StandardError);
        QVERIFY(process.waitForReadyRead(60000)); // the announcement
        QTest::qWait(300);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(20000));
        QCOMPARE(process.exitCode(), 5);
        QVERIFY(process.readAllStandardOutput().isEmpty());
        QVERIFY(!QFile::exists(path("never.json")));
    }

    /// The whole way: measure, make a design for it, predict, run. What comes out is told.
    void calibratesAndPredictsARun()
    {
        QElapsedTimer timer;
        timer.start();
        const Outcome calibrated = shardctl({ "calibrate", "--quick", "-o", path("here.json") });
        QVERIFY2(calibrated.code == 0, qPrintable(calibrated.err));
        QVERIFY2(calibrated.out.contains("mean error"), qPrintable(calibrated.out));
        qInfo("calibrate --quick took %.1f s", static_cast<double>(timer.elapsed()) / 1000);
        const json hardware = read(path("here.json"));
        for (const json& fit : hardware["calibration"]["fits"]) {
            QVERIFY(fit["worst"].get<double>() >= fit["mean"].get<double>());
            qInfo("%s: %d points, mean error %.0f %%, worst %.0f %%", fit["name"].get<std::string>().c_str(),
                  fit["points"].get<int>(), 100 * fit["mean"].get<double>(), 100 * fit["worst"].get<double>());
        }
        QVERIFY(hardware["calibration"]["points"].size() > 50);
        // Operations of programs that ran are among them, and correct the laws.
        std::map<std::string, int> ofPrograms;
        for (const json& point : hardware["calibration"]["points"])
            if (point.value("source", "") == "run")
                ++ofPrograms[point["kind"].get<std::string>()];
        for (const char* kind : { "matmul", "matmul_grad_w", "rms_norm", "silu", "split_heads", "attention", "attention_grad_k",
                                  "adam_step", "all-gather", "reduce-scatter", "all-reduce" })
            QVERIFY2(ofPrograms[kind] >= 2, kind);
        // What is measured alone counts its bytes as a plan in float32 does.
        std::set<std::string> alone;
        for (const json& point : hardware["calibration"]["points"]) {
            int rows = 0;
            int columns = 0;
            int inner = 0;
            const std::string what = point["what"].get<std::string>();
            double elements = 0;
            if (std::sscanf(what.c_str(), "add [%d, %d]", &rows, &columns) == 2)
                elements = 3.0 * rows * columns;
            else if (std::sscanf(what.c_str(), "matmul [%d, %d] [%d,", &rows, &inner, &columns) == 3)
                elements = 1.0 * rows * inner + 1.0 * inner * columns + 1.0 * rows * columns;
            if (elements == 0 || point["dtype"] != "F32")
                continue;
            alone.insert(what.substr(0, 3));
            QVERIFY2(point["bytes"].get<double>() == 4 * elements, what.c_str());
        }
        QCOMPARE(alone.size(), std::size_t { 2 });
        std::map<std::string, std::size_t> corrected;
        for (const json& op : hardware["device"]["measured"])
            corrected[op["op"].get<std::string>()] = op["sizes"].size();
        QVERIFY(corrected["rms_norm"] == static_cast<std::size_t>(ofPrograms["rms_norm"]));
        QVERIFY(hardware["levels"][0]["link"]["rates"].size() >= 3);
        const QString file = design({ "--hardware", path("here.json"), "--dtype", "f32", "--sequence", "64" });
        QVERIFY(!file.isEmpty());
        const Outcome measured = shardctl(run(file, { "--profile-mode", "serial", "--json" }));
        QVERIFY2(measured.code == 0, qPrintable(measured.err));
        const double predicted = measured.json()["predicted_step_seconds"].toDouble();
        const double median = measured.json()["step_seconds"].toObject()["median"].toDouble();
        qInfo("a step took %.3g s, predicted %.3g s", median, predicted);
        QVERIFY(predicted > 0 && median > 0);
        QCOMPARE(shardctl({ "plan", file }).code, 0);
    }

    void ranksAreNotLostOnAnotherCommand()
    {
        qputenv("SHARDBOARD_ENGINE", "exit 1");
        const Outcome refused = shardctl(run(design(), { "--backend", "mpi", "--ranks", "2" }));
        qunsetenv("SHARDBOARD_ENGINE");
        QVERIFY2(refused.code == 2 && refused.err.contains("SHARDBOARD_ENGINE"), qPrintable(refused.err));
    }

    /// The same by the processes of mpirun, whose collectives are between them.
    void calibratesProcesses()
    {
        const Outcome calibrated =
            shardctl({ "calibrate", "--backend", "mpi", "--ranks", "2", "--quick", "-o", path("processes.json") });
        if (calibrated.code == 4 && (calibrated.err.contains("no MPI") || calibrated.err.contains("mpirun")))
            QSKIP(qPrintable(calibrated.err));
        QVERIFY2(calibrated.code == 0, qPrintable(calibrated.err));
        QVERIFY2(calibrated.out.contains("mean error"), qPrintable(calibrated.out));
        const json hardware = read(path("processes.json"));
        QCOMPARE(QString::fromStdString(hardware["calibration"]["backend"]), "mpi");
        std::map<std::string, int> points;
        for (const json& point : hardware["calibration"]["points"])
            ++points[point["kind"].get<std::string>()];
        for (const char* kind : { "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv" })
            QVERIFY2(points[kind] == 9, kind); // three sizes over two, four and eight
        QVERIFY(points["gemm"] >= 9 && points["memory"] >= 9 && points["attention"] >= 2);
        for (const json& fit : hardware["calibration"]["fits"])
            qInfo("%s: %d points, mean error %.0f %%, worst %.0f %%", fit["name"].get<std::string>().c_str(),
                  fit["points"].get<int>(), 100 * fit["mean"].get<double>(), 100 * fit["worst"].get<double>());
        const QString file = design({ "--hardware", path("processes.json"), "--dtype", "f32", "--sequence", "64" });
        QVERIFY(!file.isEmpty());
        const Outcome measured = shardctl(run(file, { "--backend", "mpi", "--ranks", "2", "--verify", "--json" }));
        QVERIFY2(measured.code == 0, qPrintable(measured.err));
        qInfo("a step took %.3g s, predicted %.3g s", measured.json()["step_seconds"].toObject()["median"].toDouble(),
              measured.json()["predicted_step_seconds"].toDouble());
        QVERIFY(measured.json()["predicted_step_seconds"].toDouble() > 0);
        // What several hosts share is no memory.
        qputenv("SHARDBOARD_MPI_HOSTS", "rank");
        const Outcome far = shardctl({ "calibrate", "--backend", "mpi", "--ranks", "2", "--quick", "-o", path("far.json") });
        qunsetenv("SHARDBOARD_MPI_HOSTS");
        QCOMPARE(far.code, 4);
        QVERIFY2(far.err.count('\n') == 1 && far.err.contains("one host"), qPrintable(far.err));
        QVERIFY(!QFile::exists(path("far.json")));
    }
};

SHARDBOARD_TEST(TestMeasureCommands)
#include "tst_measurecommands.moc"

// SPDX-License-Identifier: Apache-2.0
// The real worker process, over its pipes: what it answers, and that it survives what clients do.
#include "app/ctl/runcommand.h"
#include "app/ctl/workerprocess.h"
#include "model/protocol/jsonline.h"
#include "tests/engine/testprogram.h"

#include <QElapsedTimer>
#include <QTest>

#include <cmath>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;

namespace {

std::string enginePath() { return qEnvironmentVariable("SHARDBOARD_ENGINE_PATH").toStdString(); }

/// Quoted for the shell; `exec`, so that the process is the engine itself.
std::string engineCommand() { return "exec '" + enginePath() + "'"; }

/// A run that takes many seconds.
Program slowProgram()
{
    TestDesign design;
    design.mesh = "data=1,model=2";
    design.model.hiddenSize = 2048;
    design.model.intermediateSize = 8192;
    design.model.heads = 16;
    design.model.kvHeads = 8;
    design.model.headDim = 128;
    design.model.layers = 40;
    design.workload = { WorkloadKind::Prefill, 2, 1024, DType::BF16 };
    return programOf(design);
}

json runRequest(const Program& program, int id, const RunOptions& options = {})
{
    return { { "type", "run" }, { "id", id }, { "plan", planToJson(program.graph, program.plan) },
             { "options", toJson(options) } };
}

} // namespace

/// QCOMPARE cannot print these.
#define SAME(actual, expected) QVERIFY((actual) == (expected))


class TestWorker : public QObject {
    Q_OBJECT

    std::unique_ptr<WorkerProcess> m_worker;

    /// The next message of that type (others are skipped), or null.
    json next(const std::string& type, double seconds = 20)
    {
        QElapsedTimer timer;
        timer.start();
        while (static_cast<double>(timer.elapsed()) < seconds * 1000) {
            auto line = m_worker->readLine(0.5);
            if (!line.ok())
                return { { "type", "ended" }, { "message", line.error().text() } };
            if (!line.value())
                continue;
            json message = json::parse(*line.value());
            if (message["type"] == type)
                return message;
        }
        return {};
    }
    json errorAfter(const json& request)
    {
        const auto status = m_worker->send(request);
        return status.ok() ? next("error") : json();
    }
    /// Sends text that need not be JSON, by way of a worker whose input comes from a file of the shell.
    std::vector<json> answersTo(const std::string& command)
    {
        auto worker = WorkerProcess::start(command);
        std::vector<json> out;
        while (worker.ok()) {
            auto line = worker.value()->readLine(30);
            if (!line.ok() || !line.value())
                break;
            out.push_back(json::parse(*line.value()));
        }
        return out;
    }

private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY2(access(enginePath().c_str(), X_OK) == 0, "SHARDBOARD_ENGINE_PATH must name the worker");
    }
    void init()
    {
        auto started = WorkerProcess::start(engineCommand());
        QVERIFY(started.ok());
        m_worker = std::move(started).value();
    }
    void cleanup() { m_worker.reset(); }

    void saysHelloFirst()
    {
        const json hello = next("hello", 5);
        SAME(hello["protocol"], kProtocolVersion);
        SAME(hello["backends"][0]["name"], "cpu");
        SAME(hello["backends"][0]["usable"], true);
        SAME(hello["backends"][0]["dtypes"][0], "f32");
        QVERIFY(hello["backends"][0]["devices"][0]["memory_bytes"].get<std::int64_t>() > 0);
        QVERIFY(hello["backends"][0]["devices"][0]["threads"].get<int>() > 0);
    }

    void runsAndAnnouncesFirst()
    {
        RunOptions options;
        options.verify = true;
        QVERIFY(m_worker->send(runRequest(programOf({}), 7, options)).ok());
        std::vector<std::string> types;
        while (types.empty() || (types.back() != "result" && types.back() != "error")) {
            auto line = m_worker->readLine(20);
            QVERIFY(line.ok() && line.value());
            const json message = json::parse(*line.value());
            types.push_back(message["type"]);
            if (types.back() != "hello")
                SAME(message["id"], 7);
            if (types.back() == "result") {
                const auto result = runResultFromJson(message["run"]);
                QVERIFY(result.ok() && result.value().verified);
                SAME(toJson(result.value()), message["run"]);
            }
        }
        QCOMPARE(types.back(), "result");
        QCOMPARE(types[1], "announce");
        QVERIFY(std::count(types.begin(), types.end(), "sample") > 20);
        QVERIFY(std::count(types.begin(), types.end(), "progress") > 0);
    }

    void answersBadRequestsAndLives()
    {
        SAME(errorAfter({ { "type", "dance" }, { "id", 3 } })["code"], "unknown-request");
        SAME(errorAfter({ { "type", "run" }, { "id", 4 } })["code"], "bad-message");
        SAME(errorAfter({ { "id", 5 } })["code"], "bad-message");
        SAME(errorAfter(json::array({ 1 }))["code"], "bad-message");
        SAME(errorAfter({ { "type", "run" }, { "id", 6 }, { "protocol", 99 } })["code"], "bad-message");
        SAME(errorAfter({ { "type", "cancel" }, { "id", 1 } })["code"], "unknown-request");
        SAME(errorAfter({ { "type", "run" }, { "id", 8 }, { "plan", json::object() }, { "options", json::object() } })["code"],
                 "bad-plan");
        const json badOption = errorAfter({ { "type", "run" }, { "id", 9 }, { "plan", json::object() },
                                            { "options", { { "steps", -1 } } } });
        SAME(badOption["code"], "bad-message");
        SAME(badOption["where"], "options:steps");
        QVERIFY(m_worker->send(runRequest(programOf({}), 10)).ok());
        SAME(next("result")["id"], 10);
    }

    void survivesTextThatIsNotJson()
    {
        const std::string good = "{\"type\":\"dance\",\"id\":1}";
        const auto answers = answersTo("( printf 'garbage\\n{\"type\":\\n\\n\\377\\376\\n" + good + "\\n'; sleep 0.5 ) | "
                                       + "'" + enginePath() + "'");
        QCOMPARE(answers.size(), std::size_t { 5 });
        for (std::size_t i = 1; i < 4; ++i)
            SAME(answers[i]["code"], "bad-message");
        SAME(answers[4]["code"], "unknown-request");
    }

    void survivesDeepNestingAndEndlessLines()
    {
        const std::string deep = "head -c 30000000 /dev/zero | tr '\\0' '['; echo; ";
        const std::string endless = "head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; ";
        const auto answers = answersTo("( " + deep + endless + "echo '{\"type\":\"dance\"}'; sleep 0.5 ) | '" + enginePath()
                                       + "'");
        QCOMPARE(answers.size(), std::size_t { 4 });
        QVERIFY(answers[1]["message"].get<std::string>().find("nested") != std::string::npos);
        QVERIFY(answers[2]["message"].get<std::string>().find("longer") != std::string::npos);
        SAME(answers[3]["code"], "unknown-request");
    }

    void cancelAnswersSoon()
    {
        QVERIFY(m_worker->send(runRequest(slowProgram(), 1)).ok());
        SAME(next("progress")["id"], 1);
        QVERIFY(m_worker->send(runRequest(programOf({}), 2)).ok());
        SAME(next("error")["code"], "busy");
        QElapsedTimer timer;
        timer.start();
        QVERIFY(m_worker->send({ { "type", "cancel" }, { "id", 1 } }).ok());
        const json answer = next("error", 10);
        const qint64 took = timer.elapsed();
        SAME(answer["code"], "cancelled");
        SAME(answer["id"], 1);
        QVERIFY2(took < 2000, std::to_string(took).c_str()); // 0.2 s on a machine that is not busy
        QVERIFY(m_worker->send(runRequest(programOf({}), 3)).ok());
        SAME(next("result")["id"], 3);
    }

    void leavesWhenItsInputCloses()
    {
        QVERIFY(m_worker->send(runRequest(slowProgram(), 1)).ok());
        QVERIFY(!next("progress").is_null());
        const pid_t pid = m_worker->pid();
        QElapsedTimer timer;
        timer.start();
        m_worker.reset();
        QVERIFY2(timer.elapsed() < 1500, std::to_string(timer.elapsed()).c_str());
        QCOMPARE(kill(pid, 0), -1);
    }

    void quitEndsItDuringARun()
    {
        QVERIFY(m_worker->send(runRequest(slowProgram(), 1)).ok());
        QVERIFY(!next("progress").is_null());
        QVERIFY(m_worker->send({ { "type", "quit" }, { "id", 2 } }).ok());
        const json end = next("never", 5);
        QVERIFY2(end["message"].get<std::string>().find("exit status 0") != std::string::npos, end.dump().c_str());
    }

    void aKilledWorkerIsNoticed()
    {
        QVERIFY(m_worker->send(runRequest(slowProgram(), 1)).ok());
        QVERIFY(!next("progress").is_null());
        kill(m_worker->pid(), SIGKILL);
        const json end = next("never", 5);
        QVERIFY2(end["message"].get<std::string>().find("signal 9") != std::string::npos, end.dump().c_str());
        while (m_worker->send({ { "type", "quit" } }).ok()) { }
    }

    void reportsExitStatusAndLastWords()
    {
        auto worker = WorkerProcess::start("echo no such GPU >&2; exit 7");
        QVERIFY(worker.ok());
        const auto line = worker.value()->readLine(5);
        QVERIFY(!line.ok());
        QVERIFY(line.error().text().find("exit status 7") != std::string::npos);
        QVERIFY(line.error().text().find("no such GPU") != std::string::npos);
        QCOMPARE(line.error().code, ErrorCode::Engine);
    }

    void readLineTimesOut()
    {
        auto worker = WorkerProcess::start("sleep 20");
        QElapsedTimer timer;
        timer.start();
        const auto line = worker.value()->readLine(0.2);
        QVERIFY(line.ok() && !line.value());
        QVERIFY(timer.elapsed() >= 190 && timer.elapsed() < 2000);
    }

    void runInWorkerGivesResultErrorOrCancel()
    {
        const Program program = programOf({});
        std::atomic<bool> cancel { false };
        RunCommand command;
        command.engine = engineCommand();
        command.options.verify = true;
        std::int64_t announced = 0;
        RunReports reports;
        reports.announce = [&](std::int64_t bytes, double) { announced = bytes; };
        const auto result = runInWorker(program.graph, program.plan, command, reports, cancel);
        QVERIFY(result.ok() && result.value().verified && announced > 0);

        command.options.backend = "cuda";
        const auto refused = runInWorker(program.graph, program.plan, command, reports, cancel);
        QVERIFY(!refused.ok() && !refused.cancelled());
        QCOMPARE(refused.error().code, ErrorCode::Engine);

        command.options.backend = "cpu";
        const Program slow = slowProgram();
        reports.progress = [&](std::int64_t, std::int64_t, const std::string&) { cancel = true; };
        QVERIFY(runInWorker(slow.graph, slow.plan, command, reports, cancel).cancelled());

        cancel = false;
        command.engine = "echo '{\"type\":\"hello\",\"protocol\":2}'; sleep 5";
        const auto old = runInWorker(program.graph, program.plan, command, {}, cancel);
        QVERIFY(!old.ok() && old.error().text().find("protocol 2") != std::string::npos);
        command.engine = "echo no protocol at all";
        QVERIFY(!runInWorker(program.graph, program.plan, command, {}, cancel).ok());
    }

    void messagesSurviveTheWire()
    {
        RunOptions options;
        options.layers = 3;
        options.steps = 4;
        options.verify = options.designDtype = true;
        options.ends = false;
        options.breakCollective = "any";
        options.seed = ~std::uint64_t { 0 };
        const auto read = runOptionsFromJson(json::parse(toJson(options).dump()));
        QVERIFY(read.ok());
        SAME(toJson(read.value()), toJson(options));
        RunResult result;
        result.compared = true;
        result.maxRelativeError = std::numeric_limits<double>::infinity();
        result.operations.push_back({ "block/x", "matmul", 1, 2, 3, 4, result.maxRelativeError });
        const auto back = runResultFromJson(json::parse(toJson(result).dump()));
        QVERIFY(back.ok());
        QVERIFY(std::isinf(back.value().maxRelativeError));
        QVERIFY(std::isinf(back.value().operations.front().relativeError));
        QCOMPARE(jsonDepth("{\"a\":[\"[[[[\",{}]}"), 3);
    }
};

QTEST_GUILESS_MAIN(TestWorker)
#include "tst_worker.moc"

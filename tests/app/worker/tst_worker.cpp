// SPDX-License-Identifier: Apache-2.0
// The real worker process, over its pipes: what it answers, and that it survives what clients do.
#include "app/worker/askworker.h"
#include "app/worker/runinworker.h"
#include "app/worker/stderrsummary.h"
#include "app/worker/workerprocess.h"
#include "model/io/wire/greeting.h"
#include "model/io/wire/jsonline.h"
#include "tests/app/worker/workermessages.h"
#include "tests/engine/testprogram.h"
#include "tests/support/chatter.h"
#include "tests/support/runner.h"

#include <QElapsedTimer>
#include <QTest>

#include <cmath>
#include <csignal>
#include <map>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;

namespace {

/// Quoted for the shell; `exec`, so that the process is the engine itself.
std::string engineCommand() { return "exec '" + enginePath() + "'"; }

/// The document with one random place of it made into something else, or taken out.
void spoil(json& document, std::mt19937& random)
{
    json* place = &document;
    while (place->is_structured() && !place->empty() && random() % 8 != 0) {
        auto child = place->begin();
        std::advance(child, static_cast<std::ptrdiff_t>(random() % place->size()));
        if (random() % 40 == 0) {
            place->erase(child);
            return;
        }
        place = &*child;
    }
    const json others[] { nullptr,
                          -1,
                          0,
                          3,
                          1e300,
                          "x",
                          "P('nobody')",
                          json::array(),
                          json::object(),
                          json::array({ 1, 2, 3 }),
                          true,
                          std::int64_t { 1 } << 62,
                          std::string(5000, 'a') };
    *place = others[random() % std::size(others)];
}

} // namespace

/// QCOMPARE cannot print these.
#define SAME(actual, expected) QVERIFY((actual) == (expected))

class TestWorker : public QObject {
    Q_OBJECT

    std::unique_ptr<WorkerProcess> m_worker;

    json next(const std::string& type, double seconds = 20) { return nextMessage(*m_worker, type, seconds); }
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
    void initTestCase() { QVERIFY2(access(enginePath().c_str(), X_OK) == 0, "SHARDBOARD_ENGINE_PATH must name the worker"); }
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
        const json badOption =
            errorAfter({ { "type", "run" }, { "id", 9 }, { "plan", json::object() }, { "options", { { "steps", -1 } } } });
        SAME(badOption["code"], "bad-message");
        SAME(badOption["where"], "options:steps");
        QVERIFY(m_worker->send(runRequest(programOf({}), 10)).ok());
        SAME(next("result")["id"], 10);
    }

    void survivesTextThatIsNotJson()
    {
        const std::string good = "{\"type\":\"dance\",\"id\":1}";
        const auto answers = answersTo("( printf 'garbage\\n{\"type\":\\n\\n\\377\\376\\n" + good + "\\n'; sleep 0.5 ) | " + "'"
                                       + enginePath() + "'");
        QCOMPARE(answers.size(), std::size_t { 5 });
        for (std::size_t i = 1; i < 4; ++i)
            SAME(answers[i]["code"], "bad-message");
        SAME(answers[4]["code"], "unknown-request");
    }

    void survivesDeepNestingAndEndlessLines()
    {
        const std::string deep = "head -c 30000000 /dev/zero | tr '\\0' '['; echo; ";
        const std::string endless = "head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; ";
        const auto answers = answersTo("( " + deep + endless + "echo '{\"type\":\"dance\"}'; sleep 0.5 ) | '" + enginePath() + "'");
        QCOMPARE(answers.size(), std::size_t { 4 });
        QVERIFY(answers[1]["message"].get<std::string>().find("nested") != std::string::npos);
        QVERIFY(answers[2]["message"].get<std::string>().find("longer") != std::string::npos);
        SAME(answers[3]["code"], "unknown-request");
    }

    void cancelAnswersSoon()
    {
        QVERIFY(m_worker->send(lasting(runRequest(slowProgram(), 1))).ok());
        SAME(next("progress")["id"], 1);
        QVERIFY(m_worker->send(runRequest(programOf({}), 2)).ok());
        SAME(next("error")["code"], "busy");
        QVERIFY(m_worker->send({ { "type", "cancel" }, { "id", 1 } }).ok());
        const json answer = next("error", 60); // the program would go on for longer
        SAME(answer["code"], "cancelled");
        SAME(answer["id"], 1);
        QVERIFY(m_worker->send(runRequest(programOf({}), 3)).ok());
        SAME(next("result")["id"], 3);
    }

    /// In the middle of a run that would go on for hours, and by itself.
    void leavesWhenItsInputCloses()
    {
        QTemporaryFile request;
        QVERIFY(request.open());
        request.write(QByteArray::fromStdString(lasting(runRequest(slowProgram(), 1)).dump() + "\n"));
        request.close();
        const auto answers = answersTo("cat '" + request.fileName().toStdString() + "' | '" + enginePath()
                                       + "'; echo '{\"type\":\"left\",\"code\":'$?'}'");
        QVERIFY(!answers.empty());
        SAME(answers.back()["type"], "left");
        SAME(answers.back()["code"], 0);
    }

    void quitEndsItDuringARun()
    {
        QVERIFY(m_worker->send(lasting(runRequest(slowProgram(), 1))).ok());
        QVERIFY(!next("progress").is_null());
        QVERIFY(m_worker->send({ { "type", "quit" }, { "id", 2 } }).ok());
        const json end = next("never", 5);
        QVERIFY2(end["message"].get<std::string>().find("exit status 0") != std::string::npos, end.dump().c_str());
    }

    void aKilledWorkerIsNoticed()
    {
        QVERIFY(m_worker->send(lasting(runRequest(slowProgram(), 1))).ok());
        QVERIFY(!next("progress").is_null());
        kill(m_worker->pid(), SIGKILL);
        const json end = next("never", 5);
        QVERIFY2(end["message"].get<std::string>().find("signal 9") != std::string::npos, end.dump().c_str());
        while (m_worker->send({ { "type", "quit" } }).ok()) { }
    }

    /// Kills, cancels and bad messages in any order and at any time: there is an answer to everything, a worker that was not
    /// ended works on, one that was is noticed, and nothing is left behind. SHARDBOARD_TRIALS sets how many (50).
    void randomTrials()
    {
        const int trials =
            qEnvironmentVariableIntValue("SHARDBOARD_TRIALS") > 0 ? qEnvironmentVariableIntValue("SHARDBOARD_TRIALS") : 50;
        std::mt19937 random(11);
        const json slow = lasting(runRequest(slowProgram(), 1));
        const json quick = runRequest(programOf({}), 1);
        m_worker.reset();
        const int before = openDescriptors();
        std::map<std::string, int> happened;
        for (int trial = 0; trial < trials; ++trial) {
            if (!m_worker) {
                auto started = WorkerProcess::start(engineCommand());
                QVERIFY(started.ok());
                m_worker = std::move(started).value();
            }
            const auto pause = [&] { usleep(static_cast<unsigned>(random() % 150) * 1000); };
            const auto ended = [&] {
                const json end = next("never", 5);
                return end.value("type", "") == "ended" ? end.value("message", "") : std::string("still there");
            };
            const std::string told = "trial " + std::to_string(trial) + ": ";
            const unsigned kind = random() % 8;
            ++happened[std::to_string(kind)];
            if (kind == 0) { // a spoiled request: an error, or a run that can be cancelled
                json request = quick;
                for (unsigned i = 0; i <= random() % 3; ++i)
                    spoil(request, random);
                if (request.is_object())
                    request["id"] = 1;
                if (request == json { { "type", "quit" } })
                    continue;
                QVERIFY(m_worker->send(request).ok());
                QElapsedTimer timer;
                timer.start();
                bool answered = false;
                bool cancelled = false;
                while (!answered) {
                    QVERIFY2(timer.elapsed() < 30000, (told + request.dump().substr(0, 3000)).c_str());
                    auto line = m_worker->readLine(1);
                    QVERIFY2(line.ok(), (told + (line.ok() ? "" : line.error().text()) + request.dump().substr(0, 3000)).c_str());
                    if (!line.value() && !cancelled) {
                        cancelled = true;
                        QVERIFY(m_worker->send({ { "type", "cancel" }, { "id", 1 } }).ok());
                    }
                    const json message = line.value() ? json::parse(*line.value()) : json { { "type", "" } };
                    answered = message["type"] == "error" || message["type"] == "result";
                    happened["spoiled, " + message.value("code", message["type"].get<std::string>())] += answered;
                }
            } else if (kind == 1) {
                QVERIFY(m_worker->send(quick).ok());
                QVERIFY2(next("result")["id"] == 1, told.c_str());
            } else if (kind == 2) {
                QVERIFY(m_worker->send(slow).ok());
                pause();
                QVERIFY(m_worker->send({ { "type", "cancel" }, { "id", 1 } }).ok());
                QVERIFY2(next("error", 10)["code"] == "cancelled", told.c_str());
            } else if (kind == 3) {
                QVERIFY(m_worker->send(random() % 2 ? slow : quick).ok());
                pause();
                kill(m_worker->pid(), SIGKILL);
                const std::string end = ended();
                QVERIFY2(end.find("signal 9") != std::string::npos, (told + end).c_str());
                m_worker.reset();
            } else if (kind == 4) {
                QVERIFY(m_worker->send(slow).ok());
                pause();
                const pid_t pid = m_worker->pid();
                m_worker.reset();
                QVERIFY2(kill(pid, 0) == -1, told.c_str());
            } else if (kind == 5) {
                QVERIFY(m_worker->send(slow).ok());
                pause();
                QVERIFY(m_worker->send({ { "type", "quit" }, { "id", 2 } }).ok());
                const std::string end = ended();
                QVERIFY2(end.find("exit status 0") != std::string::npos, (told + end).c_str());
                m_worker.reset();
            } else if (kind == 6) { // more than a pipe holds before anything is read
                const int count = 2000;
                for (int i = 0; i < count; ++i)
                    QVERIFY(m_worker->send({ { "type", std::string(200, 'z') }, { "id", i } }).ok());
                for (int i = 0; i < count; ++i)
                    QVERIFY2(next("error")["id"] == i, (told + std::to_string(i)).c_str());
            } else { // it hangs for a while, with a request in its pipe
                kill(m_worker->pid(), SIGSTOP);
                QVERIFY(m_worker->send({ { "type", "dance" }, { "id", 5 } }).ok());
                pause();
                const bool wakes = random() % 2 != 0;
                kill(m_worker->pid(), wakes ? SIGCONT : SIGKILL);
                if (wakes)
                    QVERIFY2(next("error")["id"] == 5, told.c_str());
                else
                    m_worker.reset();
            }
            if (m_worker && random() % 3 == 0) {
                QVERIFY(m_worker->send({ { "type", "dance" }, { "id", 9 } }).ok());
                QVERIFY2(next("error")["code"] == "unknown-request", told.c_str());
            }
        }
        m_worker.reset();
        QCOMPARE(openDescriptors(), before);
        QVERIFY(waitpid(-1, nullptr, WNOHANG) == -1); // no child is left
        std::string text;
        for (const auto& [what, count] : happened)
            text += what + " " + std::to_string(count) + "; ";
        qInfo("%d trials: %s", trials, text.c_str());
    }

    void reportsExitStatusAndStderr()
    {
        auto worker = WorkerProcess::start("echo no such GPU >&2; exit 7");
        QVERIFY(worker.ok());
        const auto line = worker.value()->readLine(5);
        QVERIFY(!line.ok());
        QVERIFY(line.error().text().find("exit status 7") != std::string::npos);
        QVERIFY(line.error().text().find("no such GPU") != std::string::npos);
        QCOMPARE(line.error().code, ErrorCode::Engine);
    }

    void summaryOfStderrSaysWhatHappened()
    {
        QCOMPARE(stderrSummary(""), std::string());
        QCOMPARE(stderrSummary("no such GPU\n"), std::string("no such GPU"));
        QCOMPARE(stderrSummary("hm\n" + std::string(500, 'x')).size(), std::size_t { 240 });
        std::string umlauts = "x"; // of two bytes each: none is cut in two
        for (int i = 0; i < 200; ++i)
            umlauts += "ä";
        QCOMPARE(stderrSummary(umlauts + "y").size(), std::size_t { 239 });
        QCOMPARE(stderrSummary("shardboard-engine: " + umlauts.substr(1)), "shardboard-engine: " + umlauts.substr(1, 220) + "…");
        const std::string frame = std::string(74, '-') + "\n";
        const std::string peer = frame
            + "An MPI communication peer process has unexpectedly disconnected.  This\nusually indicates a failure in the "
              "peer process.\n\n  Local host: host1\n  Peer host:  host2\n"
            + frame;
        const std::string aborted = frame
            + "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job "
              "has been aborted.\n"
            + frame;
        QCOMPARE(stderrSummary(aborted + peer + frame
                               + "mpirun noticed that process rank 2 with PID 10 on node host2 exited on signal 9 (Killed).\n"
                               + frame),
                 std::string("mpirun noticed that process rank 2 with PID 10 on node host2 exited on signal 9 (Killed)"));
        QCOMPARE(
            stderrSummary(frame
                          + "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[4698,0],0] on node host1\n  "
                            "Remote daemon: "
                            "[[4698,0],1] on node host2\n\nThis is usually due to a failure of the network on the way.\n"
                          + frame + peer),
            std::string("mpirun has lost the host host2"));
        const std::string daemons = frame
            + "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n\n* not finding the libraries\n"
            + frame;
        QCOMPARE(stderrSummary(daemons), std::string("mpirun cannot start its daemon on all hosts"));
        QCOMPARE(stderrSummary("ssh: Could not resolve hostname b: Name or service not known\n" + daemons),
                 std::string(
                     "mpirun cannot start its daemon on all hosts: ssh: Could not resolve hostname b: Name or service not known"));
        QCOMPARE(stderrSummary(frame + "mpirun was unable to find the executable. It\nsaid so.\n\nExecutable: x\n" + frame),
                 std::string("mpirun was unable to find the executable. It said so"));
        QCOMPARE(stderrSummary("srun: error: host2: task 3: Killed\nsrun: launch/slurm: _step_signal: Terminating StepId=1.0\n"
                               + peer + "srun: error: host1: tasks 0-2: Terminated\n"),
                 std::string("srun: error: host2: task 3: Killed"));
        QVERIFY(stderrSummary(frame
                              + "The application appears to have been direct launched using \"srun\",\nbut OMPI was not built with "
                                "SLURM's PMI support and "
                                "therefore cannot\nexecute. There are several options.\n"
                              + frame + "srun: error: host1: tasks 0-2: Exited with exit code 1\n")
                    .find("--mpi=pmix")
                != std::string::npos);
        QCOMPARE(stderrSummary("shardboard-engine: rank 0 on host1 does not answer\n" + peer),
                 std::string("shardboard-engine: rank 0 on host1 does not answer"));
    }

    /// mpirun ends the others when it has lost a process: they cancel their work, but nobody has asked for that.
    void whatNobodyCancelledIsAnError()
    {
        const std::string hello =
            "echo '{\"type\":\"hello\",\"protocol\":" + std::to_string(kProtocolVersion) + "}'; read request; ";
        const std::string cancelled =
            "echo '{\"type\":\"error\",\"id\":1,\"code\":\"cancelled\",\"message\":\"it was cancelled\"}'; ";
        const std::string lost = "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).";
        const std::string frame = "echo ------------------------------ >&2; ";
        std::atomic<bool> cancel { false };
        const auto answer = askWorker(hello + cancelled + "sleep 0.3; " + frame + "echo '" + lost + "' >&2; " + frame + "exit 137",
                                      { { "type", "run" } }, {}, cancel);
        QVERIFY(!answer.ok() && !answer.cancelled());
        QVERIFY2(answer.error().text().find("process rank 1") != std::string::npos, answer.error().text().c_str());
        const auto silent = askWorker(hello + cancelled + "exec sleep 20", { { "type", "run" } }, {}, cancel);
        QVERIFY(!silent.ok() && !silent.cancelled());
    }

    /// A login script may say much before the worker does, and what it says is no sign of a worker.
    void othersMaySpeakFirst()
    {
        std::atomic<bool> cancel { false };
        const std::string hello =
            "echo '{\"type\":\"hello\",\"protocol\":" + std::to_string(kProtocolVersion) + "}'; read request; ";
        const auto answer = askWorker("for i in $(seq 400); do echo welcome $i; done; echo '{\"motd\":1}'; printf 'host1$ '; "
                                          + hello + "echo '{\"type\":\"result\",\"id\":1}'",
                                      { { "type", "run" } }, {}, cancel);
        QVERIFY2(answer.ok(), answer.ok() ? "" : answer.error().text().c_str());
        for (const std::string& line : chatterLines())
            QVERIFY2(greetingOf(line).kind == Greeting::Kind::Chatter, line.substr(0, 60).c_str());
        const std::string said = R"({"backends":[{"name":"cpu","devices":[{"name":"{x}"}]}],"protocol":1,"type":"hello"})";
        for (const std::string& line :
             { said, said + "\r", chatterPrompt() + said, std::string(std::size_t { 3 } << 20, '.') + said }) {
            const Greeting greeting = greetingOf(line);
            QVERIFY(greeting.kind == Greeting::Kind::Hello);
            QCOMPARE(greeting.message, json::parse(said));
        }
        QVERIFY(greetingOf(R"({"type":"progress"})").kind == Greeting::Kind::Stranger);
        const auto none = askWorker("echo welcome", { { "type", "run" } }, {}, cancel);
        QVERIFY(!none.ok());
        QVERIFY2(none.error().text().find("see that this command starts the worker") != std::string::npos,
                 none.error().text().c_str());
    }

    /// A job may wait longer than a worker on another host has to say hello; what it waits for is shown, and it can be cancelled.
    void aQueueIsWaitedFor()
    {
        QCOMPARE(queueNotice("srun: job 2 queued and waiting for resources\n"),
                 std::string("srun: job 2 queued and waiting for resources"));
        QCOMPARE(queueNotice("srun: job 2 queued and waiting for resources\nsrun: job 2 has been allocated resources\n"),
                 std::string());
        std::atomic<bool> cancel { false };
        int seen = 0;
        const auto answer = askWorker(
            "echo 'srun: job 2 queued and waiting for resources' >&2; exec sleep 20", { { "type", "run" } },
            [&](const json& message) {
                seen += message["type"] == "waiting" && message["what"] == "srun: job 2 queued and waiting for resources";
                cancel = true;
            },
            cancel);
        QVERIFY(answer.cancelled());
        QCOMPARE(seen, 1);
    }

    void readLineTimesOut()
    {
        auto worker = WorkerProcess::start("sleep 20");
        QElapsedTimer timer;
        timer.start();
        const auto line = worker.value()->readLine(0.2);
        QVERIFY(line.ok() && !line.value());
        QVERIFY(timer.elapsed() >= 190 && timer.elapsed() < 19'000); // before the program ends
    }

    void runInWorkerGivesResultErrorOrCancel()
    {
        const Program program = programOf({});
        std::atomic<bool> cancel { false };
        std::string engine = engineCommand();
        RunOptions options;
        options.verify = true;
        std::int64_t announced = 0;
        RunReports reports;
        reports.announce = [&](std::int64_t bytes, double) { announced = bytes; };
        const auto result = runInWorker(program.graph, program.plan, options, engine, reports, cancel);
        QVERIFY(result.ok() && result.value().verified && announced > 0);

        options.backend = "cuda";
        const auto refused = runInWorker(program.graph, program.plan, options, engine, reports, cancel);
        QVERIFY(!refused.ok() && !refused.cancelled());
        QCOMPARE(refused.error().code, ErrorCode::Engine);

        options.backend = "cpu";
        const Program slow = slowProgram();
        options.steps = 100'000;
        reports.progress = [&](std::int64_t, std::int64_t, const std::string&) { cancel = true; };
        QVERIFY(runInWorker(slow.graph, slow.plan, options, engine, reports, cancel).cancelled());

        cancel = false;
        options.steps = 1;
        engine = "echo '{\"type\":\"hello\",\"protocol\":2}'; sleep 5";
        const auto old = runInWorker(program.graph, program.plan, options, engine, {}, cancel);
        QVERIFY(!old.ok() && old.error().text().find("protocol 2") != std::string::npos);
        engine = "echo no protocol at all";
        QVERIFY(!runInWorker(program.graph, program.plan, options, engine, {}, cancel).ok());
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

SHARDBOARD_TEST(TestWorker)
#include "tst_worker.moc"

// SPDX-License-Identifier: Apache-2.0
// The client that shardctl and the window share, against a scripted worker: whatever the worker does, there is an event that says
// so, and nothing of it is left.
#include "app/worker/hosts.h"
#include "app/worker/messagefields.h"
#include "app/worker/workerclient.h"
#include "app/worker/workercommand.h"

#include "tests/app/worker/workermessages.h"
#include "tests/support/runner.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace shardboard;
using nlohmann::json;
using Kind = WorkerEvent::Kind;

namespace {

std::string fake(const std::string& script) { return "exec '" SHARDBOARD_BINARY_DIR "/tests/fakeengine' " + script; }

/// The next event, of a kind that is wanted if one is; after half a minute that of a worker that has failed by nothing.
WorkerEvent eventOf(WorkerClient& client, std::optional<Kind> wanted = std::nullopt)
{
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < 30'000) {
        auto event = client.next();
        if (event && (!wanted || event->kind == *wanted || event->kind == Kind::Failed))
            return std::move(*event);
        if (!event)
            client.wait(1);
    }
    WorkerEvent none;
    none.kind = Kind::Failed;
    none.text = "nothing happened";
    return none;
}

/// A worker as a line of the shell: its hello, then this.
std::string scripted(const std::string& rest) { return R"(echo '{"type":"hello","protocol":1,"backends":[]}'; )" + rest; }

} // namespace

class TestWorkerClient : public QObject {
    Q_OBJECT

    int m_descriptors = 0;

private Q_SLOTS:
    void init() { m_descriptors = openDescriptors(); }
    void cleanup()
    {
        QCOMPARE(openDescriptors(), m_descriptors);
        QVERIFY(waitpid(-1, nullptr, WNOHANG) == -1); // no child is left, and none that nobody has waited for
    }

    void aRequestIsAnswered()
    {
        WorkerClient client(fake("ok"));
        client.request({ { "type", "run" } }); // before the hello
        QVERIFY(eventOf(client).kind == Kind::Hello);
        const WorkerEvent announced = eventOf(client);
        QVERIFY(announced.kind == Kind::Message);
        QCOMPARE(messageText(announced.message, "type"), std::string("announce"));
        QCOMPARE(messageText(eventOf(client).message, "type"), std::string("progress"));
        const WorkerEvent result = eventOf(client, Kind::Result);
        QVERIFY(result.kind == Kind::Result && result.message["run"]["verified"] == true);
        client.request({ { "type", "run" } }); // the same worker once more
        const WorkerEvent again = eventOf(client, Kind::Result);
        QVERIFY(again.kind == Kind::Result);
        QVERIFY(messageWhole(again.message, "id") != messageWhole(result.message, "id"));
        client.ping();
        QVERIFY(eventOf(client).kind == Kind::Other);
    }

    /// More than is kept of what nobody takes: the worker waits, and nothing is lost.
    void aFloodArrivesWholeAndInOrder()
    {
        constexpr std::int64_t kSteps = 60'000;
        WorkerClient client(fake("flood " + std::to_string(kSteps)));
        client.request({ { "type", "run" } });
        for (int i = 0; i < 2'000; ++i)
            client.wait(0.0001); // reads, and takes nothing
        std::int64_t last = 0;
        bool ordered = true;
        WorkerEvent event;
        while ((event = eventOf(client)).kind != Kind::Result && event.kind != Kind::Failed) {
            if (messageText(event.message, "type") != "progress")
                continue;
            ordered = ordered && messageWhole(event.message, "step") == last + 1;
            last = messageWhole(event.message, "step");
        }
        QVERIFY(event.kind == Kind::Result && ordered);
        QCOMPARE(last, kSteps);
    }

    void aCancelIsAnswered()
    {
        WorkerClient client(fake("slow"));
        client.request({ { "type", "run" } });
        QVERIFY(eventOf(client, Kind::Message).kind == Kind::Message);
        client.cancel();
        client.cancel(); // once is enough
        QVERIFY(eventOf(client, Kind::Cancelled).kind == Kind::Cancelled);
        client.request({ { "type", "run" } });
        QVERIFY(eventOf(client, Kind::Message).kind == Kind::Message); // it lives
    }

    void aCancelBeforeTheHelloNeedsNoAnswer()
    {
        WorkerClient client(fake("silent"));
        client.request({ { "type", "run" } });
        client.cancel();
        QVERIFY(eventOf(client).kind == Kind::Cancelled);
        client.kill();
    }

    void aRefusalLeavesTheWorker()
    {
        WorkerClient client(fake("fails"));
        client.request({ { "type", "run" } });
        const WorkerEvent refused = eventOf(client, Kind::Refused);
        QVERIFY(refused.kind == Kind::Refused);
        QCOMPARE(refused.error.what, std::string("needs 900 GiB, this machine has 24 GiB; run fewer layers"));
        client.ping();
        QVERIFY(eventOf(client).kind == Kind::Other);
    }

    void failuresAreTold_data()
    {
        QTest::addColumn<QString>("command");
        QTest::addColumn<WorkerFailure>("failure");
        QTest::addColumn<QString>("text");
        const auto row = [](const char* name, const std::string& command, WorkerFailure failure, const char* text) {
            QTest::newRow(name) << QString::fromStdString(command) << failure << QString::fromUtf8(text);
        };
        using F = WorkerFailure;
        row("no such command", "/no/such/engine", F::NotStarted, "“/no/such/engine” cannot be started: ");
        row("leaves at once", "exit 3", F::Ended, "exit status 3");
        row("others speak, and no worker", "echo welcome; echo '{\"motd\":1}'", F::Ended, "exit status 0");
        row("crashes", fake("crash"), F::Ended, "killed by signal 9 (Killed)");
        row("crashes, as people name it", fake("crash").substr(5), F::Ended, "killed by signal 9 (Killed)");
        row("its launcher has lost a process", fake("lost"), F::Ended, "exit status 137");
        row("no message", fake("garbage"), F::NotUnderstood,
            "it wrote a line that is not a message: “Segmentation fault (this is no JSON)”");
        row("another message in place of the hello", fake("stranger"), F::NotUnderstood,
            "it did not say hello, but “{\"id\":1,\"type\":\"result\"}”");
        row("another version", fake("old"), F::NotUnderstood, "it speaks protocol 0, this program speaks 1");
        row("nothing in time", fake("silent"), F::NoHello, "it did not say hello within 0.3 s");
        row("only chatter in time", fake("chatter"), F::NoHello, "it did not say hello within 0.3 s");
        row("a line without an end", scripted("exec tr '\\0' x </dev/zero"), F::NotUnderstood,
            "it wrote a line of more than 64 MiB");
        row("a line without an end before the hello", "exec tr '\\0' x </dev/zero", F::NotUnderstood,
            "it wrote a line of more than 64 MiB");
        row("closes its output and stays", scripted("exec >&- 2>&-; exec sleep 20"), F::Ended, "it closed its output");
    }
    void failuresAreTold()
    {
        QFETCH(QString, command);
        QFETCH(WorkerFailure, failure);
        QFETCH(QString, text);
        WorkerLimits limits;
        if (failure == WorkerFailure::NoHello)
            limits.helloSeconds = 0.3;
        WorkerClient client(command.toStdString(), limits);
        client.request({ { "type", "run" } });
        const WorkerEvent event = eventOf(client, Kind::Failed);
        QVERIFY2(QString::fromStdString(event.text).startsWith(text), event.text.c_str());
        QVERIFY(event.failure == failure);
        QCOMPARE(event.error.code, ErrorCode::Engine);
        QVERIFY2(event.error.text().find('\n') == std::string::npos, event.error.text().c_str());
        QVERIFY(!client.next()); // nothing comes after it
        if (command.contains(QStringLiteral("crash")))
            QVERIFY2(event.error.text().find("last words: out of luck in layer 0") != std::string::npos,
                     event.error.text().c_str());
        client.kill(); // not to wait for those that do not leave by themselves
    }

    void aCancelThatIsNotAnsweredIsToldAndEndsIt()
    {
        WorkerLimits limits;
        limits.cancelSeconds = 0.1;
        WorkerClient client(fake("hang"), limits);
        client.request({ { "type", "run" } });
        QVERIFY(eventOf(client, Kind::Hello).kind == Kind::Hello);
        client.cancel();
        const WorkerEvent event = eventOf(client, Kind::Failed);
        QVERIFY(event.failure == WorkerFailure::NoAnswer);
        QCOMPARE(event.text, std::string("it did not answer the cancel within 0.1 s"));
    } // it does not leave when its input closes: its end takes a signal

    /// Progress for ever, as fast as can be: the cancel is not forgotten over it.
    void aFloodDoesNotOutliveTheCancel()
    {
        WorkerLimits limits;
        limits.cancelSeconds = 0.1;
        WorkerClient client(scripted(R"(exec yes '{"type":"progress","step":1,"of":2}')"), limits);
        client.request({ { "type", "run" } });
        QVERIFY(eventOf(client, Kind::Message).kind == Kind::Message);
        client.cancel();
        QVERIFY(eventOf(client, Kind::Failed).failure == WorkerFailure::NoAnswer);
    }

    void othersMaySpeakFirst()
    {
        WorkerClient client(fake("chatty"));
        client.request({ { "type", "run" } });
        QVERIFY(eventOf(client).kind == Kind::Hello);
        QVERIFY(eventOf(client, Kind::Result).kind == Kind::Result);
    }

    /// As long as a job waits in a queue, nobody waits for its hello.
    void aQueueIsNoSilence()
    {
        const QTemporaryDir folder;
        const std::string turn = folder.filePath(QStringLiteral("turn")).toStdString();
        WorkerLimits limits;
        limits.helloSeconds = 10;
        WorkerClient client("echo 'srun: job 2 queued and waiting for resources' >&2; while [ ! -e '" + turn
                                + "' ]; do sleep 0.02; done; echo 'srun: job 2 has been allocated resources' >&2; "
                                + scripted("read line"),
                            limits);
        const WorkerEvent queued = eventOf(client);
        QVERIFY(queued.kind == Kind::Queued);
        QCOMPARE(queued.text, std::string("srun: job 2 queued and waiting for resources"));
        const auto patience = client.patience();
        QVERIFY2(!patience || *patience < 1, "it waits for the hello of a job in a queue"); // at most for its end to be looked at
        std::ofstream(turn).put('\n');
        QVERIFY(eventOf(client, Kind::Hello).kind == Kind::Hello);
    }

    /// What a launcher leaves behind may keep its output open.
    void anEndIsNoticedThoughTheOutputStaysOpen()
    {
        WorkerClient client("sleep 60 & echo $! >&2; exit 3");
        const WorkerEvent event = eventOf(client);
        QVERIFY(event.kind == Kind::Failed);
        QCOMPARE(event.text, std::string("exit status 3"));
        const int left = std::stoi(client.errors());
        QVERIFY(left > 0);
        QCOMPARE(::kill(left, SIGKILL), 0); // it was still there
    }

    /// It writes while we write, and both pipes are full.
    void muchGoesBothWays()
    {
        const std::string plan(4'000'000, 'x');
        WorkerClient client(scripted("exec cat"));
        client.request({ { "type", "run" }, { "plan", plan } });
        const WorkerEvent echo = eventOf(client, Kind::Message);
        QVERIFY2(echo.kind == Kind::Message, echo.text.c_str());
        QVERIFY(messageText(echo.message, "plan") == plan);
    }

    void whatIsTooLargeIsNotSent()
    {
        WorkerClient client(fake("ok"));
        client.request({ { "type", "run" }, { "plan", std::string(std::size_t { 65 } << 20, 'x') } });
        const WorkerEvent refused = eventOf(client, Kind::Refused);
        QVERIFY(refused.kind == Kind::Refused);
        QCOMPARE(refused.error.what, std::string("the plan is too large to be sent"));
        client.request({ { "type", "run" } });
        QVERIFY(eventOf(client, Kind::Result).kind == Kind::Result);
    }

    void leavingWaitsForNobody()
    {
        WorkerClient client(fake("ok"));
        QVERIFY(eventOf(client).kind == Kind::Hello);
        client.leave();
        QVERIFY(!client.next());
        QTRY_VERIFY_WITH_TIMEOUT(client.hasLeft(), 30'000);
    }

    void commands()
    {
        qunsetenv("SHARDBOARD_ENGINE");
        QCOMPARE(chosenCommand({}), std::string());
        QCOMPARE(chosenCommand("setting"), std::string("setting"));
        QVERIFY(programAlone("").value().ends_with("/shardboard-engine"));
        qputenv("SHARDBOARD_ENGINE", "other --flag");
        QCOMPARE(chosenCommand("setting"), std::string("other --flag"));
        qputenv("SHARDBOARD_ENGINE", "");
        QCOMPARE(chosenCommand("setting"), std::string("setting"));
        qunsetenv("SHARDBOARD_ENGINE");
        QCOMPARE(programAlone(" /opt/engine ").value(), std::string("/opt/engine"));
        QCOMPARE(programAlone("\"/opt/my engine\"").value(), std::string("/opt/my engine"));
        for (const char* command : { "ssh host engine", "engine;", "~/engine", "\"$HOME/engine\"", "'a' 'b'", "A=b" })
            QVERIFY2(!programAlone(command), command);
    }

    /// No shell is left between us and a program.
    void aProgramIsStartedDirectly()
    {
        for (const char* command : { "/opt/engine --flag=1", "'/opt/my engine' x", "env A=b engine", "echo \"$HOME\"" })
            QCOMPARE(directly(command), std::string("exec ") + command);
        for (const char* command : { "", "exit 3", "exec engine", "cd /tmp && engine", "A=/b engine", "engine; true", "/a | /b" })
            QCOMPARE(directly(command), std::string(command));
    }

    void theEnvironmentNamesTheCommand()
    {
        qputenv("SHARDBOARD_ENGINE", QByteArray::fromStdString(fake("ok")));
        {
            WorkerClient client("");
            QVERIFY(eventOf(client).kind == Kind::Hello);
            WorkerClient other("exit 5");
            QCOMPARE(eventOf(other).text, std::string("exit status 5"));
        }
        qunsetenv("SHARDBOARD_ENGINE");
        WorkerClient none(""); // there is none beside this test
        QVERIFY(eventOf(none).failure == WorkerFailure::NotStarted);
    }

    void hostsAreChecked()
    {
        for (const char* hosts : { "a", "a:2,b:2", SHARDBOARD_SOURCE_DIR "/LICENSE" })
            QVERIFY2(checkHosts(hosts, "--hosts").ok(), hosts);
        for (const char* hosts : { "a:0", "a:x", "a,,b", "-n", "a b", "/no/such/file", "/dev/null" })
            QVERIFY2(!checkHosts(hosts, "--hosts").ok(), hosts);
    }
};

SHARDBOARD_TEST(TestWorkerClient)
#include "tst_workerclient.moc"

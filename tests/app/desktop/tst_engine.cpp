// SPDX-License-Identifier: Apache-2.0
// The client of the worker against a scripted one: whatever the worker does, the client says what happened and goes on.
#include "app/desktop/files/sample.h"
#include "app/desktop/run/enginesession.h"
#include "model/design/evaluate/evaluate.h"
#include "tests/support/runner.h"

#include <QSignalSpy>
#include <QTest>

#include <csignal>
#include <sys/wait.h>

using namespace shardboard;
using State = EngineSession::State;

namespace {

QString fake(const char* script)
{
    return QStringLiteral("exec '" SHARDBOARD_BINARY_DIR "/tests/fakeengine' ") + QLatin1String(script);
}

} // namespace

class TestEngine : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void cleanup() { QVERIFY(waitpid(-1, nullptr, WNOHANG) == -1); } // no child is left, and none that nobody has waited for
    void runGivesTheResult();
    void floodArrivesWholeAndInOrder();
    void secondRunUsesTheSameWorker();
    void cancelIsNoError();
    void cancelOfAHangingWorkerEndsIt();
    void silenceIsToldAndMayEnd();
    void aBusyWorkerIsNotSilent();
    void othersMaySpeakFirst();
    void backendsAreTold();
    void failureIsNamed_data();
    void failureIsNamed();
    void refusedRunKeepsTheWorker();
    void killedWorkerCanBeRestarted();
    void killedWhileIdle();

private:
    std::shared_ptr<const Evaluation> m_evaluation;
};

void TestEngine::initTestCase()
{
    qRegisterMetaType<RunResult>("RunResult");
    NewDesign wanted;
    wanted.workload = { WorkloadKind::Prefill, 2, 64, DType::BF16 };
    std::vector<std::string> notes;
    const auto design = makeDesign(wanted, notes);
    QVERIFY(design.ok());
    const auto evaluation = evaluate(design.value());
    QVERIFY(evaluation.ok());
    m_evaluation = evaluation.value();
}

void TestEngine::runGivesTheResult()
{
    EngineSession session(fake("ok"));
    QSignalSpy announced(&session, &EngineSession::announced);
    QSignalSpy progressed(&session, &EngineSession::progressed);
    double error = -1;
    connect(&session, &EngineSession::finished, this, [&](const RunResult& result) { error = result.maxRelativeError; });
    session.run(m_evaluation, {});
    QCOMPARE(session.state(), State::Starting);
    QTRY_COMPARE(error, 2.5e-7);
    QCOMPARE(session.state(), State::Ready);
    QCOMPARE(announced.size(), 1);
    QCOMPARE(announced.first().first().toLongLong(), 1048576);
    QCOMPARE(progressed.size(), 1);
    QVERIFY(session.description().startsWith(QStringLiteral("cpu")));
}

/// Messages that come faster than they are read are handed on in turns of the event loop; none is lost and none overtakes another.
void TestEngine::floodArrivesWholeAndInOrder()
{
    constexpr qint64 kSteps = 50000;
    EngineSession session(fake("flood") + QStringLiteral(" %1").arg(kSteps));
    qint64 last = 0;
    bool ordered = true;
    bool finished = false;
    connect(&session, &EngineSession::progressed, this, [&](qint64 step) {
        ordered = ordered && step == last + 1 && !finished;
        last = step;
    });
    connect(&session, &EngineSession::finished, this, [&] { finished = true; });
    session.run(m_evaluation, {});
    QTRY_VERIFY_WITH_TIMEOUT(finished, 30000);
    QCOMPARE(last, kSteps);
    QVERIFY(ordered);
}

void TestEngine::secondRunUsesTheSameWorker()
{
    EngineSession session(fake("ok"));
    int finished = 0;
    connect(&session, &EngineSession::finished, this, [&] { ++finished; });
    session.run(m_evaluation, {});
    QTRY_COMPARE(finished, 1);
    const qint64 worker = session.workerId();
    session.run(m_evaluation, {});
    QTRY_COMPARE(finished, 2);
    QCOMPARE(session.workerId(), worker);
}

void TestEngine::cancelIsNoError()
{
    EngineSession session(fake("slow"));
    QSignalSpy cancelled(&session, &EngineSession::cancelled);
    QSignalSpy progressed(&session, &EngineSession::progressed);
    session.run(m_evaluation, {});
    QTRY_COMPARE(progressed.size(), 1);
    session.cancel();
    QTRY_COMPARE(cancelled.size(), 1);
    QCOMPARE(session.state(), State::Ready);
    QVERIFY(session.failure().isEmpty());
}

void TestEngine::cancelOfAHangingWorkerEndsIt()
{
    EngineSession session(fake("hang"));
    session.setCancelTimeout(100);
    session.run(m_evaluation, {});
    QTRY_COMPARE(session.state(), State::Running);
    session.cancel();
    QTRY_COMPARE(session.state(), State::Failed);
    QVERIFY(session.failure().contains(QStringLiteral("did not answer the cancel")));
}

void TestEngine::silenceIsToldAndMayEnd()
{
    EngineSession session(fake("hang"));
    session.setSilenceLimit(200);
    QSignalSpy silent(&session, &EngineSession::silenceChanged);
    session.run(m_evaluation, {});
    QTRY_COMPARE(session.state(), State::Running);
    QVERIFY(!session.isSilent());
    QTRY_VERIFY(session.isSilent());
    QCOMPARE(session.state(), State::Running); // to end it is for the user to decide
    QCOMPARE(silent.size(), 1);
    session.restart();
    QTRY_COMPARE(session.state(), State::Ready);
    QVERIFY(!session.isSilent());
}

void TestEngine::aBusyWorkerIsNotSilent()
{
    EngineSession session(fake("slow")); // no progress, but it answers
    session.setSilenceLimit(200);
    session.run(m_evaluation, {});
    QTRY_COMPARE(session.state(), State::Running);
    QTest::qWait(900);
    QVERIFY(!session.isSilent());
    QCOMPARE(session.state(), State::Running);
}

/// Launchers and login scripts print what they like; the run is the worker's all the same, and so is the next one.
void TestEngine::othersMaySpeakFirst()
{
    EngineSession session(fake("chatty"));
    int finished = 0;
    connect(&session, &EngineSession::finished, this, [&] { ++finished; });
    session.run(m_evaluation, {});
    QTRY_VERIFY2_WITH_TIMEOUT(finished == 1 || session.state() == State::Failed, qPrintable(session.failure()), 30000);
    QVERIFY2(session.state() == State::Ready, qPrintable(session.failure()));
    QCOMPARE(session.description(), QStringLiteral("cpu · 2 threads · 1 GiB"));
    const qint64 worker = session.workerId();
    session.run(m_evaluation, {});
    QTRY_COMPARE(finished, 2);
    QCOMPARE(session.workerId(), worker);
}

void TestEngine::backendsAreTold()
{
    EngineSession session(fake("gpuless"));
    session.start();
    QTRY_COMPARE(session.state(), State::Ready);
    QCOMPARE(session.backends().size(), std::size_t(2));
    QVERIFY(session.backend(QStringLiteral("cpu"))->usable());
    QCOMPARE(session.backend(QStringLiteral("cpu"))->description, QStringLiteral("2 threads · 1 GiB"));
    QVERIFY(session.whyNot(QStringLiteral("cpu")).isEmpty());
    QCOMPARE(session.whyNot(QStringLiteral("cuda")), QStringLiteral("there is no NVIDIA driver; install one"));
    QVERIFY(!session.whyNot(QStringLiteral("nccl")).isEmpty()); // this one does not know it
    QCOMPARE(session.description(), QStringLiteral("cpu · 2 threads · 1 GiB"));
}

void TestEngine::failureIsNamed_data()
{
    QTest::addColumn<QString>("command");
    QTest::addColumn<QString>("expected");
    QTest::newRow("crash") << fake("crash") << QStringLiteral("killed by signal 9 (Killed)");
    QTest::newRow("lost a process") << fake("lost") << QStringLiteral("exit status 137");
    QTest::newRow("garbage") << fake("garbage") << QStringLiteral("“Segmentation fault (this is no JSON)”");
    QTest::newRow("old version") << fake("old") << QStringLiteral("speaks protocol 0, this program speaks 1");
    QTest::newRow("silent") << fake("silent") << QStringLiteral("did not say hello within 0.3 s");
    QTest::newRow("chatter is not waited for") << fake("chatter") << QStringLiteral("did not say hello within 0.3 s");
    QTest::newRow("chatter is no worker") << QStringLiteral("echo '{\"motd\":\"welcome\"}'")
                                          << QStringLiteral("The engine did not start: exit status 0");
    QTest::newRow("message in place of the hello")
        << fake("stranger") << QStringLiteral("it did not say hello, but “{\"id\":1,\"type\":\"result\"}”");
    QTest::newRow("leaves at once") << QStringLiteral("false") << QStringLiteral("exit status 1");
    QTest::newRow("missing") << QStringLiteral("/no/such/engine") << QStringLiteral("“/no/such/engine” cannot be started");
}

void TestEngine::failureIsNamed()
{
    QFETCH(QString, command);
    QFETCH(QString, expected);
    EngineSession session(command);
    session.setStartTimeout(expected.contains(QStringLiteral("0.3")) ? 300 : 5000);
    const QSignalSpy cancelled(&session, &EngineSession::cancelled);
    session.run(m_evaluation, {});
    QTRY_COMPARE(session.state(), State::Failed);
    QCOMPARE(cancelled.size(), 0); // nobody asked for it
    QVERIFY2(session.failure().contains(expected), qPrintable(session.failure()));
    if (command == fake("crash"))
        QCOMPARE(session.failureLog(), QStringLiteral("out of luck in layer 0"));
    if (command == fake("lost"))
        QCOMPARE(session.failureLog(), QStringLiteral("rank 1 was killed by signal 9"));
}

void TestEngine::refusedRunKeepsTheWorker()
{
    EngineSession session(fake("fails"));
    QSignalSpy refused(&session, &EngineSession::refused);
    session.run(m_evaluation, {});
    QTRY_COMPARE(refused.size(), 1);
    QCOMPARE(refused.first().first().toString(), QStringLiteral("needs 900 GiB, this machine has 24 GiB; run fewer layers"));
    QCOMPARE(session.state(), State::Ready);
}

void TestEngine::killedWorkerCanBeRestarted()
{
    EngineSession session(fake("slow"));
    QSignalSpy progressed(&session, &EngineSession::progressed);
    session.run(m_evaluation, {});
    QTRY_COMPARE(progressed.size(), 1);
    QCOMPARE(::kill(static_cast<pid_t>(session.workerId()), SIGKILL), 0);
    QTRY_COMPARE(session.state(), State::Failed);
    QVERIFY(session.failure().contains(QStringLiteral("ended during the run: killed by signal 9")));
    session.restart();
    QTRY_COMPARE(session.state(), State::Ready);
    QVERIFY(session.failure().isEmpty());
}

void TestEngine::killedWhileIdle()
{
    EngineSession session(fake("ok"));
    session.start();
    QTRY_COMPARE(session.state(), State::Ready);
    QCOMPARE(::kill(static_cast<pid_t>(session.workerId()), SIGKILL), 0);
    QTRY_COMPARE(session.state(), State::Failed);
    int finished = 0;
    connect(&session, &EngineSession::finished, this, [&] { ++finished; });
    session.run(m_evaluation, {}); // a run after a failure starts a worker again
    QTRY_COMPARE(finished, 1);
}

SHARDBOARD_TEST(TestEngine)
#include "tst_engine.moc"

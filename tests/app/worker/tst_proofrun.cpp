// SPDX-License-Identifier: Apache-2.0
// The check of an export as a process: what its exit and its lines mean, and that one which misbehaves is ended all the same.
// The shell stands for Python here: it runs a file as Python does.
#include "app/worker/proofrun.h"
#include "tests/support/files.h"
#include "tests/support/runner.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>

using namespace shardboard;
using namespace shardboard::test;
using Outcome = ProofAnswer::Outcome;

class TestProofRun : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;

    ProofRequest script(const QByteArray& text, double seconds = 30)
    {
        (void)writeFile(m_folder.filePath(QStringLiteral("check.sh")), text);
        return { .python = "sh", .folder = m_folder.path().toStdString(), .check = "check.sh", .seconds = seconds };
    }

private Q_SLOTS:
    void linesAreRead_data()
    {
        QTest::addColumn<QString>("line");
        QTest::addColumn<qint64>("equal");
        QTest::addColumn<qint64>("of");
        QTest::addColumn<QString>("peer");
        const auto row = [](const char* line, qint64 equal, qint64 of, const char* peer) {
            QTest::newRow(line) << QString::fromLatin1(line) << equal << of << QString::fromLatin1(peer);
        };
        row("291 of 291 tensors have the same shards in JAX 0.12.0", 291, 291, "JAX 0.12.0");
        row("0 of 2 tensors have the same shards in torch 2.15.0", 0, 2, "torch 2.15.0");
        row("3 of 2 tensors have the same shards in JAX", -1, -1, "");
        row("all of 2 tensors have the same shards in JAX", -1, -1, "");
        row("2 of 2 tensors have the same shards in ", -1, -1, "");
        row("2 tensors have the same shards in JAX, 2 of them", -1, -1, "");
        row("99999999999999999999 of 2 tensors have the same shards in JAX", -1, -1, "");
        row("", -1, -1, "");
    }

    void linesAreRead()
    {
        QFETCH(QString, line);
        QFETCH(qint64, equal);
        QFETCH(qint64, of);
        QFETCH(QString, peer);
        ProofAnswer answer;
        QCOMPARE(readProofLine(line.toStdString(), answer), equal >= 0);
        QCOMPARE(answer.equal, std::max<qint64>(0, equal));
        QCOMPARE(answer.of, std::max<qint64>(0, of));
        QCOMPARE(QString::fromStdString(answer.peer), peer);
    }

    void exitsAreJudged_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("outcome");
        QTest::addColumn<QString>("told");
        const auto row = [](const char* name, const char* text, Outcome outcome, const char* told) {
            QTest::newRow(name) << QByteArray(text) << static_cast<int>(outcome) << QString::fromLatin1(told);
        };
        row("equal", "echo begins; echo 4 of 4 tensors have the same shards in JAX 0.12.0", Outcome::Equal, "4 of 4 tensors");
        row("differ", "echo 3 of 4 tensors have the same shards in JAX 0.12.0; echo differs: a; exit 1", Outcome::Differ,
            "1 of 4 tensors have other shards in JAX 0.12.0");
        row("differ, and says that all is well", "echo 3 of 4 tensors have the same shards in JAX", Outcome::Differ, "1 of 4");
        row("skipped", "echo skipped: there is no JAX here; exit 77", Outcome::Skipped, "there is no JAX here");
        row("skipped without a word", "exit 77", Outcome::Skipped, "does not have the framework");
        row("crash", "echo Traceback >&2; echo ValueError: no >&2; exit 1", Outcome::Failed, "ValueError: no");
        row("nothing said", "exit 0", Outcome::Failed, "without a comparison");
        row("nothing compared", "echo 0 of 0 tensors have the same shards in JAX", Outcome::Failed, "without a comparison");
        row("killed", "kill -9 $$", Outcome::Failed, "signal 9");
        row("control characters", "printf 'skipped: \\033[2J'; exit 77", Outcome::Skipped, "\\x1b[2J");
    }

    void exitsAreJudged()
    {
        QFETCH(QByteArray, text);
        QFETCH(int, outcome);
        QFETCH(QString, told);
        const ProofAnswer answer = runProof(script(text));
        QVERIFY2(static_cast<int>(answer.outcome) == outcome, answer.text.c_str());
        QVERIFY2(QString::fromStdString(answer.text).contains(told), answer.text.c_str());
        if (answer.outcome == Outcome::Equal)
            QCOMPARE(answer.peer, std::string("JAX 0.12.0"));
    }

    void itRunsInTheFolder()
    {
        const ProofAnswer answer = runProof(script("test -f check.sh && echo 1 of 1 tensors have the same shards in sh 1"));
        QVERIFY2(answer.outcome == Outcome::Equal, answer.text.c_str());
    }

    void programThatIsNotThere()
    {
        ProofRequest request = script("exit 0");
        request.python = "no-such-python";
        const ProofAnswer answer = runProof(request);
        QVERIFY(answer.outcome == Outcome::Failed);
        QCOMPARE(answer.text, std::string("there is no program 'no-such-python'"));
    }

    /// What it prints is read and not kept; the end of it counts.
    void megabytesArePrinted()
    {
        const ProofAnswer answer =
            runProof(script("head -c 20000000 /dev/zero | tr '\\0' 'x'; head -c 20000000 /dev/zero | tr '\\0' "
                            "'y' >&2; echo; echo 2 of 2 tensors have the same shards in sh 1"));
        QVERIFY2(answer.outcome == Outcome::Equal, answer.text.c_str());
        QVERIFY(answer.log.size() < 400'000);
    }

    void endlessOnesAreEnded_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("sleeps") << QByteArray("sleep 100");
        QTest::newRow("ignores signals") << QByteArray("trap '' TERM INT HUP; while true; do sleep 0.1; done");
        QTest::newRow("prints without end") << QByteArray("trap '' TERM; yes");
        QTest::newRow("has closed its output") << QByteArray("exec >&- 2>&-; sleep 100");
        QTest::newRow("leaves a child") << QByteArray("sleep 100 & wait");
    }

    /// By the limit of time, and by who cancels it.
    void endlessOnesAreEnded()
    {
        QFETCH(QByteArray, text);
        QElapsedTimer timer;
        timer.start();
        QVERIFY(runProof(script(text, 0.3)).outcome == Outcome::TimedOut);
        int asked = 0;
        QVERIFY(runProof(script(text), [&asked] { return ++asked > 2; }).outcome == Outcome::Cancelled);
        QVERIFY2(timer.elapsed() < 6000, qPrintable(QString::number(timer.elapsed())));
    }

    /// A child that holds the pipes does not hold the answer, and does not stay.
    void childrenDoNotStay()
    {
        QElapsedTimer timer;
        timer.start();
        const ProofAnswer answer = runProof(script("sleep 300 & echo $! >pid; echo 1 of 1 tensors have the same shards in sh 1"));
        QVERIFY2(answer.outcome == Outcome::Equal, answer.text.c_str());
        QVERIFY(timer.elapsed() < 5000);
        const int child = contentOf(m_folder.filePath(QStringLiteral("pid"))).trimmed().toInt();
        QVERIFY(child > 1);
        QTRY_VERIFY(::kill(child, 0) != 0 || contentOf(QStringLiteral("/proc/%1/stat").arg(child)).contains(") Z"));
    }

    void progressIsTold()
    {
        std::string told;
        const ProofAnswer answer =
            runProof(script("echo 1 of 3 layers; sleep 0.4; echo 1 of 1 tensors have the same shards in sh 1"), {},
                     [&told](const std::string& line) { told = told.empty() ? line : told; });
        QVERIFY(answer.outcome == Outcome::Equal);
        QCOMPARE(told, std::string("1 of 3 layers"));
    }
};

SHARDBOARD_TEST(TestProofRun)

#include "tst_proofrun.moc"

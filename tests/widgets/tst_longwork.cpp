// SPDX-License-Identifier: Apache-2.0
// Work off the GUI thread: only the latest answers, a cancel is answered at once and is no error, and what lasts is told of.
#include "tests/support/runner.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/jobs/longwork.h"

#include <QProgressBar>
#include <QPushButton>
#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>
#include <QThread>

#include <atomic>
#include <memory>

using namespace shardboard;

namespace {

/// Work that lasts until it is let go or stopped.
struct Held {
    QSemaphore begun;
    std::atomic<bool> go { false };

    template <class Stopped>
    void work(const Stopped& stopped)
    {
        begun.release();
        while (!go && !stopped())
            QThread::msleep(1);
    }
};

} // namespace

class TestLongWork : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void onlyTheLatestAnswers();
    void forgottenWorkIsToldToStop();
    void stoppedWorkAnswersWithWhatItHas();
    void destroyingWaitsAndDropsTheAnswer();
    void quickWorkShowsNothing();
    void lastingWorkSaysWhatAndHowFar();
    void cancelIsAnsweredAtOnceAndTheAnswerNeverComes();
};

void TestLongWork::onlyTheLatestAnswers()
{
    LatestJob job;
    const auto held = std::make_shared<Held>();
    QList<int> answers;
    job.ask([held, &answers](const std::atomic<bool>&) {
        held->work([] { return false; }); // does not look whether it is wanted
        return [&answers] { answers << 1; };
    });
    held->begun.acquire();
    job.ask([&answers](const std::atomic<bool>&) { return [&answers] { answers << 2; }; });
    job.ask([&answers](const std::atomic<bool>&) { return [&answers] { answers << 3; }; });
    QVERIFY(job.isBusy());
    held->go = true;
    QTRY_COMPARE(answers, QList<int>({ 3 }));
    QVERIFY(!job.isBusy());
    QTest::qWait(20);
    QCOMPARE(answers, QList<int>({ 3 }));
}

void TestLongWork::forgottenWorkIsToldToStop()
{
    LatestJob job;
    const auto held = std::make_shared<Held>();
    std::atomic<bool> ended { false };
    job.ask([held, &ended](const std::atomic<bool>& stop) -> LatestJob::Answer {
        held->work([&stop] { return stop.load(); });
        ended = true;
        return [] { QFAIL("an answer that nobody wants"); };
    });
    held->begun.acquire();
    job.forget();
    QVERIFY(!job.isBusy());
    QTRY_VERIFY(ended);
    QTest::qWait(20);
}

void TestLongWork::stoppedWorkAnswersWithWhatItHas()
{
    LatestJob job;
    const QSignalSpy answered(&job, &LatestJob::answered);
    QList<int> told;
    int answer = 0;
    const auto count = [&](const std::atomic<bool>& stop, const LatestJob::Tell& tell) -> LatestJob::Answer {
        int parts = 0;
        while (!stop) {
            if (++parts <= 3)
                tell([&told, parts] { told << parts; });
            QThread::msleep(1);
        }
        return [&answer, parts] { answer = parts; };
    };
    job.askTelling(count);
    QTRY_COMPARE(told, QList<int>({ 1, 2, 3 }));
    job.stop();
    QVERIFY(job.isBusy()); // its answer is still wanted
    QTRY_COMPARE(answered.count(), 1);
    QVERIFY(answer >= 3 && !job.isBusy());
    // Stopped before it began, it answers too; forgotten, it tells nothing any more.
    answer = -1;
    job.askTelling(count);
    job.stop();
    QTRY_COMPARE(answered.count(), 2);
    QVERIFY(answer >= 0);
    told.clear();
    job.askTelling(count);
    job.forget();
    QTest::qWait(20);
    QCOMPARE(told, QList<int>());
    QCOMPARE(answered.count(), 2);
}

void TestLongWork::destroyingWaitsAndDropsTheAnswer()
{
    const auto held = std::make_shared<Held>();
    std::atomic<bool> ended { false };
    {
        LatestJob job;
        job.ask([held, &ended](const std::atomic<bool>& stop) -> LatestJob::Answer {
            held->work([&stop] { return stop.load(); });
            ended = true;
            return [] { QFAIL("an answer to nobody"); };
        });
        held->begun.acquire();
    }
    QVERIFY(ended);
    QTest::qWait(20);
}

void TestLongWork::quickWorkShowsNothing()
{
    QWidget window;
    LongWork work(&window);
    window.show();
    bool answered = false;
    work.start(QStringLiteral("Counting"), [&answered](LongWork::Control&) { return [&answered] { answered = true; }; });
    QVERIFY(work.isBusy());
    while (!answered) {
        QVERIFY(!work.isVisible());
        QCoreApplication::processEvents();
    }
    QVERIFY(!work.isBusy());
    QTest::qWait(350);
    QVERIFY(!work.isVisible());
}

void TestLongWork::lastingWorkSaysWhatAndHowFar()
{
    QWidget window;
    LongWork work(&window);
    window.show();
    const auto held = std::make_shared<Held>();
    bool answered = false;
    work.start(QStringLiteral("Repairing …"), [held, &answered](LongWork::Control& control) {
        control.tell(3, 8);
        held->work([&control] { return control.stopped(); });
        return [&answered] { answered = true; };
    });
    auto* what = work.findChild<QWidget*>(QStringLiteral("longWork.what"));
    auto* progress = work.findChild<QProgressBar*>(QStringLiteral("longWork.progress"));
    auto* cancel = work.findChild<QPushButton*>(QStringLiteral("longWork.cancel"));
    QTRY_VERIFY(work.isVisible());
    QCOMPARE(what->accessibleName(), QStringLiteral("Repairing …"));
    QVERIFY(cancel->isVisible() && cancel->isEnabled());
    QTRY_VERIFY(progress->isVisible());
    QCOMPARE(progress->value(), 3);
    QCOMPARE(progress->maximum(), 8);
    held->go = true;
    QTRY_VERIFY(answered);
    QVERIFY(!work.isVisible());
    QVERIFY(!work.isBusy());
}

void TestLongWork::cancelIsAnsweredAtOnceAndTheAnswerNeverComes()
{
    QWidget window;
    LongWork work(&window);
    window.show();
    const QSignalSpy cancelled(&work, &LongWork::cancelled);
    const QSignalSpy ended(&work, &LongWork::ended);
    const auto held = std::make_shared<Held>();
    std::atomic<bool> over { false };
    work.start(QStringLiteral("Repairing …"), [held, &over](LongWork::Control& control) -> LongWork::Answer {
        held->work([] { return false; }); // looks at nothing for a while
        over = control.stopped();
        return [] { QFAIL("cancelled work answered"); };
    });
    QTRY_VERIFY(work.isVisible());
    QTest::mouseClick(work.findChild<QPushButton*>(QStringLiteral("longWork.cancel")), Qt::LeftButton);
    // Before the event loop comes round, let alone the work ends.
    QCOMPARE(cancelled.count(), 1);
    QCOMPARE(ended.count(), 1);
    QVERIFY(!work.isVisible());
    QVERIFY(!work.isBusy());
    held->go = true;
    QTRY_VERIFY(over);
    QTest::qWait(20);
    QCOMPARE(ended.count(), 1);
}

SHARDBOARD_TEST(TestLongWork)
#include "tst_longwork.moc"

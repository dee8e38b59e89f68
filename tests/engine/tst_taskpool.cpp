// SPDX-License-Identifier: Apache-2.0
// Who runs which task: every task once, short ones always on the worker of their block, long ones wherever one is free.
#include "engine/machine/failure.h"
#include "engine/machine/taskpool.h"
#include "tests/support/runner.h"

#include <QTest>

#include <chrono>
#include <stdexcept>
#include <thread>

using namespace shardboard::engine;

class TestTaskPool : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void runsEveryTaskOnce()
    {
        for (const int workers : { 1, 2, 3, 7 })
            for (const std::int64_t count : { 0, 1, 2, 5, 64, 1000 }) {
                TaskPool pool(workers, nullptr);
                std::vector<std::atomic<int>> ran(static_cast<std::size_t>(count));
                pool.run(count, [&](std::int64_t index, int worker) {
                    QVERIFY(worker >= 0 && worker < workers);
                    ++ran[static_cast<std::size_t>(index)];
                });
                for (const auto& one : ran)
                    QCOMPARE(one.load(), 1);
            }
    }

    void shortTasksStayWithTheirWorker()
    {
        TaskPool pool(2, nullptr);
        int others = 0;
        for (int round = 0; round < 2000; ++round) {
            std::vector<int> by(4, -1);
            pool.run(4, [&](std::int64_t index, int worker) { by[static_cast<std::size_t>(index)] = worker; });
            others += by == std::vector<int> { 0, 0, 1, 1 } ? 0 : 1;
        }
        QVERIFY2(others < 100, qPrintable(QString::number(others))); // where the system kept a worker from working for long
    }

    void freeWorkersHelpWhereTasksAreLong()
    {
        TaskPool pool(2, nullptr);
        std::vector<std::atomic<int>> by(8);
        // The second block takes ten times as long as the first one.
        pool.run(8, [&](std::int64_t index, int worker) {
            by[static_cast<std::size_t>(index)] = worker;
            std::this_thread::sleep_for(std::chrono::milliseconds(index < 4 ? 2 : 20));
        });
        int helped = 0;
        for (std::size_t i = 4; i < 8; ++i)
            helped += by[i] == 0 ? 1 : 0;
        QVERIFY(helped >= 1);
    }

    void aFailureEndsTheRoundAndIsThrown()
    {
        TaskPool pool(2, nullptr);
        std::atomic<int> ran { 0 };
        const auto fails = [&](std::int64_t index, int) {
            ++ran;
            if (index == 0)
                throw std::runtime_error("broken");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        };
        QVERIFY_EXCEPTION_THROWN(pool.run(1000, fails), std::runtime_error);
        QVERIFY(ran < 1000);
        ran = 0;
        pool.run(10, [&](std::int64_t, int) { ++ran; }); // and works on
        QCOMPARE(ran.load(), 10);
    }

    void cancelledRoundsAreLeft()
    {
        std::atomic<bool> cancel { false };
        TaskPool pool(2, &cancel);
        std::atomic<int> ran { 0 };
        QVERIFY_EXCEPTION_THROWN(pool.run(1000,
                                          [&](std::int64_t, int) {
                                              ++ran;
                                              cancel = true;
                                          }),
                                 Stopped);
        QVERIFY(ran <= 2);
    }
};

SHARDBOARD_TEST(TestTaskPool)
#include "tst_taskpool.moc"

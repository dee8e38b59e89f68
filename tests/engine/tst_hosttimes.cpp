// SPDX-License-Identifier: Apache-2.0
// What several processes have measured of one execution, made one: hosts whose clocks differ, messages that some wait for.
#include "engine/run/record/hosttimes.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cmath>

using namespace shardboard::engine;

namespace {

bool near(double a, double b) { return std::fabs(a - b) < 1e-9; }

/// Of a rank that has the device at `device` of two.
Timing at(std::size_t device, Timing::Span span, double seconds)
{
    Timing out;
    out.seconds.assign(2, 0.0);
    out.spans.assign(2, {});
    out.seconds[device] = out.combined = out.wall = seconds;
    out.spans[device] = span;
    return out;
}

} // namespace

class TestHostTimes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theSlowestRankDecides()
    {
        const Timing both = timingOfAll({ at(0, { 10, 11 }, 1), at(1, { 10.5, 12.5 }, 2) }, { 0, 0 });
        QVERIFY(near(both.combined, 2) && near(both.wall, 2));
        QVERIFY(near(both.seconds[0], 1) && near(both.seconds[1], 2));
        QVERIFY(near(both.spans[1].start, 10.5) && near(both.spans[1].end, 12.5));
    }

    void everyHostHasItsClock()
    {
        // The other one has been up for a day longer.
        const Timing both = timingOfAll({ at(0, { 10, 11 }, 1), at(1, { 86410.5, 86411.5 }, 1) }, { 0, 86400 });
        QVERIFY(near(both.spans[0].start, 10) && near(both.spans[0].end, 11));
        QVERIFY(near(both.spans[1].start, 10.5) && near(both.spans[1].end, 11.5));
    }

    void whatDidNotWorkStaysSo()
    {
        const Timing both = timingOfAll({ at(0, { 10, 11 }, 1), at(0, {}, 0) }, { 0, 86400 });
        QVERIFY(!both.spans[1].worked());
        QVERIFY(near(both.spans[0].start, 10));
    }

    /// The first one comes 3 s before the other one and waits; then the message takes half a second.
    void waitingForAnotherHostIsNotTheMessagesTime()
    {
        Timing early = at(0, { 13.5, 14.5 }, 1);
        early.brought.push_back({ { 10, 13.5 } });
        Timing late = at(1, { 113.5, 114.5 }, 1);
        late.brought.push_back({ { 113, 113.5 } });
        const Timing both = timingOfAll({ early, late }, { 0, 100 });
        QVERIFY2(near(both.combined, 1.5), std::to_string(both.combined).c_str());
        QVERIFY(near(both.wall, 1.5));
        QVERIFY(near(both.seconds[0], 1) && near(both.seconds[1], 1)); // of cores
        for (const Timing::Span& span : both.spans) // from when both are there
            QVERIFY2(near(span.start, 13) && near(span.end, 14.5), std::to_string(span.start).c_str());
    }

    void severalMessagesAddUpEachWithItsPart()
    {
        Timing a = at(0, { 11, 12 }, 1);
        a.brought = { { { 10, 11 } }, { { 12, 14 }, 0.25 } };
        Timing b = at(1, { 11, 12 }, 1);
        b.brought = { { { 10, 11 } }, { { 12, 14 }, 0.25 } };
        const Timing both = timingOfAll({ a, b }, { 0, 0 });
        QVERIFY2(near(both.combined, 1 + 1 + 0.5), std::to_string(both.combined).c_str());
        QVERIFY(near(both.spans[0].start, 10) && near(both.spans[0].end, 14));
    }

    void messagesOfNobodyAndOfOthersCountNothing()
    {
        Timing a = at(0, { 10, 11 }, 1);
        a.brought = { { {} }, { {} } };
        Timing b = at(1, { 10, 11 }, 1);
        b.brought = { { {} }, { { 9, 10 } } };
        const Timing both = timingOfAll({ a, b }, { 0, 0 });
        QVERIFY(near(both.combined, 2));
        QVERIFY(near(both.spans[0].start, 10)); // had no part in it
        QVERIFY(near(both.spans[1].start, 9));
    }

    /// Clocks are compared by messages, which are sometimes late: no message takes less, or more, than somebody has seen.
    void clocksThatDisagreeMakeNoTimes()
    {
        Timing a = at(0, { 11, 12 }, 1);
        a.brought.push_back({ { 10, 10.5 } });
        Timing b = at(1, { 11, 12 }, 1);
        b.brought.push_back({ { 10.1, 10.5 } });
        const Timing behind = timingOfAll({ a, b }, { 0, -2 });
        QVERIFY2(near(behind.combined, 1.4), std::to_string(behind.combined).c_str());
        const Timing ahead = timingOfAll({ a, b }, { 0, 2 });
        QVERIFY2(ahead.combined >= 1.4 - 1e-9 && ahead.combined <= 1.5 + 1e-9, std::to_string(ahead.combined).c_str());
    }

    void aPartOfATimingHasThatPartOfItsMessages()
    {
        Timing a = at(0, { 11, 12 }, 1);
        a.brought.push_back({ { 10, 11 } });
        Timing more = a;
        more += a;
        QCOMPARE(more.brought.size(), std::size_t { 2 });
        const Timing all = timingOfAll({ more.share(0.5) }, { 0 });
        QVERIFY2(near(all.combined, (2 + 2) * 0.5), std::to_string(all.combined).c_str());
    }
};

SHARDBOARD_TEST(TestHostTimes)
#include "tst_hosttimes.moc"

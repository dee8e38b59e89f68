// SPDX-License-Identifier: Apache-2.0
// shardctl solve as a script sees it: the answer, what is refused, and how.
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardboard::test;

class TestSolveCommand : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;

    Outcome solve(const QByteArray& limit, const QStringList& more = {}, const QByteArray& usages = "[[8,3],[6,2]]")
    {
        QFile file(m_folder.filePath(QStringLiteral("p.json")));
        if (!file.open(QIODevice::WriteOnly))
            return {};
        file.write("{\"problem\":{\"nodes\":{\"intervals\":[[0,4],[2,6]],\"costs\":[[1,5],[2,9]],\"usages\":" + usages
                   + "},"
                     "\"edges\":{\"nodes\":[[0,1]],\"costs\":[[0,1,1000000000000000000,0]]},\"usage_limit\":"
                   + limit + "}}");
        file.close();
        return shardctl(QStringList { QStringLiteral("solve"), file.fileName() } + more);
    }

private Q_SLOTS:
    void answers()
    {
        const Outcome answer = solve("10", { "--json", "--time", "20" });
        QCOMPARE(answer.code, 0);
        QCOMPARE(answer.err, QString());
        const QJsonObject document = answer.json();
        QCOMPARE(document["assignment"], QJsonArray({ 0, 1 })); // 8 + 2 fit, and cost 1 + 9 + 1
        QCOMPARE(document["cost"].toInteger(), 11);
        QCOMPARE(document["lower_bound"].toInteger(), 11);
        QCOMPARE(document["gap"].toDouble(), 0.0);
        QVERIFY(document["feasible"].toBool() && document["optimal"].toBool());
        QVERIFY(document["seconds"].isDouble());
        QVERIFY(document["certificate"].isObject());
        QVERIFY(solve("10").out.contains("(optimal)"));
    }

    void infeasibleProblemsAreRefused()
    {
        const Outcome below = solve("-6", {}, "[[-5,3],[2,-5]]");
        QCOMPARE(below.code, 3);
        QVERIFY2(
            below.err.contains("the limit is -6, and at times when no node is alive nothing is used; use a limit of 0 or more"),
            qPrintable(below.err));
        const Outcome refused = solve("4", { "--json" });
        QCOMPARE(refused.code, 3);
        QVERIFY2(refused.err.contains("at time 2 even the least usages sum to 5, 1 over the limit"), qPrintable(refused.err));
        QCOMPARE(refused.err.count('\n'), 1);
        const QJsonObject document = refused.json();
        QVERIFY(!document["feasible"].toBool(true));
        QCOMPARE(document["time"].toInteger(), 2);
        QCOMPARE(document["excess"].toInteger(), 1);
    }

    void wrongUseIsSaid()
    {
        for (const char* time : { "0", "-1", "x", "1e9", "nan" })
            QCOMPARE(solve("10", { "--time", time }).code, 2);
        QCOMPARE(solve("10", { "--threads", "0" }).code, 3);
        QCOMPARE(shardctl({ "solve" }).code, 2);
        QCOMPARE(shardctl({ "solve", m_folder.filePath(QStringLiteral("none.json")) }).code, 3);
        const Outcome damaged = solve("1.5");
        QCOMPARE(damaged.code, 3);
        QVERIFY2(damaged.err.contains("p.json:1:"), qPrintable(damaged.err));
        QVERIFY(shardctl({ "solve", "--help" }).out.contains("--time"));
    }
};

SHARDBOARD_TEST(TestSolveCommand)
#include "tst_solvecommand.moc"

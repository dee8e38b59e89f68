// SPDX-License-Identifier: Apache-2.0
// shardctl pick as a script sees it: the answer on stdout, reports and refusals on stderr, exit codes.
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardboard::test;

class TestPickCommand : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;

    Outcome pick(const QByteArray& request, const QStringList& more = {})
    {
        QFile file(m_folder.filePath(QStringLiteral("r.json")));
        if (!file.open(QIODevice::WriteOnly) || file.write(request) != request.size())
            return {};
        file.close();
        return shardctl(QStringList { QStringLiteral("pick"), file.fileName() } + more);
    }
    static QByteArray request(const char* policy, const char* placement = "P")
    {
        return QByteArray("{'profile':'G1','op':'matmul','mesh':{'shape':[4],'axes':['tp']},'policy':POLICY,"
                          "'inputs':[{'name':'x','global_shape':[4,8],'placements':['PLACEMENT'],'dtype':'float32'},"
                          "{'name':'w','global_shape':[8,6],'placements':['S0'],'dtype':'float32'}]}")
            .replace("POLICY", policy)
            .replace("PLACEMENT", placement)
            .replace('\'', '"');
    }

private Q_SLOTS:
    void answers()
    {
        const Outcome answer = pick(request("{}"));
        QCOMPARE(answer.code, 0);
        QCOMPARE(answer.err, QString());
        const QJsonObject document = answer.json();
        QCOMPARE(document["inputs"], QJsonArray({ QJsonArray { "P" }, QJsonArray { "R" } }));
        QCOMPARE(document["output"], QJsonArray { "P" });
        QCOMPARE(document["cost"].toDouble(), 144.0);
        const QJsonObject moved = document["collectives"].toArray().first().toObject();
        QCOMPARE(moved["collective"].toString(), QString("allgather"));
        QCOMPARE(moved["mesh_axis"].toString(), QString("tp"));
        const QJsonObject first = document["candidates"].toArray().first().toObject();
        QCOMPARE(first["status"].toString(), QString("refused"));
        QVERIFY(first["sound"].toBool());
    }

    void warnsAndRaises()
    {
        const Outcome warned = pick(request("{'on_reshard':'warn'}"));
        QCOMPARE(warned.code, 0);
        QVERIFY2(warned.err.contains("write: w = transfer_to("), qPrintable(warned.err));
        QCOMPARE(pick(request("{'on_reshard':'warn'}"), { "--json" }).err, QString());
        QVERIFY(pick(request("{}"), { "--report" }).err.contains("write: w = transfer_to("));
        const Outcome raised = pick(request("{'on_reshard':'raise'}"));
        QCOMPARE(raised.code, 3);
        QCOMPARE(raised.out, QString()); // a refusal is one line, and no result
        QCOMPARE(raised.err.count('\n'), 1);
        QVERIFY2(raised.err.contains("r.json:policy.on_reshard: ShardingError: the chosen rows move"), qPrintable(raised.err));
        // The report of what moves when it is asked for, before the line.
        const Outcome reported = pick(request("{'on_reshard':'raise'}"), { "--report" });
        QCOMPARE(reported.code, 3);
        QVERIFY(reported.err.contains("write: w = transfer_to("));
        QVERIFY(reported.err.endsWith(raised.err));
        // A script gets the candidates as one document.
        const Outcome scripted = pick(request("{'on_reshard':'raise'}"), { "--json" });
        QCOMPARE(scripted.code, 3);
        QCOMPARE(scripted.err, raised.err);
        QCOMPARE(scripted.json()["error"].toString(), QString("ShardingError"));
        QVERIFY(!scripted.json()["candidates"].toArray().isEmpty());
    }

    void everyRefusalSaysWhatToDo()
    {
        for (const QByteArray& wrong : {
                 QByteArray("{'op':'outer','mesh':{'shape':[2],'axes':['a']},'inputs':[{'global_shape':[4,4],'placements':['R']},{'"
                            "global_shape':[4],'placements':['R']}]}"),
                 QByteArray("{'op':'flatten','attrs':{'start_dim':1,'end_dim':0},'mesh':{'shape':[2],'axes':['a']},'inputs':[{'"
                            "global_shape':[4,4],'placements':['R']}]}"),
                 QByteArray(
                     "{'op':'matmul','mesh':{'shape':[2],'axes':['a']},'inputs':[{'global_shape':[4,4],'placements':['R']}]}"),
             }) {
            const Outcome refused = pick(QByteArray(wrong).replace('\'', '"'));
            QCOMPARE(refused.code, 3);
            QVERIFY2(refused.err.contains("r.json:") && refused.err.contains("; ")
                         && refused.err.trimmed().section("; ", -1).split(' ').size() > 3,
                     qPrintable(refused.err));
        }
    }

    void refusesInOneLine()
    {
        for (const QByteArray& wrong :
             { request("{}", "S2"), request("{'mode':'x'}"), QByteArray("[]"), QByteArray("{"), QByteArray() }) {
            const Outcome refused = pick(wrong);
            QCOMPARE(refused.code, 3);
            QCOMPARE(refused.out, QString());
            QCOMPARE(refused.err.trimmed().count('\n'), 0);
            QVERIFY2(refused.err.contains("r.json"), qPrintable(refused.err));
        }
        QCOMPARE(shardctl({ "pick" }).code, 2);
        QCOMPARE(shardctl({ "pick", "/nowhere/r.json" }).code, 3);
        QVERIFY(shardctl({ "pick", "--help" }).out.contains("scatter_add"));
    }
};

SHARDBOARD_TEST(TestPickCommand)
#include "tst_pickcommand.moc"

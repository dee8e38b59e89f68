// SPDX-License-Identifier: Apache-2.0
// shardctl notation, shardctl cuts and tiles --spec as a script sees them.
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

using namespace shardboard::test;

namespace {

Outcome notation(const QStringList& more) { return shardctl(QStringList { "notation", "--mesh", "data=2,model=4" } + more); }

} // namespace

class TestNotationCommands : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void oneNotation()
    {
        const Outcome hlo = notation({ "--shape", "16,8", "--to", "hlo", "P('model')" });
        QCOMPARE(hlo.code, 0);
        QCOMPARE(hlo.out, QString("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}\n"));
        QCOMPARE(notation({ "--to", "jax", hlo.out }).out, QString("P('model')\n"));
        QCOMPARE(notation({ "--to", "hlo-v1", "--device-ids", "0,1,3,2,4,5,6,7", "--rank", "1", "P('model')" }).out,
                 QString("{devices=[4,2]0,4,1,5,3,6,2,7 last_tile_dim_replicate}\n"));
        QCOMPARE(notation({ "--to", "torch", "--json", "P('model')" }).json(),
                 (QJsonObject { { "name", "dtensor" }, { "text", "R, S(0)" } }));
    }

    void allNotations()
    {
        const Outcome all = notation({ "--shape", "16,8", "--json", "_S(0,4), S(0)" });
        QCOMPARE(all.code, 0);
        QCOMPARE(all.json()["read_as"].toString(), QString("dtensor"));
        QCOMPARE(all.json()["type"].toString(), QString("bf16[16@(model,data),8]"));
        const QJsonArray notations = all.json()["notations"].toArray();
        QCOMPARE(notations.size(), 6);
        QCOMPARE(notations[0].toObject()["text"].toString(), QString("P(('model', 'data'))"));
        QVERIFY(notations[5].toObject()["text"].isNull());
        QVERIFY(notations[5].toObject()["reason"].toString().contains("mesh order"));
        const Outcome table = notation({ "_S(0,4), S(0)" });
        QVERIFY2(table.out.contains("{devices=[8,1]<=[2,4]T(1,0)}") && table.out.contains("cannot: "), qPrintable(table.out));
    }

    void refusals_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("part");
        QTest::newRow("cannot be said") << QStringList { "--to", "max", "P(('model','data'))" } << 3 << "shardctl: MAX: ";
        QTest::newRow("no layout") << QStringList { "hello" } << 3 << "shardctl: TEXT: 'hello' is not a layout";
        QTest::newRow("rank") << QStringList { "--rank", "1", "P(None, 'data')" } << 3
                              << "the spec has 2 entries, but the tensor has 1 dim";
        QTest::newRow("from") << QStringList { "--from", "shardy", "P('data')" } << 3 << "shardctl: TEXT: ";
        QTest::newRow("ids") << QStringList { "--device-ids", "0,1", "P()" } << 3 << "lists 2 ids for 8 positions";
        QTest::newRow("bad id") << QStringList { "--device-ids", "0,x", "P()" } << 3 << "'x' is not a device id";
        QTest::newRow("unknown notation") << QStringList { "--to", "tf", "P()" } << 2 << "there is no notation 'tf'";
        QTest::newRow("both") << QStringList { "--rank", "2", "--shape", "4,4", "P()" } << 2 << "give either --shape or --rank";
        QTest::newRow("no text") << QStringList {} << 2 << "TEXT is missing";
    }
    void refusals()
    {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        QFETCH(QString, part);
        const Outcome outcome = notation(arguments);
        QCOMPARE(outcome.code, code);
        QVERIFY2(outcome.err.contains(part), qPrintable(outcome.err));
        QVERIFY(outcome.out.isEmpty() && outcome.err.count('\n') == 1);
    }

    void tilesTakeEveryNotation()
    {
        const auto tiles = [](const char* spec) {
            return shardctl({ "tiles", "--shape", "16,8", "--mesh", "data=2,model=4", "--spec", spec, "--json" });
        };
        const QString jax = tiles("P(('model','data'))").out;
        for (const char* same :
             { R"([{"model", "data"}, {}])", "{devices=[8,1]<=[2,4]T(1,0)}", "{devices=[8,1]0,4,1,5,2,6,3,7}", "_S(0,4), S(0)" })
            QCOMPARE(tiles(same).out, jax);
        QCOMPARE(tiles("R, S(0)").out, tiles("Replicated, Sharded(0)").out);
        QCOMPARE(tiles("R, S(2)").code, 3);
    }

    void cutRulesSideBySide()
    {
        const Outcome cuts =
            shardctl({ "cuts", "--shape", "10,4", "--mesh", "data=2,model=3", "--dim", "0", "--axis", "data,model", "--json" });
        QCOMPARE(cuts.code, 0);
        const QJsonObject dim = cuts.json()["dims"].toArray()[0].toObject();
        QCOMPARE(dim["parts"].toInt(), 6);
        const QJsonArray rules = dim["rules"].toArray();
        QCOMPARE(rules.size(), 5);
        QVERIFY(rules[0].toObject()["refused"].toString().contains("10 does not divide by 6"));
        QCOMPARE(rules[2].toObject()["sizes"].toArray(),
                 (QJsonArray { QJsonArray { 2, 2 }, QJsonArray { 1, 1 }, QJsonArray { 2, 2 }, QJsonArray { 1, 1 } }));
        QCOMPARE(rules[2].toObject()["differing_devices"].toArray(), (QJsonArray { QJsonArray { 2, 5 } }));
        QVERIFY(rules[4].toObject()["refused"].toString().contains("needs a grain"));
        const Outcome spec = shardctl({ "cuts", "--shape", "10,4", "--mesh", "data=2,model=3", "--spec", "S(0), S(0)", "--json" });
        QCOMPARE(spec.out, cuts.out);
        QCOMPARE(shardctl({ "cuts", "--shape", "10,4", "--mesh", "data=2", "--spec", "P()" }).code, 3);
        QCOMPARE(shardctl({ "cuts", "--shape", "10,4", "--mesh", "data=2", "--dim", "0" }).code, 2);
        QCOMPARE(shardctl({ "cuts", "--shape", "10,4", "--mesh", "data=2", "--dim", "2", "--axis", "data" }).code, 3);
    }
};

SHARDBOARD_TEST(TestNotationCommands)
#include "tst_notationcommands.moc"

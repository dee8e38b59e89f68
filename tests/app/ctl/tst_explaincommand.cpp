// SPDX-License-Identifier: Apache-2.0
// shardctl explain, and pins on the command line, as people and scripts use them.
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardboard::test;

class TestExplainCommand : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }

    static QJsonObject only(const Outcome& outcome)
    {
        const QJsonArray list = outcome.json()["explanations"].toArray();
        return list.size() == 1 ? list.first().toObject() : QJsonObject();
    }
    static QJsonObject row(const QJsonObject& explanation, int axis, const char* text)
    {
        for (const QJsonValue& value : explanation["axes"].toArray()[axis].toObject()["rows"].toArray())
            if (value["row"].toString() == QLatin1String(text))
                return value.toObject();
        return {};
    }

private Q_SLOTS:
    void initTestCase()
    {
        QCOMPARE(shardctl({ "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "--preset", "megatron-tp", "--batch", "8",
                            "--sequence", "4096", "-o", path("tp.shardboard") })
                     .code,
                 0);
        QCOMPARE(shardctl({ "new", "--model", "llama3-8b", "--mesh", "fsdp=8", "--preset", "fsdp", "--workload", "train", "-o",
                            path("fsdp.shardboard") })
                     .code,
                 0);
    }

    void asText()
    {
        const Outcome it = shardctl({ "explain", path("tp.shardboard"), "block/self_attn.residual/attention out/all-reduce" });
        QCOMPARE(it.code, 0);
        for (const char* text :
             { "all-reduce over model  (forward, block, layers 0-31)", "8 x 4096 x 4096 bf16",
               "P('data', None, None, unreduced={'model'})", "128 MiB on each of 4 devices", "32 times a step",
               "1  model.layers.*.self_attn.o_proj.weight is cut on dim 1 (in (heads x head dim)) over model",
               "strategy entry 6 '*.self_attn.o_proj.weight': columnwise (dim 1) over model (preset megatron-tp)",
               "over model (4 devices), block/self_attn.residual takes R R -> R",
               "refused: a partial value may not be reduced to shards", "--pin 'self_attn.residual@model=S1 S1 -> S1'" })
            QVERIFY2(it.out.contains(QLatin1String(text)), text);
    }

    void asJson()
    {
        const Outcome it = shardctl({ "explain", path("tp.shardboard"), "block/self_attn.residual", "--json", "--what-if", "1" });
        QCOMPARE(it.code, 0);
        QCOMPARE(it.json()["format"].toString(), "shardboard-explain");
        const QJsonObject explanation = only(it);
        QCOMPARE(explanation["kind"].toString(), "operation");
        QCOMPARE(explanation["operation"]["op"].toString(), "add");
        QCOMPARE(explanation["axes"].toArray().size(), 2);
        QCOMPARE(explanation["axes"].toArray()[0].toObject()["decided_by"].toString(), "price");
        QCOMPARE(explanation["axes"].toArray()[1].toObject()["decided_by"].toString(), "only-row");
        const QJsonObject picked = row(explanation, 1, "R R -> R");
        QCOMPARE(picked["verdict"].toString(), "picked");
        QCOMPARE(picked["price_bytes"].toDouble(), 2.0 * 256 * 1024 * 1024 * 3 / 4); // 8 x 4096 x 4096 bf16, all of it
        const QJsonObject other = row(explanation, 1, "S0 S0 -> S0");
        QCOMPARE(other["verdict"].toString(), "refused");
        QCOMPARE(other["pin"].toObject(),
                 (QJsonObject { { "match", "self_attn.residual" }, { "axis", "model" }, { "row", "S0 S0 -> S0" } }));
        const QJsonObject effect = other["effect"].toObject();
        const double before =
            shardctl({ "plan", path("tp.shardboard"), "--json" }).json()["totals"].toObject()["seconds"].toDouble();
        QCOMPARE(effect["seconds"].toObject()["before"].toDouble(), before);
        // The same pin by hand has the effect that was told.
        QCOMPARE(
            shardctl({ "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "--preset", "megatron-tp", "--batch", "8",
                       "--sequence", "4096", "--pin", "self_attn.residual@model=S0 S0 -> S0", "-o", path("pinned.shardboard") })
                .code,
            0);
        const QJsonObject after = shardctl({ "plan", path("pinned.shardboard"), "--json" }).json();
        QCOMPARE(effect["seconds"].toObject()["after"].toDouble(), after["totals"].toObject()["seconds"].toDouble());
        QCOMPARE(effect["collective_bytes"].toObject()["after"].toInteger(),
                 after["totals"].toObject()["collective_bytes"].toInteger());
        QCOMPARE(effect["peak_bytes_per_device"].toObject()["after"].toInteger(),
                 after["memory"].toObject()["peak_bytes_per_device"].toInteger());
        // The first layer is another than the later ones now, whose residual stream comes in shards.
        const QJsonArray both =
            shardctl({ "explain", path("pinned.shardboard"), "self_attn.residual", "--json" }).json()["explanations"].toArray();
        QCOMPARE(both.size(), 2);
        const QJsonObject now = both.first().toObject();
        QCOMPARE(now["axes"].toArray()[1].toObject()["decided_by"].toString(), "pin");
        QCOMPARE(row(now, 1, "S0 S0 -> S0")["verdict"].toString(), "picked");
    }

    void everyCollectiveIsExplained()
    {
        for (const char* design : { "tp.shardboard", "fsdp.shardboard" }) {
            const QJsonArray all = shardctl({ "plan", path(design), "--json" }).json()["collectives"].toArray();
            QVERIFY(!all.isEmpty());
            for (const QJsonValue& collective : all) {
                const QString id = collective["id"].toString();
                const QJsonObject why = only(shardctl({ "explain", path(design), id, "--json", "--what-if", "0" }));
                QCOMPARE(why["kind"].toString(), "collective");
                QCOMPARE(why["name"].toString(), id);
                const QJsonArray causes = why["causes"].toArray();
                QVERIFY2(causes.size() >= 2, qPrintable(id)); // a root and a need
                const QString root = causes.first()["kind"].toString();
                QVERIFY2(root == "layout" || root == "pin", qPrintable(id + ": " + root));
                QVERIFY(!causes.first()["detail"].toString().isEmpty());
            }
        }
    }

    void weightsAndGlobs()
    {
        const Outcome weight = shardctl({ "explain", path("tp.shardboard"), "model.layers.3.self_attn.o_proj.weight", "--json" });
        QCOMPARE(only(weight)["kind"].toString(), "weight");
        QCOMPARE(only(weight)["layer"].toInt(), 3);
        QCOMPARE(only(weight)["weight"].toObject()["entry"].toObject()["number"].toInt(), 6);
        QCOMPARE(only(weight)["collectives"].toArray().size(), 1);
        QVERIFY(only(weight)["layouts"].toArray().size() >= 2);
        const Outcome glob = shardctl({ "explain", path("tp.shardboard"), "*_proj", "--json" });
        QCOMPARE(glob.json()["explanations"].toArray().size(), 7);
        const Outcome many = shardctl({ "explain", path("tp.shardboard"), "*" });
        QCOMPARE(many.code, 0);
        QVERIFY(many.out.contains("things; name one of them"));
    }

    void mistakes()
    {
        const Outcome unknown = shardctl({ "explain", path("tp.shardboard"), "o_porj" });
        QCOMPARE(unknown.code, 3);
        QCOMPARE(unknown.err.count('\n'), 1);
        QVERIFY(unknown.err.contains("did you mean 'self_attn.o_proj'?"));
        QCOMPARE(shardctl({ "explain", path("tp.shardboard") }).code, 2);
        QCOMPARE(shardctl({ "explain", path("none.shardboard"), "x" }).code, 3);
        const QStringList make { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "-o", path("x.shardboard"), "--pin" };
        const Outcome pin = shardctl(make + QStringList { "batch=data" });
        QCOMPARE(pin.code, 2);
        QVERIFY(pin.err.contains("'*:batch=data,fsdp'"));
        const Outcome dead = shardctl(make + QStringList { "*:batch=dat" });
        QCOMPARE(dead.code, 0);
        QVERIFY(dead.err.contains("the mesh has no axis 'dat'"));
    }

    void trainingPlanAsText()
    {
        const Outcome it = shardctl({ "plan", path("fsdp.shardboard") });
        for (const char* text :
             { "gradients", "optimizer state", "kept for the backward pass", "forward, block x 32, each: 9 all-gather over fsdp",
               "backward, block x 32, each: 9 all-gather over fsdp, 9 reduce-scatter over fsdp" })
            QVERIFY2(it.out.contains(QLatin1String(text)), text);
        QVERIFY(!it.out.contains("update, "));
        QVERIFY(!shardctl({ "plan", path("tp.shardboard") }).out.contains("gradients"));
    }
};

SHARDBOARD_TEST(TestExplainCommand)
#include "tst_explaincommand.moc"

// SPDX-License-Identifier: Apache-2.0
// shardctl check, new --rules and bench as a script sees them.
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>

using namespace shardboard::test;

namespace {

QJsonObject findingOf(const Outcome& outcome, const QString& kind)
{
    for (const QJsonValue& value : outcome.json()["findings"].toArray())
        if (value["kind"].toString() == kind)
            return value.toObject();
    return {};
}

} // namespace

class TestCheck : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }

private Q_SLOTS:
    void initTestCase()
    {
        QCOMPARE(shardctl({ "new", "--model", "qwen2.5-0.5b", "--mesh", "data=2,model=2", "--preset", "megatron-tp", "-o",
                            path("good.shardboard") })
                     .code,
                 0);
        // Two mistakes: an axis that is not there, and a pattern that matches nothing.
        QByteArray text = contentOf(path("good.shardboard"));
        const QByteArray first = "\"strategies\": [\n";
        QVERIFY(text.contains(first));
        text.replace("{\"axes\":[\"model\"],\"match\":\"*.mlp.up_proj.*\",",
                     "{\"axes\":[\"modle\"],\"match\":\"*.mlp.up_proj.*\",");
        text.replace(first, first + "    {\"match\":\"typo\",\"strategy\":\"replicate\"},\n");
        QVERIFY(writeFile(path("bad.shardboard"), text));
    }

    /// A note: with it alone the exit code is 0. Half of 24 layers' weight of 4864 x 896 could lie on the other device.
    void weightsReplicatedByHandAreListed()
    {
        QByteArray text = contentOf(path("good.shardboard"));
        const QByteArray cut = "{\"axes\":[\"model\"],\"match\":\"*.mlp.up_proj.*\",\"strategy\":\"rowwise\"}";
        QVERIFY2(text.contains(cut), text.constData());
        text.replace(cut, "{\"match\":\"*.mlp.up_proj.*\",\"strategy\":\"replicate\"}");
        QVERIFY(writeFile(path("whole.shardboard"), text));
        const Outcome check = shardctl({ "check", path("whole.shardboard"), "--json" });
        QCOMPARE(check.code, 0);
        const QJsonObject finding = findingOf(check, "replicated");
        QCOMPARE(finding["severity"].toString(), QString("note"));
        QCOMPARE(finding["where"].toString(), QString("model.layers.*.mlp.up_proj.weight"));
        QCOMPARE(finding["cost_bytes"].toDouble(), 24.0 * 4864 * 896 * 2 / 2);
        QVERIFY(finding["repairable"].toBool());
        // All repairs leave it as it was meant.
        QCOMPARE(shardctl({ "check", path("whole.shardboard"), "--repair", "all", "-o", path("all.shardboard") }).code, 0);
        QVERIFY(contentOf(path("all.shardboard")) == text);
        QCOMPARE(shardctl({ "check", path("whole.shardboard"), "--repair", "1", "-o", path("cut.shardboard") }).code, 0);
        QVERIFY(findingOf(shardctl({ "check", path("cut.shardboard"), "--json" }), "replicated").isEmpty());
        QVERIFY(contentOf(path("cut.shardboard")).contains("\"match\":\"*.mlp.up_proj.*\",\"strategy\":\"rowwise\""));
    }

    /// Of an axis, a label, a row, an activation that are not there; each with its number.
    void pinsThatDoNothingAreListed()
    {
        QCOMPARE(shardctl({ "new", "--model", "qwen2.5-0.5b", "--mesh", "data=2,model=2", "--preset", "megatron-tp", "--pin",
                            "*:batch=dat", "--pin", "residual:heads=model", "--pin", "self_attn.attention@model=S3 R R -> R",
                            "--pin", "nosuch:batch=data", "-o", path("pinned.shardboard") })
                     .code,
                 0);
        const Outcome check = shardctl({ "check", path("pinned.shardboard"), "--json" });
        QCOMPARE(check.code, 1);
        QStringList messages;
        for (const QJsonValue& value : check.json()["findings"].toArray())
            if (value["kind"].toString() == "dead-pin")
                messages.append(value["message"].toString());
        QCOMPARE(messages,
                 QStringList({ "pin 1 does nothing: the mesh has no axis 'dat'",
                               "pin 2 does nothing: no activation that it names has a dim 'heads'",
                               "pin 3 does nothing: self_attn.attention has no row S3 R R -> R",
                               "pin 4 does nothing: the pattern matches no activation" }));
    }

    void mistakesAreListedAndTheOthersRefuse()
    {
        const Outcome check = shardctl({ "check", path("bad.shardboard"), "--json" });
        QCOMPARE(check.code, 1);
        const QJsonObject axis = findingOf(check, "unknown-axis");
        QCOMPARE(axis["severity"].toString(), QString("error"));
        QCOMPARE(axis["where"].toString(), QString("model.layers.*.mlp.up_proj.weight"));
        QCOMPARE(axis["cost_bytes"].toDouble(), 24 * 4864.0 * 896 * 2 / 2); // half of it in 24 layers
        QCOMPARE(axis["cost_kind"].toString(), QString("held"));
        QCOMPARE(axis["repairable"].toBool(), true);
        QVERIFY(!findingOf(check, "unused-entry").isEmpty());
        const Outcome plan = shardctl({ "plan", path("bad.shardboard") });
        QCOMPARE(plan.code, 3);
        QVERIFY2(plan.err.contains("bad.shardboard:strategies[") && plan.err.contains("the mesh has no axis 'modle'"),
                 qPrintable(plan.err));
        const Outcome good = shardctl({ "check", path("good.shardboard") }); // a tied model, which has no lm_head for the preset
        QCOMPARE(good.code, 0);
        QCOMPARE(good.out, QString("nothing found\n"));
    }

    void oneRepairAndAll()
    {
        const QByteArray before = contentOf(path("bad.shardboard"));
        const Outcome one = shardctl({ "check", path("bad.shardboard"), "--repair", "1", "-o", path("one.shardboard"), "--json" });
        QCOMPARE(one.code, 0); // what is left is a note
        QCOMPARE(one.json()["repaired"].toArray().size(), 1);
        QVERIFY(findingOf(one, "unknown-axis").isEmpty());
        QVERIFY(!findingOf(one, "unused-entry").isEmpty());
        QCOMPARE(shardctl({ "plan", path("one.shardboard") }).code, 0);
        QCOMPARE(contentOf(path("bad.shardboard")), before);
        const Outcome all = shardctl({ "check", path("bad.shardboard"), "--repair", "all", "-o", path("all.shardboard") });
        QVERIFY2(all.out.contains("repaired: Lay out *.mlp.up_proj.* as rowwise (dim 0) over model"), qPrintable(all.out));
        QVERIFY(all.out.contains("repaired: Remove the entry for typo"));
        const Outcome left = shardctl({ "check", path("all.shardboard"), "--json" });
        for (const QJsonValue& finding : left.json()["findings"].toArray())
            QVERIFY(!finding["repairable"].toBool());
        QVERIFY(contentOf(path("all.shardboard")).contains("{\"axes\":[\"model\"],\"match\":\"*.mlp.up_proj.*\","));
    }

    /// Weights that are gathered whole are nothing to warn of; dims that do not divide are worth a note; an unused axis is a
    /// warning.
    void onlyWarningsAndErrorsFail_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("severity"); ///< of the worst finding
        QTest::addColumn<int>("code");
        QTest::newRow("nothing") << "fsdp=16" << QString() << 0;
        QTest::newRow("notes") << "fsdp=3"
                               << "note" << 0;
        QTest::newRow("a warning") << "fsdp=2,model=2"
                                   << "warning" << 1;
    }
    void onlyWarningsAndErrorsFail()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, severity);
        QFETCH(int, code);
        QCOMPARE(
            shardctl({ "new", "--model", "qwen3-0.6b", "--mesh", mesh, "--preset", "fsdp", "-o", path("fsdp.shardboard") }).code,
            0);
        const Outcome text = shardctl({ "check", path("fsdp.shardboard") });
        const Outcome json = shardctl({ "check", path("fsdp.shardboard"), "--json" });
        QCOMPARE(text.code, code);
        QCOMPARE(json.code, code);
        const QJsonArray findings = json.json()["findings"].toArray();
        QCOMPARE(findings.isEmpty(), severity.isEmpty());
        QCOMPARE(findings[0]["severity"].toString(), severity); // worst first
        QCOMPARE(text.out.count(severity + ": ") > 0, !severity.isEmpty());
    }

    void wrongUseOfRepair()
    {
        QCOMPARE(shardctl({ "check", path("bad.shardboard"), "--repair", "1" }).code, 2);
        QCOMPARE(shardctl({ "check", path("bad.shardboard"), "-o", path("x") }).code, 2);
        const Outcome none = shardctl({ "check", path("bad.shardboard"), "--repair", "99", "-o", path("x") });
        QCOMPARE(none.code, 2);
        QCOMPARE(none.err.count('\n'), 1);
        QVERIFY(!QFile::exists(path("x")));
    }

    void rulesIntoADesign()
    {
        const Outcome made = shardctl(
            { "new", "--model", "llama3-8b", "--rules", "pure-fsdp", "--devices-per-slice", "16", "-o", path("fsdp.shardboard") });
        QVERIFY2(made.code == 0, qPrintable(made.err));
        const QByteArray text = contentOf(path("fsdp.shardboard"));
        QVERIFY(text.contains("\"source\": \"preset pure-fsdp\""));
        QVERIFY(text.contains("\"axes\": [\"fsdp\"]"));
        QVERIFY(text.contains("\"sizes\": [16]"));
        QVERIFY(text.contains("\"strategies\": []"));
        const Outcome plan = shardctl({ "plan", path("fsdp.shardboard"), "--json" });
        QCOMPARE(plan.code, 0);
        // pure-fsdp has no rule for norms (maxtext 6.4); 8 B weights over 16 devices leave about 1 GiB on each.
        QVERIFY(!findingOf(shardctl({ "check", path("fsdp.shardboard"), "--json" }), "no-rule").isEmpty());
        const double weights = plan.json()["memory"].toObject()["by_cause"].toObject()["weights"].toDouble();
        QVERIFY(weights >= 8030261248.0 * 2 / 16 && weights < 8030261248.0 * 2 / 16 * 1.01);
    }

    void rulesOfAFileOnAnyMesh()
    {
        QVERIFY(writeFile(path("mine.yml"),
                          "mesh_axes: [data, model]\nlogical_axis_rules:\n  - [mlp, model]\n  - [embed, [data, model]]\n"));
        const Outcome made = shardctl({ "new", "--model", "qwen2.5-0.5b", "--rules", path("mine.yml"), "--mesh", "data=2,model=2",
                                        "-o", path("mine.shardboard") });
        QVERIFY2(made.code == 0, qPrintable(made.err));
        QVERIFY(contentOf(path("mine.shardboard")).contains("      [\"embed\",[\"data\",\"model\"]]\n"));
        const Outcome check = shardctl({ "check", path("mine.shardboard"), "--json" });
        // The table, which no rule knows, is worse and comes first.
        QCOMPARE(findingOf(check, "silently-replicated")["where"].toString(), QString("model.embed_tokens.weight"));
        QJsonObject lost;
        for (const QJsonValue& finding : check.json()["findings"].toArray())
            if (finding["where"].toString().endsWith("gate_proj.weight"))
                lost = finding.toObject();
        QCOMPARE(lost["kind"].toString(), QString("silently-replicated"));
        QVERIFY2(lost["message"].toString().contains("asks for data by rule 2"), qPrintable(lost["message"].toString()));
        QVERIFY(lost["repairable"].toBool());
        QVERIFY(writeFile(path("broken.yml"), "logical_axis_rules:\n  - [mlp, model]\n  - [embed]\n"));
        const Outcome broken = shardctl(
            { "new", "--model", "qwen2.5-0.5b", "--rules", path("broken.yml"), "--mesh", "data=2,model=2", "-o", path("x") });
        QCOMPARE(broken.code, 3);
        QVERIFY2(broken.err.contains("broken.yml:3"), qPrintable(broken.err));
        QVERIFY(!QFile::exists(path("x")));
    }

    void wrongUseOfRules_data()
    {
        QTest::addColumn<QStringList>("more");
        QTest::newRow("a preset would hide them") << QStringList { "--rules", "default", "--preset", "replicate", "--mesh", "a=2" };
        QTest::newRow("no mesh") << QStringList { "--rules", "default" };
        QTest::newRow("two meshes") << QStringList { "--rules", "default", "--mesh", "a=2", "--devices-per-slice", "2" };
        QTest::newRow("options without rules") << QStringList { "--mesh", "a=2", "--set", "ici_fsdp_parallelism=2" };
    }
    void wrongUseOfRules()
    {
        QFETCH(QStringList, more);
        const Outcome out = shardctl(QStringList { "new", "--model", "llama3-8b", "-o", path("x") } + more);
        QCOMPARE(out.code, 2);
        QCOMPARE(out.err.count('\n'), 1);
        QVERIFY(!QFile::exists(path("x")));
    }

    /// The target is 50 ms and 200 MB on one idle core; a busy one gets room.
    void resolvingALargeModelIsQuick()
    {
        const auto quick = [](const Outcome& out) {
            const QJsonArray rows = out.json()["benchmarks"].toArray();
            return std::ranges::all_of(
                rows, [](const QJsonValue& row) { return row["of_8_devices"].toDouble() < 4 && row["seconds"].toDouble() < 0.5; });
        };
        Outcome bench = shardctl({ "bench", "resolve", "--json" });
        for (int again = 0; again < 4 && !quick(bench); ++again) // something else may have had the core
            bench = shardctl({ "bench", "resolve", "--json" });
        QCOMPARE(bench.code, 0);
        const QJsonArray rows = bench.json()["benchmarks"].toArray();
        QCOMPARE(rows.size(), 4);
        for (const QJsonValue& row : rows) {
            QCOMPARE(row["weights"].toInt(), 126 * 9 + 3);
            QVERIFY(row["of_8_devices"].toDouble() < 4); // does not grow with the devices
            QVERIFY(row["peak_memory_growth_bytes"].toDouble() < 200e6);
            QVERIFY2(row["seconds"].toDouble() < 0.5, qPrintable(bench.out));
        }
        QCOMPARE(rows[0]["devices"].toInt(), 131072);
        QCOMPARE(shardctl({ "bench", "nothing" }).code, 2);
    }

    /// A changed link is priced well below the 20 us that are wanted, and hardware that stays faster still.
    void pricingAPlanAgainIsQuick()
    {
        const Outcome bench = shardctl({ "bench", "price" });
        QCOMPARE(bench.code, 0);
        for (const char* text : { "nothing changed", "a link changed", "of 20 us", "llama3.1-405b, train", "16,384",
                                  "pod=4,data=8,fsdp=64,model=8", "stage=16,fsdp=128,model=8" })
            QVERIFY2(bench.out.contains(QLatin1String(text)), text);
        const QJsonArray rows = shardctl({ "bench", "price", "--json" }).json()["benchmarks"].toArray();
        QCOMPARE(rows.size(), 2);
        for (const QJsonValue& row : rows) {
            QVERIFY(row["unchanged_seconds"].toDouble() > 0);
            QVERIFY(row["unchanged_seconds"].toDouble() < row["seconds"].toDouble());
            QVERIFY2(row["seconds"].toDouble() < 60e-6, qPrintable(bench.out)); // a busy machine gets room
        }
    }
};

SHARDBOARD_TEST(TestCheck)
#include "tst_check.moc"

// SPDX-License-Identifier: Apache-2.0
// shardctl rules as a script sees it: files, one JSON document, warnings and errors on one line, exit codes.
#include "tests/support/files.h"
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

using namespace shardboard::test;

namespace {

Outcome rules(const QStringList& arguments) { return shardctl(QStringList { "rules" } + arguments); }

const char* const kRules = "mesh_axes: [data, fsdp, expert]\n"
                           "data_sharding: [[data, fsdp]]\n"
                           "logical_axis_rules:\n"
                           "- [mlp, expert]\n"
                           "- [embed, [fsdp, expert]]\n"
                           "- [batch, [data, fsdp]]\n"
                           "- [activation_length, expert]\n";

const char* const kLogical =
    "{\".params/['params']/['mlp']/['wi']/['kernel']\": {\"partition_spec\": [\"embed\", \"mlp\"], \"shape\": [16, 8]},\n"
    " \".params/['params']/['norm']/['scale']\": {\"partition_spec\": [\"norm\"], \"shape\": [16]},\n"
    " \".opt_state/[0]/.mu/['params']/['mlp']/['wi']/['kernel']\": {\"partition_spec\": [\"embed\", \"mlp\"], \"shape\": [16, 8]}}";

const char* const kInput =
    "{\"Activation Sharding Dump\": [{\"a/x: bfloat16[8,16]\": {\"logic_axes\": \"('batch', None)\", \"PartitionSpec\": \"P()\"}},"
    "{\"a/y: bfloat16[8]\": {\"logic_axes\": \"Unknown\", \"PartitionSpec\": \"P('fsdp',)\"}}]}";

} // namespace

class TestRulesCommand : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }
    void write(const char* name, const QByteArray& content) const { QVERIFY(writeFile(path(name), content)); }
    QByteArray read(const char* name) const { return contentOf(path(name)); }
    QStringList onMesh() const
    {
        return { "--rules", path("own.yml"), "--devices-per-slice", "4", "--slices", "2", "--set", "ici_expert_parallelism=2" };
    }

private Q_SLOTS:
    void initTestCase()
    {
        write("own.yml", kRules);
        write("dump/logical_shardings.json", kLogical);
        write("dump/input_shardings.json", kInput);
    }

    void resolvesAFile()
    {
        const Outcome made =
            rules(QStringList { "resolve", "--logical", path("dump/logical_shardings.json"), "-o", path("named.json") } + onMesh());
        QVERIFY2(made.code == 0, qPrintable(made.err));
        QVERIFY2(made.out.contains("3 entries, rules own.yml, mesh data=2,fsdp=2,expert=2"), qPrintable(made.out));
        const QJsonObject named = QJsonDocument::fromJson(read("named.json")).object();
        const QJsonObject weight = named[QString(".params/['params']/['mlp']/['wi']/['kernel']")].toObject();
        QCOMPARE(weight["partition_spec"].toArray(), (QJsonArray { QJsonValue(), "expert" })); // embed lost fsdp with expert
        QCOMPARE(weight["mesh"].toObject()["shape"].toObject()["data"].toInt(), 2);
        const Outcome printed = rules(QStringList { "resolve", "--logical", path("dump/logical_shardings.json") } + onMesh());
        QCOMPARE(printed.out.toUtf8(), read("named.json"));
    }

    void resolvesAFolder()
    {
        const Outcome made = rules(QStringList { "resolve", "--logical", path("dump"), "-o", path("out/deep") } + onMesh());
        QVERIFY2(made.code == 0, qPrintable(made.err));
        QCOMPARE(read("out/deep/named_shardings.json"), read("named.json"));
        QVERIFY(read("out/deep/input_shardings.json").contains("\"PartitionSpec\": \"P(('data', 'fsdp'), None)\""));
        QVERIFY(read("out/deep/input_shardings.json").contains("\"PartitionSpec\": \"P('fsdp',)\"")); // Unknown: as it was
        QCOMPARE(QJsonDocument::fromJson(read("out/deep/logical_shardings.json")).object(),
                 QJsonDocument::fromJson(kLogical).object());
    }

    void oneDocument()
    {
        const Outcome made = rules(QStringList { "resolve", "--json", "--logical", path("dump") } + onMesh());
        const QJsonObject document = made.json();
        QCOMPARE(document["mesh"].toObject()["sizes"].toArray(), (QJsonArray { 2, 2, 2 }));
        QCOMPARE(document["context_axis"].toString(), QString("expert"));
        QCOMPARE(document["data_sharding"].toArray(), (QJsonArray { "data", "fsdp" }));
        QCOMPARE(document["input_spec"].toArray(), (QJsonArray { QJsonValue(), QJsonValue() })); // no rule for those names here
        QCOMPARE(document["tensors"].toArray().size(), 5);
        const QJsonObject weight = document["tensors"].toArray()[0].toObject();
        QCOMPARE(weight["local_shape"].toArray(), (QJsonArray { 16, 4 }));
        QCOMPARE(weight["replication"].toInt(), 4);
    }

    void explainsATensor()
    {
        const Outcome text = rules(QStringList { "explain", "--logical", path("dump"), "--tensor", "wi/kernel" } + onMesh());
        QVERIFY2(text.code == 0, qPrintable(text.err));
        QVERIFY2(text.out.contains("dim 0 (embed): replicated, no rule for the name fits; skipped rule 2 (own.yml:5) fsdp, expert: "
                                   "expert already cuts dim 1 by rule 1 (own.yml:4)"),
                 qPrintable(text.out));
        const QJsonObject document =
            rules(QStringList { "explain", "--json", "--logical", path("dump"), "--tensor", "wi/kernel" } + onMesh()).json();
        QCOMPARE(document["bytes_per_device"].toInt(), 16 * 4 * 4);
        QCOMPARE(document["bytes_lost"].toInt(), 16 * 4 * 4 / 2); // fsdp=2 was asked for and cuts nothing
        QCOMPARE(document["lost_axes"].toArray(), QJsonArray { "fsdp" });
        const QJsonObject dim = document["dims"].toArray()[0].toObject();
        QCOMPARE(dim["rule"], QJsonValue());
        const QJsonObject skipped = dim["skipped"].toArray()[0].toObject();
        QCOMPARE(skipped["rule"].toInt(), 2);
        QCOMPARE(skipped["taken_by_dim"].toInt(), 1);
        QCOMPARE(skipped["axis_size"].toInt(), 2);
    }

    void explainsNamesByHand()
    {
        const Outcome made =
            rules({ "explain", "--names", "embed,null,q_lora", "--rules", "pure-fsdp", "--devices-per-slice", "8" });
        QVERIFY2(made.out.contains("spec         P('fsdp', None, None)"), qPrintable(made.out));
        QVERIFY2(made.out.contains("dim 2 (q_lora): replicated, no rule for the name fits"), qPrintable(made.out));
    }

    void severalMatchesAreListed()
    {
        write("two.json", "{\"a/['x']/['w']\": {\"partition_spec\": []}, \"b/['x']/['w']\": {\"partition_spec\": []}}");
        const Outcome made = rules(QStringList { "explain", "--logical", path("two.json"), "--tensor", "x/w" } + onMesh());
        QCOMPARE(made.code, 3);
        QCOMPARE(made.err.section(QLatin1Char('\n'), -2, -2),
                 QString("shardctl: --tensor: 'x/w' fits 2 tensors; give more of the name: a/x/w, b/x/w"));
    }

    void listsAndShows()
    {
        QCOMPARE(rules({ "list", "--json" }).json()["rule_sets"].toArray().size(), 7);
        const Outcome shown = rules({ "show", "pure-fsdp" });
        QVERIFY(shown.out.contains("exp_with_fsdp"));
        const QJsonObject own = rules({ "show", path("own.yml"), "--json" }).json();
        QCOMPARE(own["rules"].toArray()[1].toObject()["place"].toString(), path("own.yml") + ":5");
    }

    void refusals_data()
    {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("error");
        QTest::newRow("no action") << QStringList {} << 2 << "shardctl rules: ACTION is missing";
        QTest::newRow("unknown action") << QStringList { "do" } << 2 << "shardctl rules: there is no action 'do'";
        QTest::newRow("no logical") << QStringList { "resolve", "--devices-per-slice", "4" } << 2
                                    << "shardctl rules resolve: --logical is missing";
        QTest::newRow("no devices") << QStringList { "resolve", "--logical", "DIR/dump" } << 2
                                    << "shardctl rules: give either --devices-per-slice or --topology";
        QTest::newRow("does not fit") << QStringList {
            "resolve", "--logical", "DIR/dump", "--devices-per-slice", "6", "--set", "ici_expert_parallelism=4", "-o", "DIR/x"
        } << 3 << "shardctl: default: ici_fsdp_parallelism is -1 and cannot be filled: 6 devices";
        QTest::newRow("bad rule") << QStringList { "show", "DIR/bad.yml" } << 3
                                  << "shardctl: DIR/bad.yml:2:3: a rule is a pair of a logical name and mesh axes";
        QTest::newRow("bad dump") << QStringList { "resolve", "--logical", "DIR/bad.json", "--devices-per-slice", "4" } << 3
                                  << "shardctl: DIR/bad.json:2:";
        QTest::newRow("specs, no names") << QStringList { "resolve", "--logical", "DIR/named.json", "--devices-per-slice", "4" }
                                         << 3 << "shardctl: DIR/named.json: these are specs already";
    }
    void refusals()
    {
        QFETCH(QStringList, words);
        QFETCH(int, code);
        QFETCH(QString, error);
        write("bad.yml", "logical_axis_rules:\n- [embed]\n");
        write("bad.json", "{\"w\":\n{\"partition_spec\": 3}}");
        words.replaceInStrings("DIR", m_folder.path());
        const Outcome made = rules(words);
        QCOMPARE(made.code, code);
        QVERIFY(made.out.isEmpty());
        const QString expected = QString(error).replace("DIR", m_folder.path());
        QVERIFY2(made.err.startsWith(expected) && made.err.count(QLatin1Char('\n')) == 1, qPrintable(made.err));
    }

    void warningsGoToStderr()
    {
        const Outcome made = rules({ "show", "ep-as-dp" });
        QCOMPARE(made.code, 0);
        QVERIFY2(made.err.startsWith("warning: ep-as-dp:9 (activation_length_attn): the mesh has no axis 'context'"),
                 qPrintable(made.err));
        QVERIFY(!made.out.contains("warning"));
    }
};

SHARDBOARD_TEST(TestRulesCommand)
#include "tst_rulescommand.moc"

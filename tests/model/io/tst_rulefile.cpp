// SPDX-License-Identifier: Apache-2.0
// YAML with guards, and MaxText's files of mesh and rules.
#include "model/io/maxtext/rulefile.h"
#include "model/io/yaml/yamltext.h"
#include "model/text/text.h"
#include "tests/model/io/checkpointmaker.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTemporaryDir>
#include <QtTest>

#include <random>

using namespace shardboard;
using namespace shardboard::test;

namespace {

QString yamlError(const std::string& text)
{
    const auto value = parseYaml(text, "f.yml");
    return value.ok() ? QStringLiteral("no error") : QString::fromStdString(value.error().text());
}

/// One scalar as YAML gives it.
YamlValue scalar(const std::string& text) { return parseYaml(text, "f").value(); }

bool mentions(const std::vector<std::string>& texts, const std::string& part)
{
    for (const std::string& text : texts)
        if (text.find(part) != std::string::npos)
            return true;
    return false;
}

QByteArray all(const std::vector<std::string>& texts) { return QByteArray::fromStdString(joined(texts, "\n")); }

std::string ruleText(const RuleSetup& setup)
{
    std::vector<std::string> out;
    for (const LogicalRule& rule : setup.rules)
        out.push_back(rule.name + ":" + joined(rule.axes, "+"));
    return joined(out, " ");
}

const char* const kBase = "mesh_axes: [data, fsdp, tensor]\n"
                          "logical_axis_rules: [\n"
                          "  ['mlp', ['tensor', ]],  # trailing comma, comment\n"
                          "  [\"embed\", fsdp],\n"
                          "  [exp, []],\n"
                          "  [norm, null],\n"
                          "  [activation_length, ['context']],\n"
                          "]\n"
                          "data_sharding: [data, fsdp]\n"
                          "context_sharding: context\n"
                          "vocab_size: 150_001\n"
                          "ici_fsdp_parallelism: -1\n"
                          "ici_tensor_parallelism: 2\n";

} // namespace

class TestRuleFile : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;
    std::string write(const char* name, const QByteArray& content)
    {
        const QString path = m_folder->filePath(QString::fromLatin1(name));
        QDir().mkpath(QFileInfo(path).path());
        return writeFile(path, content) ? path.toStdString() : std::string();
    }
    /// The error with the folder taken out.
    QString errorOf(const RuleSources& sources)
    {
        const auto setup = openRules(sources);
        if (setup.ok())
            return QStringLiteral("no error");
        return QString::fromStdString(setup.error().text()).remove(m_folder->path() + QLatin1Char('/'));
    }
    QString customError(const QByteArray& content) { return errorOf({ {}, {}, {}, write("c.yml", content) }); }

private Q_SLOTS:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
    }

    void yaml11Scalars()
    {
        QCOMPARE(scalar("150_001").integer(), std::optional<std::int64_t>(150001));
        QCOMPARE(scalar("-17").integer(), std::optional<std::int64_t>(-17));
        QCOMPARE(scalar("+0x1F").integer(), std::optional<std::int64_t>(31));
        QCOMPARE(scalar("017").integer(), std::optional<std::int64_t>(15));
        QCOMPARE(scalar("0b101").integer(), std::optional<std::int64_t>(5));
        QCOMPARE(scalar("1:30").integer(), std::optional<std::int64_t>(90));
        QCOMPARE(scalar("1.e-05").number(), std::optional<double>(1e-05));
        QCOMPARE(scalar("1.5_0").number(), std::optional<double>(1.5));
        QCOMPARE(scalar("-.5").number(), std::optional<double>(-0.5));
        QCOMPARE(scalar("Yes").boolean(), std::optional<bool>(true));
        QCOMPARE(scalar("off").boolean(), std::optional<bool>(false));
        QVERIFY(!scalar("'150'").integer());
        QVERIFY(!scalar("\"true\"").boolean());
        QVERIFY(!scalar("!!str 5").integer());
        QVERIFY(!scalar("99999999999999999999").integer());
        QVERIFY(!scalar("1:99").integer());
        QVERIFY(!scalar("0x").integer());
        QVERIFY(!scalar("_").number());
        QVERIFY(scalar("fsdp").isText());
        QVERIFY(scalar("~").isNull());
        QVERIFY(scalar("").isNull());
        QVERIFY(scalar("# only a comment\n").isNull());
    }

    void yamlPlaces()
    {
        const auto value = sure(parseYaml("a: 1\nb:\n  - x\n  - [y,\n     z]\n", "f.yml"));
        QCOMPARE(yamlPlace("f.yml", *value.find("a")), std::string("f.yml:1:4"));
        QCOMPARE(yamlPlace("f.yml", value.find("b")->items[1].items[1]), std::string("f.yml:5:6"));
    }

    void aliasesAndMerges()
    {
        const auto value = sure(parseYaml("a: &x [1, 2]\nb: *x\nc: &m {k: 1, l: 2}\nd: {<<: *m, l: 3}\n", "f"));
        QCOMPARE(value.find("b")->items.size(), std::size_t(2));
        const YamlValue& d = *value.find("d");
        QCOMPARE(d.keys, (std::vector<std::string> { "l", "k" }));
        QCOMPARE(d.find("l")->integer(), std::optional<std::int64_t>(3));
        QCOMPARE(d.find("k")->integer(), std::optional<std::int64_t>(1));
    }

    void badYaml_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("error");
        QTest::newRow("open list") << QByteArray("a: [1,\n2\n") << "f.yml:2:1: not valid YAML: end of sequence flow not found";
        dataRow("open quote", QByteArray("a: 'x\n"),
                "f.yml:1:6: not valid YAML: a quote is still open at the end; close it where it began");
        dataRow("open quote over lines", QByteArray("a: \"x\nb: 2\n# c\n\n"),
                "f.yml:3:4: not valid YAML: a quote is still open at the end");
        dataRow("key twice", QByteArray("a: 1\nb: 2\na: 3\n"),
                "f.yml:3:1: the key 'a' appears twice, first on line 1; keep one of them");
        dataRow("cycle in a list", QByteArray("a: &x [1,\n *x]\n"),
                "f.yml:2:2: the alias stands inside its own anchor, which never ends");
        QTest::newRow("cycle in a map") << QByteArray("&x {a: *x}") << "f.yml:1:8: the alias stands inside its own anchor";
        QTest::newRow("no anchor") << QByteArray("a: *y\n") << "f.yml:1:4: not valid YAML: the referenced anchor is not defined";
        QTest::newRow("two documents") << QByteArray("a: 1\n---\nb: 2\n") << "f.yml:3:1: a second document begins here";
        QTest::newRow("a list as key") << QByteArray("[a]: 1\n") << "f.yml:1:1: a key is a list; keys are words";
        dataRow("tag", QByteArray("a: !!python/object:os.system x\n"),
                "f.yml:1:4: the tag tag:yaml.org,2002:python/object:os.system is not understood");
        QTest::newRow("zero byte") << QByteArray("a: 1\nb: \0c\n", 10) << "f.yml:2:4: the byte 0 cannot stand in YAML";
        QTest::newRow("end of text byte") << QByteArray("a: 1\n\x04 b: 2\n") << "f.yml:2:1: the byte 4 cannot stand in YAML";
        QTest::newRow("deep") << QByteArray(40, '[') << "f.yml:1:";
        QTest::newRow("deep blocks") << QByteArray("- ").repeated(40) << "f.yml:1:65: nested deeper than 32 levels";
        QTest::newRow("too large") << QByteArray((1 << 20) + 1, ' ') << "f.yml: is larger than 1048576 bytes";
        QByteArray bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
        for (int i = 1; i < 20; ++i)
            bomb += "a" + QByteArray::number(i) + ": &a" + QByteArray::number(i) + " ["
                + ("*a" + QByteArray::number(i - 1) + ",").repeated(10) + "]\n";
        QTest::newRow("alias bomb") << bomb << "f.yml:5:5: more than 200000 values, aliases written out";
        dataRow("long alias",
                QByteArray("a: &a '" + QByteArray(900000, 'a') + "'\nb: [" + QByteArray("*a,").repeated(1000) + "]\n"), "f.yml:2:");
    }
    void badYaml()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, error);
        const QString found = yamlError(text.toStdString());
        QVERIFY2(found.startsWith(error), qPrintable(found));
    }

    /// Whatever is read: an answer or an error with a place, never a crash, never long.
    void mutatedYaml()
    {
        static const char* const kBits[] = { "[",  "]", "{",     "}",     "&a ",  "*a ", "- ",   ": ", "!", "!!str ",
                                             "\"", "'", "#",     "\n",    "  ",   "?",   "|",    "> ", "%", "@",
                                             "`",  ",", "---\n", "...\n", "<<: ", "\t",  "\xff", "!<", "~", "\r" };
        std::mt19937 random(7);
        const std::string original = std::string(kBase) + "a: &a [1]\nb: {x: *a, 'y': \"z\"}\nc: |\n  text\n";
        int read = 0;
        for (int i = 0; i < 3000; ++i) {
            std::string text = original;
            for (unsigned change = 0; change <= random() % 5; ++change) {
                const std::size_t at = random() % text.size();
                switch (random() % 4) {
                case 0:
                    text.insert(at, kBits[random() % std::size(kBits)]);
                    break;
                case 1:
                    text.erase(at, 1 + random() % 8);
                    break;
                case 2:
                    text[at] = static_cast<char>(random());
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 40));
                    break;
                }
            }
            const auto value = parseYaml(text, "f.yml");
            read += value.ok();
            if (!value.ok())
                QVERIFY2(value.error().where.starts_with("f.yml:"), value.error().text().c_str());
            const auto setup = rulesFromText(text, "f.yml");
            QVERIFY(setup.ok() || setup.error().where.starts_with("f.yml"));
        }
        QVERIFY(read > 100 && read < 2900); // both ways were walked
    }

    void baseFile()
    {
        const std::string path = write("base.yml", kBase);
        const auto setup = sure(openRules({ path, {}, {}, {} }));
        QCOMPARE(ruleText(setup), std::string("mlp:tensor embed:fsdp exp: norm: activation_length:context"));
        QCOMPARE(setup.rules[1].place, path + ":4");
        QCOMPARE(setup.dataSharding, (std::vector<std::string> { "data", "fsdp" }));
        QCOMPARE(setup.name, std::string("base.yml"));
        QCOMPARE(meshOf(setup, 8, 1).value().text(), std::string("data=1,fsdp=4,tensor=2"));
        QCOMPARE(setup.warnings.size(), std::size_t(1)); // the axis context
        QVERIFY2(setup.warnings[0].starts_with(path + ":7 (activation_length): the mesh has no axis 'context'"),
                 all(setup.warnings));
    }

    void basesOnBases()
    {
        write("base.yml", kBase);
        const std::string path = write("more.yml", "base_config: base.yml\nmesh_axes: [fsdp, tensor]\nici_tensor_parallelism: 4\n");
        const auto setup = sure(openRules({ path, {}, {}, {} }));
        QCOMPARE(meshOf(setup, 8, 1).value().text(), std::string("fsdp=2,tensor=4"));
        QCOMPARE(setup.rules.size(), std::size_t(5));
        const std::string circle = write("circle.yml", "base_config: circle.yml\n");
        QCOMPARE(errorOf({ circle, {}, {}, {} }),
                 QStringLiteral("circle.yml:1:14: more than 8 configurations name each other as base_config; check for a circle"));
    }

    void modelAndCommandLineMerge()
    {
        const std::string base = write("base.yml", kBase);
        const std::string model = write("model.yml", "x: 1\nlogical_axis_rules: [['mlp', 'fsdp'], ['new', ['data', 'data']]]\n");
        const auto merged = openRules({ base, model, { "logical_axis_rules=[[exp, tensor]]", "override_model_config=true" }, {} });
        QVERIFY(merged.ok()); // both set it to different values: the command line's are taken
        QCOMPARE(ruleText(merged.value()), std::string("mlp:tensor embed:fsdp norm: activation_length:context exp:tensor"));

        const auto one = openRules({ base, model, {}, {} });
        QCOMPARE(ruleText(one.value()), std::string("embed:fsdp exp: norm: activation_length:context mlp:fsdp new:data+data"));
        QVERIFY2(mentions(one.value().warnings, model + ":2: 'mlp' replaces the rule of " + base + ":3 and moves to the end"),
                 all(one.value().warnings));
        QVERIFY2(mentions(one.value().warnings, model + ":2: the rule 'new' names data twice"), all(one.value().warnings));

        const std::string replacing =
            write("model2.yml", "override_logical_axis_rules: True\nlogical_axis_rules: [['mlp', 'fsdp']]\nmesh_axes: [fsdp]\n");
        const auto replaced = openRules({ base, replacing, {}, {} });
        QCOMPARE(ruleText(replaced.value()), std::string("mlp:fsdp"));
        QCOMPARE(replaced.value().meshAxes, (std::vector<std::string> { "fsdp" }));
    }

    void modelAndCommandLineDisagree()
    {
        const std::string model = write("model.yml", "ici_expert_parallelism: 2\n");
        const auto refused = openRules({ {}, model, { "ici_expert_parallelism=4" }, {} });
        QVERIFY(!refused.ok());
        QCOMPARE(refused.error().text(),
                 "--set ici_expert_parallelism: 'ici_expert_parallelism' differs from that of the model, at " + model
                     + ":1:25; set override_model_config=true to let it win, as MaxText demands");
        const auto setup = openRules({ {}, model, { "ici_expert_parallelism=4", "override_model_config=true" }, {} });
        QCOMPARE(setup.value().options.at("ici_expert_parallelism"), std::int64_t(4));
        const auto same = openRules({ {}, model, { "ici_expert_parallelism=2" }, {} });
        QVERIFY2(same.value().warnings.empty(), all(same.value().warnings));
    }

    void customReplaces()
    {
        const std::string base = write("base.yml", kBase);
        const std::string model = write("model.yml", "logical_axis_rules: [['mlp', 'fsdp']]\n");
        const std::string custom = write("own rules.yml",
                                         "mesh_axes: ['rows', 'cols']\n"
                                         "data_sharding: ['rows']\n"
                                         "context_sharding: expert\n"
                                         "logical_axis_rules:\n"
                                         "- [embed, rows]\n"
                                         "- ['activation_length', ['cols', 'rows']]\n");
        const auto setup =
            openRules({ base, model, { "ici_rows_parallelism=2", "ici_cols_parallelism=-1", "ici_tensor_parallelism=8" }, custom });
        QVERIFY2(setup.ok(), setup.ok() ? "" : setup.error().text().c_str());
        QCOMPARE(setup.value().name, std::string("own rules.yml"));
        QCOMPARE(ruleText(setup.value()), std::string("embed:rows activation_length:cols+rows"));
        QCOMPARE(setup.value().rules[0].place, custom + ":5");
        QCOMPARE(setup.value().contextAxis, std::string("cols"));
        QCOMPARE(meshOf(setup.value(), 8, 1).value().text(), std::string("rows=2,cols=4"));
        const auto& warnings = setup.value().warnings;
        QVERIFY2(mentions(warnings, model + ":1:21: the logical_axis_rules given here are replaced by " + custom), all(warnings));
        QVERIFY2(mentions(warnings, custom + ":3:19: the key 'context_sharding' of a custom mesh-and-rule file is not read"),
                 all(warnings));
        QVERIFY2(mentions(warnings, custom + ":2:16: MaxText takes data_sharding of a custom file as it is"), all(warnings));
        QVERIFY2(mentions(warnings, custom + ":1:12: MaxText knows no mesh axis 'rows'"), all(warnings));
        QVERIFY2(
            mentions(warnings,
                     custom + ":6: MaxText takes only context or expert as the axis of context parallelism, here it is 'cols'"),
            all(warnings));
        QVERIFY2(mentions(warnings, "--set ici_tensor_parallelism: ici_tensor_parallelism=8 is for no axis of the mesh"),
                 all(warnings));
    }

    void customByName()
    {
        const std::string base = write("configs/base.yml", QByteArray(kBase) + "custom_mesh_and_rule: mine\n");
        QVERIFY(errorOf({ base, {}, {}, {} })
                    .startsWith(QStringLiteral("configs/base.yml:14:23: there is no custom mesh-and-rule file 'mine' at ")));
        write("configs/custom_mesh_and_rule/mine.yml", "mesh_axes: [fsdp]\n");
        const auto setup = openRules({ base, {}, {}, {} });
        QCOMPARE(setup.value().meshAxes, (std::vector<std::string> { "fsdp" }));
        QCOMPARE(setup.value().rules.size(), std::size_t(5)); // only what the file says is replaced
        const auto builtIn = openRules({ base, {}, { "custom_mesh_and_rule=ep-as-cp" }, {} });
        QCOMPARE(builtIn.value().name, std::string("ep-as-cp"));
        QCOMPARE(builtIn.value().contextAxis, std::string("expert"));
        QCOMPARE(openRules({ {}, {}, { "custom_mesh_and_rule=pure-fsdp" }, {} }).value().rules.size(), std::size_t(14));
        QCOMPARE(errorOf({ {}, {}, { "custom_mesh_and_rule=2d-fsdp" }, {} }).left(80),
                 QStringLiteral("--set custom_mesh_and_rule: there is no custom mesh-and-rule file '2d-fsdp'; bui"));
        QVERIFY(errorOf({ {}, {}, {}, "no-such" })
                    .startsWith(QStringLiteral("--rules: there is no rule set 'no-such'; built in are default, ")));
    }

    void expertRankOne()
    {
        const auto refused = openRules({ {}, {}, { "use_ring_of_experts=true", "ragged_buffer_factor=-1.0" }, {} });
        QVERIFY2(mentions(refused.value().warnings,
                          "--set use_ring_of_experts: MaxText refuses use_ring_of_experts true while experts are not spread"),
                 all(refused.value().warnings));
        QCOMPARE(refused.value().warnings.size(), std::size_t(1));
        for (const char* spread : { "ici_expert_parallelism=4", "dcn_expert_parallelism=-1", "override_logical_axis_rules=true" }) {
            const auto fine = openRules({ {}, {}, { "use_ring_of_experts=true", spread }, {} });
            QVERIFY2(fine.value().warnings.empty(), all(fine.value().warnings));
        }
    }

    void settingsAreChecked_data()
    {
        QTest::addColumn<QString>("setting");
        QTest::addColumn<QString>("error");
        dataRow("no value", "ici_fsdp_parallelism", "--set: 'ici_fsdp_parallelism' sets nothing; write it as key=value");
        dataRow("no number", "ici_fsdp_parallelism=x",
                "--set ici_fsdp_parallelism: 'x' is not a size of a mesh axis; use a whole number of at least 1, or -1 to fill");
        dataRow("zero", "ici_fsdp_parallelism=0",
                "--set ici_fsdp_parallelism: the number 0 is not a size of a mesh axis; use a whole number of at "
                "least 1, or -1 to fill");
        dataRow("fraction", "ici_fsdp_parallelism=1.5",
                "--set ici_fsdp_parallelism: the number 1.5 is not a size of a mesh axis; use a whole number "
                "of at least 1, or -1 to fill");
        dataRow("rules", "logical_axis_rules=[[a]]",
                "--set logical_axis_rules: a rule is a pair of a logical name and mesh axes, this list has 1 "
                "entry; write a rule as ['embed', ['fsdp', 'tensor']]");
    }
    void settingsAreChecked()
    {
        QFETCH(QString, setting);
        QFETCH(QString, error);
        QCOMPARE(errorOf({ {}, {}, { setting.toStdString() }, {} }), error);
    }

    void unknownSettingsAreTold()
    {
        const auto setup = openRules({ {}, {}, { "steps=10", "use_2d_fsdp_sharding=true" }, {} });
        QVERIFY2(mentions(setup.value().warnings, "--set steps: nothing here reads this key"), all(setup.value().warnings));
        QVERIFY2(mentions(setup.value().warnings, "--set use_2d_fsdp_sharding: use_2d_fsdp_sharding changes the logical names"),
                 all(setup.value().warnings));
        QVERIFY(errorOf({ {}, {}, { "ici_fsdp_parallelism=2", "ici_fsdp_parallelism=4" }, {} })
                    .startsWith(QStringLiteral("--set ici_fsdp_parallelism: the key is set twice")));
    }

    void badFiles_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("error");
        const QString pair = QStringLiteral("; write a rule as ['embed', ['fsdp', 'tensor']]");
        dataRow("empty", QByteArray(), "c.yml:1:1: the file holds nothing; write mesh_axes and logical_axis_rules into it");
        dataRow("comment only", QByteArray("# nothing\n"),
                "c.yml:1:1: the file holds nothing; write mesh_axes and logical_axis_rules into it");
        dataRow("a list", QByteArray("- a\n"),
                "c.yml:1:1: a list stands where keys are expected; write mesh_axes: [...] and logical_axis_rules: [...]");
        dataRow("other keys", QByteArray("a: 1\n"),
                "c.yml:1:1: none of mesh_axes, logical_axis_rules and data_sharding is here; check that this is the right file");
        dataRow("no pair", QByteArray("logical_axis_rules:\n- [embed, fsdp]\n- [mlp]\n"),
                "c.yml:3:3: a rule is a pair of a logical name and mesh axes, this list has 1 entry" + pair);
        dataRow("three", QByteArray("logical_axis_rules:\n- [embed, fsdp, tensor]\n"),
                "c.yml:2:3: a rule is a pair of a logical name and mesh axes, this list has 3 entries" + pair);
        dataRow("a word", QByteArray("logical_axis_rules: [embed, fsdp]\n"),
                "c.yml:1:22: a rule is a pair of a logical name and mesh axes, this is 'embed'" + pair);
        dataRow("a map", QByteArray("logical_axis_rules:\n  - embed: fsdp\n"),
                "c.yml:2:5: a rule is a pair of a logical name and mesh axes, this is a map" + pair);
        dataRow("rules are a word", QByteArray("logical_axis_rules: yes\n"),
                "c.yml:1:21: true stands where a list of rules is expected" + pair);
        dataRow("list in a list", QByteArray("logical_axis_rules:\n- [embed, [fsdp, [tensor]]]\n"),
                "c.yml:2:18: a list stands where a mesh axis is expected; a list of names cannot hold another list");
        dataRow("axes are a number", QByteArray("logical_axis_rules:\n- [embed, 4]\n"),
                "c.yml:2:11: the number 4 stands where a mesh axis is expected; use a name, in "
                "quotes if it looks like a number or a truth value");
        dataRow("axes are a map", QByteArray("logical_axis_rules:\n- [embed, {fsdp: 2}]\n"),
                "c.yml:2:11: a map stands where a mesh axis is expected; use a name, in quotes if it "
                "looks like a number or a truth value");
        dataRow("null among axes", QByteArray("logical_axis_rules:\n- [embed, [fsdp, ~]]\n"),
                "c.yml:2:18: nothing stands where a mesh axis is expected; use a name, in quotes if it "
                "looks like a number or a truth value");
        dataRow("name is null", QByteArray("logical_axis_rules:\n- [null, fsdp]\n"),
                "c.yml:2:4: nothing stands where a logical name is expected; use a name, in quotes if it "
                "looks like a number or a truth value");
        dataRow("mesh is a word", QByteArray("mesh_axes: fsdp\n"),
                "c.yml:1:12: 'fsdp' stands where a list of names is expected; write it as [data, fsdp]");
        dataRow("axis twice", QByteArray("mesh_axes: [fsdp, data,\n  fsdp]\n"),
                "c.yml:2:3: mesh axis 'fsdp' appears twice; name each once");
        dataRow("two data lists", QByteArray("data_sharding: [[a], [b]]\n"),
                "c.yml:1:22: data_sharding holds more than one list; write it as [[data, fsdp]]");
        dataRow("cycle", QByteArray("logical_axis_rules: &r\n- [embed, *r]\n"),
                "c.yml:2:11: the alias stands inside its own anchor, which never ends; write the values out");
    }
    void badFiles()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, error);
        QCOMPARE(customError(text), error);
    }

    void missingFiles()
    {
        QCOMPARE(errorOf({ m_folder->filePath(QStringLiteral("none.yml")).toStdString(), {}, {}, {} }),
                 QStringLiteral("none.yml: cannot be opened: No such file or directory; check the path and its permissions"));
        QCOMPARE(errorOf({ m_folder->path().toStdString() + "/", {}, {}, {} }).mid(0, 200).section(QLatin1Char(':'), 1),
                 QStringLiteral(" is a folder, not a file; name a file in it"));
        const std::string noBase = write("model.yml", "mesh_axes: [fsdp]\n");
        QCOMPARE(errorOf({ noBase, {}, {}, {} }),
                 QStringLiteral("model.yml: the key 'logical_axis_rules' is missing, so this is no base configuration; "
                                "give it as model rules or as a custom mesh-and-rule file instead"));
    }

    void textInAnEditor()
    {
        const auto setup = sure(rulesFromText("mesh_axes: [fsdp]\nlogical_axis_rules: [[embed, fsdp]]\n", "edited"));
        QCOMPARE(setup.rules[0].place, std::string("edited:2"));
        QCOMPARE(rulesFromText("x: [", "edited").error().where, std::string("edited:1:1"));
    }
};

SHARDBOARD_TEST(TestRuleFile)
#include "tst_rulefile.moc"

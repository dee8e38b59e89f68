// SPDX-License-Identifier: Apache-2.0
// MaxText's dumps: texts, files, and the real dumps of real models recomputed from names, rules and options.
#include "model/io/file/textfile.h"
#include "model/io/maxtext/maxtextdump.h"
#include "model/io/maxtext/maxtextresolve.h"
#include "model/io/maxtext/rulefile.h"
#include "model/text/text.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QDir>
#include <QDirIterator>
#include <QtTest>

#include <algorithm>
#include <map>
#include <random>

using namespace shardboard;

namespace {

QString shared(const char* path)
{
    const QString root = qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"));
    return root + QStringLiteral("/data/maxtext/") + QString::fromLatin1(path);
}

const char* const kNamed = "{\n"
                           "  \".step\": {\n"
                           "    \"mesh\": {\n"
                           "      \"axis_names\": [\n"
                           "        \"data\",\n"
                           "        \"fsdp\"\n"
                           "      ],\n"
                           "      \"shape\": {\n"
                           "        \"data\": 2,\n"
                           "        \"fsdp\": 4\n"
                           "      }\n"
                           "    },\n"
                           "    \"partition_spec\": [],\n"
                           "    \"shape\": []\n"
                           "  },\n"
                           "  \".params/['w']\": {\n"
                           "    \"mesh\": {\n"
                           "      \"axis_names\": [\n"
                           "        \"data\",\n"
                           "        \"fsdp\"\n"
                           "      ],\n"
                           "      \"shape\": {\n"
                           "        \"data\": 2,\n"
                           "        \"fsdp\": 4\n"
                           "      }\n"
                           "    },\n"
                           "    \"partition_spec\": [\n"
                           "      [\n"
                           "        \"fsdp\",\n"
                           "        \"data\"\n"
                           "      ],\n"
                           "      null\n"
                           "    ],\n"
                           "    \"shape\": [\n"
                           "      16,\n"
                           "      3\n"
                           "    ]\n"
                           "  }\n"
                           "}";

const char* const kActivations = "{\n"
                                 "  \"Activation Sharding Dump\": [\n"
                                 "    {\n"
                                 "      \"a/x: bfloat16[8,3]\": {\n"
                                 "        \"logic_axes\": \"('batch', None)\",\n"
                                 "        \"PartitionSpec\": \"P(('data', 'fsdp'), None)\"\n"
                                 "      }\n"
                                 "    },\n"
                                 "    {\n"
                                 "      \"a/y: float32[8]\": {\n"
                                 "        \"logic_axes\": \"Unknown\",\n"
                                 "        \"PartitionSpec\": \"P('fsdp',)\"\n"
                                 "      }\n"
                                 "    }\n"
                                 "  ]\n"
                                 "}";

/// One entry of a dump of specs in one line, with its parts exchangeable.
QByteArray named(const char* mesh, const char* spec, const char* rest = "")
{
    return QByteArray("{\"w\":\n{\"mesh\":") + mesh + ",\n\"partition_spec\":" + spec + rest + "}\n}";
}
const char* const kMesh = "{\"axis_names\":[\"data\",\"fsdp\"],\"shape\":{\"data\":2,\"fsdp\":4}}";

/// Every folder of dumps below a path that has both weight files.
QStringList dumpFolders(const QString& root)
{
    QStringList out;
    QDirIterator files(root, { QStringLiteral("logical_shardings.json") }, QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext())
        out.append(QFileInfo(files.next()).path());
    out.sort();
    return out;
}

RuleSources sourcesOf(const QString& rules, const DumpFolder& folder)
{
    const std::string root = rules.toStdString();
    RuleSources out;
    out.base = root + "/base.yml";
    out.model = root + "/models/" + folder.model + ".yml";
    if (folder.rule != "default")
        out.custom = root + "/custom_mesh_and_rule/" + folder.rule + ".yml";
    for (const auto& [key, value] : folder.options)
        out.settings.push_back(key + "=" + value);
    return out;
}

Result<Mesh> meshOfFolder(const RuleSetup& setup, const DumpFolder& folder)
{
    const auto devices = devicesPerSlice(folder.topology, "folder");
    return devices.ok() ? meshOf(setup, devices.value(), folder.slices) : Result<Mesh>(devices.error());
}

/// How many entries differ, or -1 when the lists are not of the same entries.
int differences(const std::vector<NamedEntry>& a, const std::vector<NamedEntry>& b)
{
    if (a.size() != b.size())
        return -1;
    int out = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        out += !(a[i] == b[i]);
    return out;
}

} // namespace

class TestMaxText : public QObject {
    Q_OBJECT

    bool sharedIsThere() const { return QFileInfo::exists(shared("rules/base.yml")); }

private Q_SLOTS:
    void pythonTexts_data()
    {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("shown"); // dims by |, axes by +
        dataRow("scalar", "P()", "");
        dataRow("one", "P('fsdp',)", "fsdp");
        dataRow("none", "P(None,)", "-");
        dataRow("two", "P('fsdp', None)", "fsdp|-");
        dataRow("several axes", "P(('fsdp', 'expert'), None)", "fsdp+expert|-");
        dataRow("one dim of several", "P(('fsdp', 'expert'),)", "fsdp+expert");
        dataRow("quote inside", "P(\"it's\", 'x')", "it's|x");
    }
    void pythonTexts()
    {
        QFETCH(QString, spec);
        QFETCH(QString, shown);
        const auto read = sure(specFromPython(spec.toStdString(), "f"));
        std::vector<std::string> dims;
        for (const auto& axes : read)
            dims.push_back(axes.empty() ? "-" : joined(axes, "+"));
        QCOMPARE(QString::fromStdString(joined(dims, "|")), shown);
        QCOMPARE(QString::fromStdString(pythonSpecText(read)), spec);
    }

    void pythonNames()
    {
        QCOMPARE(namesFromPython("('a', None, 'b')", "f").value(), (std::vector<std::string> { "a", "", "b" }));
        QCOMPARE(pythonNamesText({ "a", "" }), std::string("('a', None)"));
        QCOMPARE(pythonNamesText({ "a" }), std::string("('a',)"));
        QCOMPARE(pythonNamesText({}), std::string("()"));
        QCOMPARE(specFromPython("PartitionSpec('x', None)", "f").value().size(), std::size_t(2));
        for (const char* wrong : { "", "P", "P(", "P('a'", "P('a' 'b')", "P(a)", "P('a')x", "P(('a', ('b',)),)", "P((None,),)",
                                   "P('')", "Q('a')", "('a',)", "P(NoneNone)" })
            QVERIFY2(!specFromPython(wrong, "f").ok(), wrong);
        QVERIFY(!namesFromPython("(('a', 'b'), None)", "f").ok());
        QCOMPARE(QString::fromStdString(specFromPython("P('a' 'b')", "f").error().text()),
                 QStringLiteral("f: '('a' 'b')' is not a tuple as Python writes it: a ',' or a ')' is expected at character 6; "
                                "write it like ('embed', None)"));
    }

    void activationShapes()
    {
        QCOMPARE(activationShape("a/q: bfloat16[192,2048,16]"), std::optional<std::vector<std::int64_t>>({ 192, 2048, 16 }));
        QCOMPARE(activationShape("a/q: float32[]"), std::optional<std::vector<std::int64_t>>(std::vector<std::int64_t> {}));
        QVERIFY(!activationShape("a/q"));
        QVERIFY(!activationShape("a/q: f32[x]"));
    }

    void folderNames()
    {
        const auto rules = rulePresetNames();
        const auto read = sure(readDumpFolderName("/x/sharding_info/deepseek2-16b/v6e-16/slice_4/"
                                                  "rule_pipeline-large-moe_ici_fsdp_parallelism=-1_use_ring_of_experts=true",
                                                  rules));
        const DumpFolder expected { "deepseek2-16b",
                                    "v6e-16",
                                    4,
                                    "pipeline-large-moe",
                                    { { "ici_fsdp_parallelism", "-1" }, { "use_ring_of_experts", "true" } } };
        QCOMPARE(read, expected);
        QCOMPARE(
            dumpFolderName(expected),
            std::string("deepseek2-16b/v6e-16/slice_4/rule_pipeline-large-moe_ici_fsdp_parallelism=-1_use_ring_of_experts=true"));
        QCOMPARE(readDumpFolderName("m/tpu7x-16/slice_1/", rules).value(), (DumpFolder { "m", "tpu7x-16", 1, "default", {} }));
        QCOMPARE(readDumpFolderName("m/t/slice_1/rule_my-own_a=b", rules).value().rule, std::string("my-own"));
        QCOMPARE(readDumpFolderName("m/t/slice_1/rule_two_words_a=b", { "two_words" }).value().rule, std::string("two_words"));
        for (const char* wrong : { "", "m/t", "m/t/slice_x/rule_default", "m/t/slice_0", "m/t/slice_1/rule_default_x" })
            QVERIFY2(!readDumpFolderName(wrong, rules).ok(), wrong);
    }

    void writesWhatItReads()
    {
        const auto weights = sure(dumpFromText(kNamed, "f"));
        const auto& dump = std::get<NamedDump>(weights);
        QCOMPARE(dump.mesh.text(), std::string("data=2,fsdp=4"));
        QCOMPARE(dump.entries[1].spec, (DumpSpec { { "fsdp", "data" }, {} }));
        QCOMPARE(dumpText(dump), std::string(kNamed));
        QCOMPARE(localShape({ 16, 3 }, dump.entries[1].spec, dump.mesh), (std::vector<std::int64_t> { 2, 3 }));
        QCOMPARE(replicationOf(dump.entries[0].spec, dump.mesh), std::int64_t(8));

        const auto activations = sure(dumpFromText(kActivations, "f"));
        QVERIFY(!std::get<ActivationDump>(activations).entries[1].names);
        QCOMPARE(dumpText(std::get<ActivationDump>(activations)), std::string(kActivations));
    }

    void oldFormsAndOthersKeys()
    {
        const auto old = sure(dumpFromText(named(kMesh, "[\"fsdp\"]").toStdString(), "f"));
        QVERIFY(!std::get<NamedDump>(old).entries[0].shape);
        QVERIFY(dumpText(std::get<NamedDump>(old)).find("\"shape\": [") == std::string::npos);
        const auto more = dumpFromText(named(kMesh, "[\"fsdp\"]", ",\"note\":{\"mesh\":[{}]},\"shape\":[8]").toStdString(), "f");
        QVERIFY2(more.ok(), more.ok() ? "" : more.error().text().c_str());
    }

    void badDumps_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("error");
        QTest::newRow("not json") << QByteArray("{\n") << "f:2:0: not valid JSON";
        QTest::newRow("list") << QByteArray("[]") << "f:1:1: an object of entries is expected, this is a list";
        QTest::newRow("nothing") << QByteArray("{}") << "f: the dump has no entry";
        QTest::newRow("no spec") << QByteArray("{\"w\":\n{\"shape\":[]}}") << "f:2:12: the partition_spec of w is missing";
        dataRow("unknown axis", named(kMesh, "[\"tensor\"]"),
                "f:3:26: the spec of w names 'tensor', which the mesh lacks; its axes are data=2,fsdp=4");
        dataRow("axis twice", named(kMesh, "[\"fsdp\",[\"data\",\"fsdp\"]]"), "f:3:42: the spec of w uses mesh axis 'fsdp' twice");
        dataRow("spec too long", named(kMesh, "[null,null]", ",\n\"shape\":[4]"),
                "f:4:12: the spec of w has 2 entries for a shape of 1 dims");
        dataRow("indivisible", named(kMesh, "[\"fsdp\"]", ",\n\"shape\":[6]"),
                "f:4:12: dim 0 of w has size 6, which its 4 parts do not divide; check the mesh data=2,fsdp=4");
        dataRow("size missing", named("{\"axis_names\":[\"a\"],\"shape\":{}}", "[]"), "f:2:39: mesh axis 'a' of w has no size");
        dataRow("name missing", named("{\"axis_names\":[],\"shape\":{\"a\":2}}", "[]"),
                "f:2:41: mesh.shape of w has a size for 'a', which axis_names lacks");
        dataRow("size zero", named("{\"axis_names\":[\"a\"],\"shape\":{\"a\":0}}", "[]"),
                "f:2:43: 0 stands where the size of mesh axis 'a', at least 1, is expected of w");
        dataRow("size text", named("{\"axis_names\":[\"a\"],\"shape\":{\"a\":\"2\"}}", "[]"),
                "f:2:44: a text stands where the size of mesh axis 'a'");
        dataRow("axis twice in mesh", named("{\"axis_names\":[\"a\",\"a\"],\"shape\":{\"a\":2}}", "[]"),
                "f:2:48: mesh axis 'a' appears twice");
        dataRow("too many devices", named("{\"axis_names\":[\"a\"],\"shape\":{\"a\":99999999}}", "[]"),
                "f:2:51: the mesh has more than 1048576 devices");
        QTest::newRow("mesh is null") << named("null", "[]") << "f:2:12: null stands where the value of mesh is expected of w";
        dataRow("spec is text", named(kMesh, "\"fsdp\""),
                "f:3:23: a text stands where the value of partition_spec is expected of w");
        dataRow("spec holds a number", named(kMesh, "[4]"),
                "f:3:20: a number stands where a name, a list of names or null is expected of w");
        dataRow("spec nests", named(kMesh, "[[[\"fsdp\"]]]"),
                "f:3:20: a list stands where the name of a mesh axis is expected of w");
        dataRow("shape negative", named(kMesh, "[]", ",\"shape\":[-1]"),
                "f:3:32: -1 stands where a size of the shape is expected of w");
        const QByteArray two = named(kMesh, "[]")
                                   .replace("}\n}",
                                            "},\n\"v\":{\"mesh\":{\"axis_names\":[\"data\",\"fsdp\"],\"shape\":{\"data\":4,"
                                            "\"fsdp\":2}},\"partition_spec\":[]}}");
        dataRow("meshes differ", two,
                "f:4:70: the mesh of v, data=4,fsdp=2, differs from that of the entries before, data=2,fsdp=4");
        dataRow("kinds mixed", named(kMesh, "[]").replace("}\n}", "},\n\"v\":{\"partition_spec\":[]}}"),
                "f:4:25: the entry v has no mesh, unlike those before");
        dataRow("entry twice", QByteArray("{\"w\":{\"partition_spec\":[]},\n\"w\":{}}"), "f:2:3: the entry w appears twice");
        dataRow("logical with lists", QByteArray("{\"w\":{\"partition_spec\":[[\"a\",\"b\"]]}}"),
                "f:1:35: the partition_spec of w holds a list where a logical name is expected");
        dataRow("activation without spec", QByteArray("{\"Activation Sharding Dump\":[{\"x\":\n{\"logic_axes\":\"Unknown\"}}]}"),
                "f:2:24: PartitionSpec of x is missing");
        dataRow("activation spec",
                QByteArray("{\"Activation Sharding Dump\":[{\"x\":\n{\"logic_axes\":\"Unknown\",\"PartitionSpec\":\"P(a)\"}}]}"),
                "f:2:47: '(a)' is not a tuple as Python writes it");
        dataRow("activations are an object", QByteArray("{\"Activation Sharding Dump\":{}}"),
                "f:1:29: an object stands where a list of activations is expected");
        dataRow("activation is empty", QByteArray("{\"Activation Sharding Dump\":[{}]}"),
                "f:1:31: an activation is an object with one key, this one has 0");
    }
    void badDumps()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, error);
        const auto dump = dumpFromText(text.toStdString(), "f");
        QVERIFY(!dump.ok());
        const QString found = QString::fromStdString(dump.error().text());
        QVERIFY2(found.startsWith(error), qPrintable(found));
    }

    void indivisibleDumpsCanBeAllowed()
    {
        QVERIFY(dumpFromText(named(kMesh, "[\"fsdp\"]", ",\"shape\":[6]").toStdString(), "f", DumpCheck::AllowIndivisible).ok());
        QVERIFY(!dumpFromText(named(kMesh, "[\"x\"]", ",\"shape\":[6]").toStdString(), "f", DumpCheck::AllowIndivisible).ok());
    }

    void mutatedDumps()
    {
        std::mt19937 random(11);
        int read = 0;
        for (int i = 0; i < 4000; ++i) {
            std::string text = i % 2 ? kNamed : kActivations;
            for (unsigned change = 0; change <= random() % 3; ++change) {
                const std::size_t at = random() % text.size();
                switch (random() % 4) {
                case 0:
                    text.insert(at, std::string(1, "[]{},:\"n1-"[random() % 10]));
                    break;
                case 1:
                    text.erase(at, 1 + random() % 8);
                    break;
                case 2:
                    text[at] = static_cast<char>(random());
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 60));
                    break;
                }
            }
            const auto dump = dumpFromText(text, "f");
            read += dump.ok();
            if (dump.ok())
                std::visit([](const auto& d) { QVERIFY(!dumpText(d).empty()); }, dump.value());
            else
                QVERIFY2(dump.error().where.starts_with("f"), dump.error().text().c_str());
        }
        QVERIFY(read > 50 && read < 3900);
    }

    void resolvesWeights()
    {
        RuleSetup setup;
        setup.name = "mine";
        setup.meshAxes = { "data", "fsdp", "expert" };
        setup.rules = { { "mlp", { "expert" }, "r:1" },
                        { "embed", { "fsdp", "expert" }, "r:2" },
                        { "embed", { "fsdp" }, "r:3" },
                        { "bad", { "fsdp", "fsdp" }, "r:4" } };
        const Mesh mesh = Mesh::parse("data=2,fsdp=4,expert=1").value();
        std::vector<std::string> warnings;
        LogicalDump logical { { { ".step", {}, std::vector<std::int64_t> {} },
                                { ".params/w", { "embed", "mlp" }, std::vector<std::int64_t> { 6, 8 } },
                                { ".opt_state/mu/w", { "embed", "mlp" }, std::vector<std::int64_t> { 6, 8 } },
                                { ".params/v", { "", "embed" }, std::nullopt } } };
        const auto out = sure(resolveWeights(logical, setup, mesh, warnings));
        QCOMPARE(out.entries[0].spec, DumpSpec {});
        QCOMPARE(out.entries[1].spec, (DumpSpec { { "fsdp" }, { "expert" } }));
        QCOMPARE(out.entries[2].spec, out.entries[1].spec);
        QCOMPARE(out.entries[3].spec, (DumpSpec { {}, { "fsdp", "expert" } }));
        QCOMPARE(warnings.size(), std::size_t(1));
        RuleSetup unknown = setup;
        unknown.rules[0].axes = { "tensor" };
        QCOMPARE(resolveWeights(logical, unknown, mesh, warnings).error().text(),
                 std::string("r:1: the rule 'mlp' cuts dim 1 of .params/w over 'tensor', which the mesh lacks; its axes are "
                             "data=2,fsdp=4,expert=1"));
        QCOMPARE(warnings[0],
                 std::string(".params/w: dim 0 (embed) of size 6 is not divided by the 4 parts of fsdp by the rule 'embed' (r:3); "
                             "JAX refuses that for a weight"));

        const LogicalDump twice { { { ".params/w", { "bad" }, std::nullopt } } };
        QCOMPARE(resolveWeights(twice, setup, mesh, warnings).error().text(),
                 std::string(".params/w: the rule 'bad' (r:4) cuts dim 0 over fsdp twice; name each mesh axis once in a rule"));

        setup.optimizerOverData = true; // ZeRO-1: 6/4 is not whole, so dim 0 stays and dim 1 takes data
        logical.entries[1].shape = logical.entries[2].shape = std::vector<std::int64_t> { 4, 8 };
        const auto zero = resolveWeights(logical, setup, mesh, warnings);
        QCOMPARE(zero.value().entries[1].spec, (DumpSpec { { "fsdp" }, { "expert" } }));
        QCOMPARE(zero.value().entries[2].spec, (DumpSpec { { "fsdp" }, { "data", "expert" } }));
    }

    void resolvesInput()
    {
        const auto setup = rulePreset("ep-as-cp", "w");
        RuleSetup experts = setup.value();
        experts.options["ici_expert_parallelism"] = 2;
        QCOMPARE(resolveInput(experts, meshOf(experts, 8, 2).value()).value(), (DumpSpec { { "data", "fsdp" }, { "expert" } }));
    }

    // From here on: the real files.

    void presetsAreTheFiles()
    {
        if (!sharedIsThere())
            QSKIP("no shared data; set SHARDBOARD_SHARED to its folder");
        for (const std::string& name : rulePresetNames()) {
            const QString folder = shared("rules/");
            RuleSources sources;
            sources.base = folder.toStdString() + "base.yml";
            if (name != "default")
                sources.custom = folder.toStdString() + "custom_mesh_and_rule/" + name + ".yml";
            const auto file = openRules(sources);
            const auto preset = rulePreset(name, "w");
            QVERIFY2(file.ok(), file.ok() ? "" : file.error().text().c_str());
            QCOMPARE(preset.value().meshAxes, file.value().meshAxes);
            QCOMPARE(preset.value().dataSharding, file.value().dataSharding);
            QCOMPARE(preset.value().inputNames, file.value().inputNames);
            QCOMPARE(preset.value().contextAxis, file.value().contextAxis);
            QVERIFY2(preset.value().rules == file.value().rules, name.c_str());
        }
    }

    void goldens_data()
    {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("rules");
        if (!sharedIsThere())
            QSKIP("no shared data; set SHARDBOARD_SHARED to its folder");
        const QStringList folders = dumpFolders(shared(""));
        for (const QString& folder : folders)
            dataRow(qPrintable(folder.section(QStringLiteral("maxtext/"), -1)), folder,
                    folder.left(folder.indexOf(QStringLiteral("sharding_info"))) + QStringLiteral("rules"));
        QVERIFY(folders.size() >= 19);
    }
    /// Both weight files and the activations, byte for byte.
    void goldens()
    {
        QFETCH(QString, folder);
        QFETCH(QString, rules);
        const auto name = sure(readDumpFolderName(folder.toStdString(), rulePresetNames()));
        const auto setup = sure(openRules(sourcesOf(rules, name)));
        const auto mesh = sure(meshOfFolder(setup, name));

        const std::string path = folder.toStdString() + "/";
        const auto logical = readLogicalDump(path + "logical_shardings.json");
        const auto golden = readNamedDump(path + "named_shardings.json");
        QVERIFY2(logical.ok(), logical.ok() ? "" : logical.error().text().c_str());
        QVERIFY2(golden.ok(), golden.ok() ? "" : golden.error().text().c_str());
        QVERIFY(golden.value().entries.size() >= 42);
        std::vector<std::string> warnings;
        const auto made = sure(resolveWeights(logical.value(), setup, mesh, warnings));
        QVERIFY(warnings.empty());
        QCOMPARE(made.mesh, golden.value().mesh);
        QCOMPARE(differences(made.entries, golden.value().entries), 0);
        QCOMPARE(dumpText(made), readTextFile(path + "named_shardings.json").value());
        QCOMPARE(dumpText(logical.value()), readTextFile(path + "logical_shardings.json").value());

        const auto activations = sure(readActivationDump(path + "input_shardings.json"));
        ActivationDump blank = activations;
        for (ActivationEntry& entry : blank.entries)
            if (entry.names)
                entry.spec.clear(); // so that nothing can be right by being copied
        const auto resolved = sure(resolveActivations(blank, setup, mesh));
        QCOMPARE(dumpText(resolved), readTextFile(path + "input_shardings.json").value());
    }

    /// Wrong ways to resolve must not pass on the real dumps of today.
    void goldensTellWrongRules()
    {
        if (!sharedIsThere())
            QSKIP("no shared data; set SHARDBOARD_SHARED to its folder");
        int onlyLast = 0;
        int reversed = 0;
        for (const QString& folder : dumpFolders(shared("sharding_info"))) {
            const auto name = readDumpFolderName(folder.toStdString(), rulePresetNames());
            auto setup = openRules(sourcesOf(shared("rules"), name.value()));
            const auto mesh = meshOfFolder(setup.value(), name.value());
            const auto logical = readLogicalDump(folder.toStdString() + "/logical_shardings.json");
            const auto golden = readNamedDump(folder.toStdString() + "/named_shardings.json");
            const auto differ = [&] {
                std::vector<std::string> warnings;
                return differences(resolveWeights(logical.value(), setup.value(), mesh.value(), warnings).value().entries,
                                   golden.value().entries);
            };
            QCOMPARE(differ(), 0);
            const auto rules = setup.value().rules;
            std::map<std::string, LogicalRule> last; // as NNX once did
            for (const LogicalRule& rule : rules)
                last[rule.name] = rule;
            std::erase_if(setup.value().rules, [&](const LogicalRule& rule) { return !(last[rule.name] == rule); });
            onlyLast += differ();
            setup.value().rules.assign(rules.rbegin(), rules.rend());
            reversed += differ();
        }
        QVERIFY(onlyLast > 0);
        QVERIFY(reversed > 0);
    }

    /// The oldest form has no shapes and no names: those of the same weights in another model's dump are borrowed. Its norm
    /// entries were made with a rule that had been changed months before.
    void oldestDumps_data()
    {
        QTest::addColumn<QString>("folder");
        if (!sharedIsThere())
            QSKIP("no shared data; set SHARDBOARD_SHARED to its folder");
        for (const char* folder : { "llama3.1-405b/v5p-256/slice_4", "llama3.1-70b/v5e-16/slice_8192" })
            QTest::newRow(folder) << shared("history/5d66b494f7/sharding_info/") + QString::fromLatin1(folder);
    }
    void oldestDumps()
    {
        QFETCH(QString, folder);
        const auto golden = sure(readNamedDump(folder.toStdString() + "/named_shardings.json"));
        QCOMPARE(golden.entries.size(), std::size_t(39));
        QCOMPARE(dumpText(golden), readTextFile(folder.toStdString() + "/named_shardings.json").value());

        std::map<std::string, std::vector<std::string>> names;
        const auto weightOf = [](const std::string& name) {
            const auto at = name.find("['params']");
            return at == std::string::npos ? std::string() : name.substr(at);
        };
        for (const char* model : { "gpt-oss-20b", "qwen3-0.6b" }) {
            const auto lent = readLogicalDump(shared("history/87335ad942/sharding_info/").toStdString() + model
                                              + "/tpu7x-16/slice_1/logical_shardings.json");
            for (const LogicalEntry& entry : lent.value().entries)
                names[weightOf(entry.name)] = entry.names;
        }
        LogicalDump logical;
        for (const NamedEntry& entry : golden.entries) {
            QVERIFY2(names.contains(weightOf(entry.name)), entry.name.c_str());
            logical.entries.push_back({ entry.name,
                                        weightOf(entry.name).empty() ? std::vector<std::string> {} : names[weightOf(entry.name)],
                                        std::nullopt });
        }
        const auto folderName = readDumpFolderName(folder.toStdString(), rulePresetNames());
        std::vector<std::string> axes;
        for (const MeshAxis& axis : golden.mesh.axes())
            axes.push_back(axis.name);
        RuleSources sources;
        sources.base = shared("history/87335ad942/rules/base.yml").toStdString();
        sources.settings = { "mesh_axes=[" + joined(axes) + "]" };
        const auto made = [&] {
            const auto setup = openRules(sources);
            std::vector<std::string> warnings;
            return resolveWeights(logical, setup.value(), meshOfFolder(setup.value(), folderName.value()).value(), warnings)
                .value();
        };
        QCOMPARE(made().mesh, golden.mesh);
        QCOMPARE(differences(made().entries, golden.entries), 9); // all of them end in ['scale']
        sources.settings.push_back("logical_axis_rules=[[norm, [tensor, tensor_transpose, tensor_sequence]]]");
        QCOMPARE(differences(made().entries, golden.entries), 0);
    }

    /// Worked examples: local shapes of today's dumps.
    void localShapes()
    {
        if (!sharedIsThere())
            QSKIP("no shared data; set SHARDBOARD_SHARED to its folder");
        const auto local = [](const char* folder, const std::string& ending) {
            const auto dump =
                readNamedDump(shared("sharding_info/deepseek2-16b/").toStdString() + folder + "/named_shardings.json");
            for (const NamedEntry& entry : dump.value().entries)
                if (entry.name.starts_with(".params") && entry.name.ends_with(ending))
                    return localShape(*entry.shape, entry.spec, dump.value().mesh);
            return std::vector<std::int64_t> {};
        };
        using Shape = std::vector<std::int64_t>;
        QCOMPARE(local("tpu7x-16/slice_1/rule_default", "['dense_layers']/['mlp']/['wi_0']/['kernel']"), (Shape { 128, 1, 10944 }));
        QCOMPARE(local("tpu7x-8/slice_1/rule_shard-exp-on-fsdp_ici_fsdp_parallelism=-1_ici_expert_parallelism=2",
                       "['MoeBlock_0']/['wi_0']"),
                 (Shape { 8, 26, 2048, 1408 }));
        QCOMPARE(
            local(
                "v6e-16/slice_1/rule_pipeline-large-moe_ici_fsdp_parallelism=-1_ici_expert_parallelism=4_use_ring_of_experts=true",
                "['dense_layers']/['self_attention']/['out']/['kernel']"),
            (Shape { 16, 1, 128, 128 }));
    }
};

SHARDBOARD_TEST(TestMaxText)
#include "tst_maxtext.moc"

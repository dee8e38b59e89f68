// SPDX-License-Identifier: Apache-2.0
// What an export writes: nothing of a design's text but as a literal, nothing that JAX would hold otherwise, nothing
// through a link, and what it leaves out is said.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/designfile.h"
#include "model/io/exports/leftout.h"
#include "model/io/exports/pythontext.h"
#include "model/io/layouts/designdump.h"
#include "model/io/shards/shardsjson.h"
#include "model/io/targets/targets.h"
#include "model/text/visibletext.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <map>
#include <set>

using namespace shardboard;
using nlohmann::json;

namespace {

/// What the export to JAX says that it leaves out.
std::vector<std::string> jaxLeftOut(const Design& design)
{
    return findExportTarget("jax")->leftOut(design, *evaluate(design, Misfits::Replicate).value());
}

Design designOf(ModelSpec model, const char* mesh, const char* preset, const Workload& workload = {})
{
    return designOn(mesh, std::move(model), workload, preset);
}

Design builtin(const char* model, const char* mesh, const char* preset, const Workload& workload = {})
{
    return designOf(builtinModel(model).value(), mesh, preset, workload);
}

Workload training(std::int64_t microBatches)
{
    Workload workload;
    workload.kind = WorkloadKind::Train;
    workload.batch = 4 * microBatches;
    workload.microBatches = microBatches;
    return workload;
}

Result<std::vector<ExportedFile>> filesOf(const Design& design)
{
    return exportDesign(*findExportTarget("jax"), design, evaluate(design, Misfits::Replicate).value());
}

std::string moduleOf(const Design& design) { return textOf(filesOf(design).value().front().text); }

/// Every kind of text that ends a literal, a line or a comment somewhere, or looks like something else.
const std::vector<std::pair<const char*, std::string>> kHostile {
    { "quote", "a\" + __import__('os').getcwd() + \"" },
    { "apostrophe", "a' + __import__('os').getcwd() + '" },
    { "triple quotes", "\"\"\"\nimport os\n'''\nimport sys\n\"\"\"" },
    { "backslash at the end", "a\\" },
    { "escaped quote", "\\\"\nimport os\n#" },
    { "line break", "a\nimport os; os.system(\"touch injected\")\n#" },
    { "carriage return", "a\rimport os; os.system(\"touch injected\")\r#" },
    { "both", "a\r\nimport os\r\n" },
    { "form feed and vertical tab", "a\fimport os\vimport os" },
    { "next line, line and paragraph separator", "a\xc2\x85import os\xe2\x80\xa8import os\xe2\x80\xa9import os" },
    { "bidi controls", "a\xe2\x80\xae gnp.exe \xe2\x81\xa6 x \xe2\x81\xa9" },
    { "zero byte", std::string("a\0b", 3) },
    { "escape", "\x1b]0;title\x07\x1b[2J" },
    { "no UTF-8", "a\xff\xfe\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80\xe2\x80" },
    { "other planes", "\xf0\x9f\x98\x80 \xc3\xa9 \xef\xbb\xbf" },
    { "braces and signs", "{x} {{y}} %s %d $(id) `id` \\N{BULLET} \\x41" },
    { "byte order mark and coding", "\xef\xbb\xbf# -*- coding: utf-7 -*-" },
    { "long", std::string(100000, '"') },
};

/// A design whose names are all that text.
Design namedBy(const std::string& name)
{
    ModelSpec model = denseModel(256, 64, 128, 2, 4, 4, 16);
    model.name = name;
    model.weightPrefix = name + ".";
    Design design = designOf(model, "data=2,model=2", "megatron-tp");
    const std::string shown = visibleText(name); // a pin that says more is refused when the design is evaluated
    Pin pin;
    pin.match = shown;
    pin.dims.push_back({ shown, { shown } });
    design.pins.push_back(pin);
    return design;
}

int linesOf(const std::string& text) { return static_cast<int>(std::ranges::count(text, '\n')); }

bool isPlain(const std::string& text)
{
    return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
}

/// Stages of a layer by the schedule's definition: the layers are dealt to stages x chunks runs in order, the first
/// runs one more, and run r is on stage r modulo the stages.
std::vector<std::int64_t> stagesByHand(std::int64_t layers, std::int64_t stages, std::int64_t chunks)
{
    std::vector<std::int64_t> out;
    const std::int64_t runs = stages * chunks;
    for (std::int64_t run = 0; run < runs; ++run)
        out.insert(out.end(), static_cast<std::size_t>(layers / runs + (run < layers % runs ? 1 : 0)), run % stages);
    return out;
}

} // namespace

class TestExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void literals_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("literal");
        QTest::newRow("empty") << QByteArray() << QByteArray("\"\"");
        QTest::newRow("plain") << QByteArray("model.layers.*.x-1") << QByteArray("\"model.layers.*.x-1\"");
        QTest::newRow("quotes") << QByteArray("'\"\\") << QByteArray("\"'\\\"\\\\\"");
        QTest::newRow("controls") << QByteArray("\0\t\n\r\x1b\x7f", 6) << QByteArray("\"\\x00\\x09\\n\\x0d\\x1b\\x7f\"");
        QTest::newRow("e acute") << QByteArray("\xc3\xa9") << QByteArray("\"\\xe9\"");
        dataRow("line separator, right-to-left override", QByteArray("\xe2\x80\xa8\xe2\x80\xae"), QByteArray("\"\\u2028\\u202e\""));
        QTest::newRow("emoji") << QByteArray("\xf0\x9f\x98\x80") << QByteArray("\"\\U0001f600\"");
        QTest::newRow("bad bytes") << QByteArray("\xff\x80") << QByteArray("\"\\udcff\\udc80\"");
        QTest::newRow("surrogate") << QByteArray("\xed\xa0\x80") << QByteArray("\"\\udced\\udca0\\udc80\"");
        QTest::newRow("too long") << QByteArray("\xc0\xaf\xe0\x80\xaf") << QByteArray("\"\\udcc0\\udcaf\\udce0\\udc80\\udcaf\"");
        QTest::newRow("beyond the last") << QByteArray("\xf4\x90\x80\x80") << QByteArray("\"\\udcf4\\udc90\\udc80\\udc80\"");
        QTest::newRow("cut off") << QByteArray("a\xe2\x80") << QByteArray("\"a\\udce2\\udc80\"");
    }
    void literals()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, literal);
        QCOMPARE(QByteArray::fromStdString(pythonLiteral(text.toStdString())), literal);
    }

    /// The module has the same lines whatever the names are, each of printable ASCII, and the proof is JSON.
    void namesAddNoLines_data()
    {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kHostile.size(); ++i)
            QTest::newRow(kHostile[i].first) << static_cast<int>(i);
    }
    void namesAddNoLines()
    {
        QFETCH(int, index);
        const Design design = namedBy(kHostile[static_cast<std::size_t>(index)].second);
        const auto files = sure(filesOf(design));
        const std::string text = textOf(files.front().text);
        QVERIFY(isPlain(text));
        QCOMPARE(linesOf(text), linesOf(moduleOf(namedBy("tame"))));
        const std::string proof = textOf(files.back().text);
        QVERIFY(isPlain(proof) && json::accept(proof));
        for (const std::string& line : jaxLeftOut(design))
            QVERIFY(isPlain(line) && linesOf(line) == 0 && line.size() < 1000);
    }

    /// Python itself finds the same program, in which the names are texts and nothing else.
    void pythonReadsNamesAsTexts()
    {
        const QString python = QStandardPaths::findExecutable(QStringLiteral("python3"));
        if (python.isEmpty())
            QSKIP("no python3 here");
        QTemporaryDir folder;
        const auto write = [&](const QString& name, const std::string& text) {
            QFile file(folder.filePath(name));
            if (!file.open(QIODevice::WriteOnly)
                || file.write(text.data(), static_cast<qint64>(text.size())) != static_cast<qint64>(text.size()))
                qFatal("cannot write");
        };
        write(QStringLiteral("tame.py"), moduleOf(namedBy("tame")));
        for (std::size_t i = 0; i < kHostile.size(); ++i) {
            write(QStringLiteral("%1.py").arg(i), moduleOf(namedBy(kHostile[i].second)));
            write(QStringLiteral("%1.name").arg(i), kHostile[i].second);
        }
        write(QStringLiteral("compare.py"), R"(import ast, os, py_compile, sys

def read(path):
    py_compile.compile(path, doraise=True)
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    values = {node.targets[0].id: node.value for node in tree.body
              if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
    texts = {name: ast.literal_eval(values[name]) for name in ("MODEL", "PREFIX", "LEFT_OUT")}
    keys = [ast.literal_eval(key) for key in values["LAYOUT"].keys]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree), texts, keys

os.chdir(sys.argv[1])
tame = read("tame.py")
for i in range(int(sys.argv[2])):
    with open(f"{i}.name", "rb") as file:
        name = file.read().decode("utf-8", "surrogateescape")
    program, texts, keys = read(f"{i}.py")
    assert program == tame[0], f"{i}: another program"
    assert texts["MODEL"] == name, f"{i}: {texts['MODEL']!a}"
    assert texts["PREFIX"] == name + ".", f"{i}: {texts['PREFIX']!a}"
    assert keys == [key.replace("tame.", name + ".", 1) for key in tame[2]], f"{i}: {keys!a}"
)");
        QProcess process;
        process.start(python, { folder.filePath(QStringLiteral("compare.py")), folder.path(), QString::number(kHostile.size()) });
        QVERIFY(process.waitForFinished(50000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
    }

    /// 28 heads over 8 devices: 512 rows of q_proj on the first four, where JAX has 448 on each.
    void wholeHeadsAreRefused()
    {
        const Design design = builtin("qwen2.5-7b", "data=2,model=8", "megatron-tp");
        const auto refusals = findExportTarget("jax")->refusals(design, *evaluate(design).value(), {}).value();
        std::set<std::string> names;
        std::int64_t tensors = 0;
        for (const ExportRefusal& refusal : refusals) {
            names.insert(refusal.error.where);
            tensors += refusal.tensors;
            QVERIFY2(QString::fromStdString(refusal.error.what).contains(QStringLiteral("0:512, in JAX 0:448")),
                     refusal.error.text().c_str());
        }
        QCOMPARE(names,
                 (std::set<std::string> { "model.layers.*.self_attn.q_proj.weight", "model.layers.*.self_attn.q_proj.bias",
                                          "model.layers.*.self_attn.o_proj.weight" }));
        QCOMPARE(tensors, 84);
        const auto files = filesOf(design);
        QVERIFY(!files.ok());
        const QString line = QString::fromStdString(files.error().text());
        for (const char* part : { "84 tensors", "model.layers.*.{self_attn.q_proj.weight, self_attn.q_proj.bias}",
                                  "model.layers.*.self_attn.o_proj.weight", "whole units of 128", "28 units" })
            QVERIFY2(line.contains(QLatin1String(part)), qPrintable(line));
        QVERIFY(!line.contains(QStringLiteral("...")) && !line.contains(QLatin1Char('\n')));
        // Where the heads divide it is exported.
        QVERIFY(filesOf(builtin("qwen2.5-7b", "data=2,model=4", "megatron-tp")).ok());
    }

    /// Each way in which a weight is cut that JAX does not know, and that it is told.
    void otherCutsAreRefused_data()
    {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("told");
        dataRow("rest of units", "grain", "dim 0 is cut in whole units of 48");
        dataRow("fused halves", "gate-up", "dim 0 is cut in 2 segments over 4 devices: part 0 is 0:24 + 96:120, in JAX 0:48");
        dataRow("fused heads", "stacked-qkv", "in 3 segments");
        dataRow("sub-axis", "sub-axis", "a part of mesh axis 'model'");
        dataRow("does not divide", "balanced", "dim 1 of size 90 into 4 equal parts");
        dataRow("strategy that does not fit", "misfit", "cannot be applied");
        dataRow("unknown shape", "unknown", "not known");
        dataRow("whole", "whole", "");
        dataRow("halves over one device", "one", "");
        dataRow("whole units that divide", "units", "");
    }
    void otherCutsAreRefused()
    {
        QFETCH(QString, kind);
        QFETCH(QString, told);
        Design design;
        design.mesh = Mesh::parse("one=1,data=2,model=4").value();
        design.model.notUnderstood = "made for a test";
        design.model.looseWeights.push_back(
            { { "w", { 192, 90 }, DType::BF16, TensorRole::Weight, {}, {}, { 48, 1 } }, kind == QLatin1String("unknown") });
        StrategyEntry entry { "*", {}, std::nullopt };
        Strategy& strategy = entry.strategy;
        const std::map<QString, std::function<void()>> make {
            { "grain",
              [&] {
                  strategy = { StrategyKind::Spec, {}, 0, "P(('data','model'))" };
                  entry.cut = CutRule::GrainBalanced;
              } },
            { "gate-up",
              [&] {
                  strategy = { StrategyKind::GateUp, { "model" }, 0 };
              } },
            { "stacked-qkv", [&] { strategy = { StrategyKind::StackedQkv, { "model" }, 0, {}, 4, 16 }; } },
            { "sub-axis",
              [&] {
                  strategy = { StrategyKind::Spec, {}, 0, "P('model:(1)2')" };
              } },
            { "balanced",
              [&] {
                  strategy = { StrategyKind::Columnwise, { "model" } };
              } },
            { "misfit",
              [&] {
                  strategy = { StrategyKind::Spec, {}, 0, "P(None,'model')" };
              } },
            { "unknown", [] {} },
            { "whole", [] {} },
            { "one",
              [&] {
                  strategy = { StrategyKind::GateUp, { "one" }, 0 };
              } },
            { "units",
              [&] {
                  strategy = { StrategyKind::Rowwise, { "model" } };
                  entry.cut = CutRule::GrainBalanced;
              } },
        };
        make.at(kind)();
        design.strategies = { entry };
        const auto evaluation = evaluate(design, Misfits::Replicate).value();
        const auto refusals = findExportTarget("jax")->refusals(design, *evaluation, {}).value();
        const auto files = exportDesign(*findExportTarget("jax"), design, evaluation);
        QCOMPARE(files.ok(), told.isEmpty());
        QCOMPARE(refusals.empty(), told.isEmpty());
        if (told.isEmpty())
            return;
        QCOMPARE(refusals.front().error.where, std::string("w"));
        QCOMPARE(files.error().text(), refusals.front().error.text());
        QVERIFY2(QString::fromStdString(files.error().text()).contains(told), files.error().text().c_str());
        QVERIFY(!files.error().fix.empty());
    }

    /// Of very many weights that are refused the line names some, in a time that grows as they do.
    void manyRefusedAreCounted()
    {
        constexpr std::size_t kWeights = 300;
        Design design;
        design.mesh = Mesh::parse("data=2").value();
        design.model.notUnderstood = "made for a test";
        for (std::size_t i = 0; i < kWeights; ++i) {
            const std::string letters { static_cast<char>('a' + i % 26), static_cast<char>('a' + i / 26) };
            design.model.looseWeights.push_back({ { letters, { 3, 5 }, DType::BF16, TensorRole::Weight, {}, {}, {} }, false });
        }
        design.strategies = { { "*", { StrategyKind::Columnwise, { "data" } }, std::nullopt } };
        const auto files = filesOf(design);
        QVERIFY(!files.ok());
        QVERIFY2(files.error().what.starts_with("JAX cannot hold 300 tensors as the plan does: aa, ba, ca, ")
                     && files.error().what.find(" and 260 more (JAX cannot cut dim 1 of size 5") != std::string::npos,
                 files.error().what.c_str());
    }

    /// The export tells weights apart by their names, and devices by an array of NumPy.
    void whatPythonCannotHoldIsRefused()
    {
        Design twice;
        twice.mesh = Mesh::parse("data=2").value();
        twice.model.notUnderstood = "made for a test";
        for (const Shape& shape : { Shape { 4, 2 }, Shape { 2 }, Shape { 8 } })
            twice.model.looseWeights.push_back(
                { { shape.size() == 2 ? "other" : "w", shape, DType::BF16, TensorRole::Weight, {}, {}, {} }, false });
        twice.strategies = { { "*", { StrategyKind::Replicate }, std::nullopt } };
        const auto same = filesOf(twice);
        QVERIFY(!same.ok());
        QCOMPARE(same.error().text(),
                 std::string("w: two weights have this name, and an export tells them apart by it; rename one of them"));
        twice.model.looseWeights.pop_back();
        QVERIFY(filesOf(twice).ok());

        std::string mesh = "data=2";
        for (int i = 1; i < 32; ++i)
            mesh += ",a" + std::to_string(i) + "=1";
        QVERIFY(filesOf(builtin("tinyllama-1.1b", mesh.c_str(), "replicate")).ok());
        const auto many = filesOf(builtin("tinyllama-1.1b", (mesh + ",a32=1").c_str(), "replicate"));
        QVERIFY(!many.ok());
        QVERIFY2(many.error().text().starts_with("mesh: has 33 axes, and "), many.error().text().c_str());
    }

    /// Each layer is on the devices of its stage, what comes before and after them on the first and the last, and JAX
    /// cannot say it.
    void pipelinesAreOnTheirStages_data()
    {
        QTest::addColumn<QString>("preset");
        QTest::addColumn<int>("chunks");
        QTest::addColumn<bool>("tied");
        QTest::newRow("1F1B") << "pp-1f1b" << 1 << false;
        QTest::newRow("interleaved") << "pp-interleaved" << 2 << false;
        QTest::newRow("one table for both ends") << "pp-1f1b" << 1 << true;
    }
    void pipelinesAreOnTheirStages()
    {
        QFETCH(QString, preset);
        QFETCH(int, chunks);
        QFETCH(bool, tied);
        constexpr std::int64_t kStages = 3;
        ModelSpec model = denseModel(256, 64, 128, 14, 4, 4, 16);
        model.tiedEmbeddings = tied;
        Design design = designOf(model, "model=2,stage=3", preset.toLatin1().constData(), training(6));
        design.mesh = Mesh::make({ { "model", 2 }, { "stage", 3 } }, { 15, 14, 13, 12, 11, 10 }).value();
        const auto evaluation = evaluate(design).value();
        const auto files = exportDesign(*findExportTarget("jax"), design, evaluation);
        QVERIFY(!files.ok());
        QVERIFY2(QString::fromStdString(files.error().text())
                     .startsWith(QStringLiteral("pipeline: each layer lies on the devices of its stage")),
                 files.error().text().c_str());

        const json proof = json::parse(textOf(shardsJson(design.mesh, evaluation).value()));
        QCOMPARE(proof["pipeline"]["axis"].get<std::string>(), std::string("stage"));
        const std::vector<std::int64_t> stages = stagesByHand(model.layers, kStages, chunks);
        int seen = 0;
        for (const json& tensor : proof["tensors"]) {
            const QString name = QString::fromStdString(tensor["name"].get<std::string>());
            std::set<std::int64_t> holders;
            for (const json& shard : tensor["shards"])
                for (const json& device : shard["devices"])
                    QVERIFY(holders.insert(device.get<std::int64_t>()).second);
            std::set<std::int64_t> on;
            if (name.startsWith(QStringLiteral("model.layers.")))
                on = { stages[static_cast<std::size_t>(name.section(QLatin1Char('.'), 2, 2).toInt())] };
            else if (name == QStringLiteral("model.embed_tokens.weight"))
                on = tied ? std::set<std::int64_t> { 0, kStages - 1 } : std::set<std::int64_t> { 0 };
            else
                on = { kStages - 1 }; // the last norm and the head
            std::set<std::int64_t> expected;
            for (const std::int64_t stage : on)
                for (std::int64_t part = 0; part < 2; ++part)
                    expected.insert(15 - (part * kStages + stage)); // ids run backwards over the mesh
            QVERIFY2(holders == expected, qPrintable(name));
            ++seen;
        }
        QCOMPARE(seen, 14 * 9 + (tied ? 2 : 3));
        // A cut over the stages is none, as in the plan.
        design.strategies.push_back({ "*norm.weight", { StrategyKind::Spec, {}, 0, "P(('model','stage'))" }, CutRule::Balanced });
        const json cut = json::parse(textOf(shardsJson(design.mesh, evaluate(design).value()).value()));
        for (const json& tensor : cut["tensors"])
            if (tensor["name"] == "model.norm.weight")
                QCOMPARE(tensor["shards"].size(), std::size_t(2));
        // One stage is no pipeline.
        design.mesh = Mesh::parse("model=2,stage=1").value();
        QVERIFY(exportDesign(*findExportTarget("jax"), design, evaluate(design).value()).ok()
                || preset == QLatin1String("pp-interleaved"));
    }

    /// Sub-axes and edited orders: the holders of a shard are all that hold it, each once.
    void holdersAreListedOnce()
    {
        Design design;
        design.mesh = Mesh::make({ { "a", 4 }, { "b", 3 } }, { 30, 31, 32, 40, 41, 42, 50, 51, 52, 60, 61, 62 }).value();
        design.model.notUnderstood = "made for a test";
        TensorSpec weight;
        weight.name = "w";
        weight.shape = { 12, 6 };
        design.model.looseWeights.push_back({ weight, false });
        const std::vector<std::pair<std::string, std::size_t>> specs {
            { "P()", 1 }, { "P('b')", 3 }, { "P('a:(2)2','b')", 6 }, { "P(('b','a:(1)2'))", 6 }, { "P('b','a')", 12 }
        };
        for (const auto& [spec, shards] : specs) {
            design.strategies = { { "*", { StrategyKind::Spec, {}, 0, spec }, CutRule::Balanced } };
            const auto evaluation = evaluate(design).value();
            const json proof = json::parse(textOf(shardsJson(design.mesh, evaluation).value()));
            const json& list = proof["tensors"][0]["shards"];
            QCOMPARE(list.size(), shards);
            const ShardMap& map = evaluation->weights.front().shards;
            std::size_t holders = 0;
            for (const json& shard : list)
                for (const json& device : shard["devices"]) {
                    ++holders;
                    for (std::int64_t position = 0; position < 12; ++position)
                        if (design.mesh.deviceId(position) == device.get<std::int64_t>()) {
                            json pieces = json::array();
                            for (const Piece& piece : map.shardAt(position).pieces)
                                pieces.push_back({ { piece[0].lo, piece[0].hi }, { piece[1].lo, piece[1].hi } });
                            QCOMPARE(shard["pieces"], pieces);
                        }
                }
            QCOMPARE(holders, std::size_t(12));
        }
    }

    /// By what they match, how often, and what it means; in the list and at the head of the module.
    void whatIsLeftOutIsSaid()
    {
        QVERIFY(jaxLeftOut(builtin("llama3-8b", "data=2,model=4", "megatron-tp")).empty());
        Design design = builtin("llama3-8b", "data=2,model=4", "tp-sp", training(2));
        QVERIFY(!design.pins.empty());
        design.workload.recompute = Recompute::Selective;
        design.workload.overlap = Overlap::Weights;
        design.workload.optimizer.axes = { "data" };
        std::map<std::string, int> matches;
        for (const Pin& pin : design.pins)
            ++matches[pin.match];
        const std::vector<std::string> left = leftOutOf(design, "XLA");
        QCOMPARE(left.size(), std::size_t(5));
        const QString pins = QString::fromStdString(left.front());
        QVERIFY2(pins.startsWith(QString::number(design.pins.size()) + QStringLiteral(" pins of \"")), qPrintable(pins));
        for (const auto& [match, count] : matches)
            QVERIFY2(matches.size() > 8
                         || pins.contains(
                             QString::fromStdString("\"" + match + "\"" + (count > 1 ? " (" + std::to_string(count) + ")" : ""))),
                     qPrintable(pins));
        QVERIFY2(pins.contains(QStringLiteral("XLA")) && pins.contains(QStringLiteral("preset tp-sp becomes megatron-tp")),
                 qPrintable(pins));
        // To JAX all of that is said but when collectives run, and how the batch is split.
        const std::vector<std::string> inJax = jaxLeftOut(design);
        QCOMPARE(inJax.size(), std::size_t(2));
        QVERIFY(inJax[0].starts_with("overlap weights") && inJax[1].starts_with("2 micro-batches"));
        const std::string text = moduleOf(design);
        const std::string head = text.substr(0, text.find("import json"));
        for (const std::string& line : inJax)
            QVERIFY2(head.find(pythonLiteral(line)) != std::string::npos, line.c_str());
        // Of the many pins of experts some are named, the others counted.
        Design many = builtin("llama3-8b", "data=2,model=4", "megatron-tp");
        for (int i = 0; i < 30; ++i) {
            Pin pin;
            pin.match = "x" + std::to_string(i % 10);
            pin.whole = { "model" };
            many.pins.push_back(pin);
        }
        const QString counted = QString::fromStdString(leftOutOf(many, "XLA").front());
        QVERIFY2(counted.startsWith(QStringLiteral("30 pins of \"x0\" (3), "))
                     && counted.contains(QStringLiteral("\"x7\" (3) and 2 more:")),
                 qPrintable(counted));
    }

    /// What would be gigabytes is refused with the size; what is less is made piece by piece.
    void tooLargeIsRefusedBefore()
    {
        const Design large = builtin("llama3-8b", "data=1024,model=1024", "fsdp");
        const auto files = filesOf(large);
        QVERIFY(!files.ok());
        const QString line = QString::fromStdString(files.error().text());
        QVERIFY2(line.startsWith(QStringLiteral("mesh: shards.json would take 2 GiB"))
                     && line.contains(QStringLiteral("1,048,576 devices for each of 291 weights")),
                 qPrintable(line));
        // It may be the layers as well.
        ModelSpec deep = denseModel(64, 8, 16, 100000, 1, 1, 8);
        const auto many = filesOf(designOf(std::move(deep), "data=64", "replicate"));
        QVERIFY(!many.ok());
        const QString layers = QString::fromStdString(many.error().text());
        QVERIFY2(layers.contains(QStringLiteral("the ids of all 64 devices for each of 900,003 weights"))
                     && layers.contains(QStringLiteral("fewer layers")),
                 qPrintable(layers));
        // The number is right where it can be counted.
        for (const char* preset : { "fsdp", "megatron-tp" }) {
            const Design small = builtin("llama3-8b", "data=64,model=8", preset);
            const auto evaluation = evaluate(small).value();
            const std::string proof = textOf(shardsJson(small.mesh, evaluation).value());
            const auto bytes = static_cast<double>(proof.size());
            QVERIFY2(std::abs(static_cast<double>(shardsJsonBytes(small.mesh, *evaluation)) / bytes - 1) < 0.2,
                     qPrintable(QStringLiteral("%1 of %2").arg(shardsJsonBytes(small.mesh, *evaluation)).arg(bytes)));
            std::size_t longest = 0;
            shardsJson(small.mesh, evaluation).value()([&](std::string_view piece) {
                longest = std::max(longest, piece.size());
                return true;
            });
            QVERIFY(longest < proof.size() / 100);
        }
        const Design small = builtin("llama3-8b", "data=2,model=4", "fsdp");
        int pieces = 0;
        QVERIFY(!shardsJson(small.mesh, evaluate(small).value()).value()([&](std::string_view) { return ++pieces < 3; }));
        QCOMPARE(pieces, 3);
    }

    /// A link of a file's name is no way out of the folder: it is refused before anything is written.
    void linksAreRefused_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("dump");
        for (const char* name : { "export.py", "shards.json" })
            QTest::newRow(name) << name << false;
        for (const char* name : { "logical_shardings.json", "named_shardings.json", "input_shardings.json" })
            QTest::newRow(name) << name << true;
    }
    void linksAreRefused()
    {
        QFETCH(QString, name);
        QFETCH(bool, dump);
        const Design design = builtin("tinyllama-1.1b", "data=2,model=2", "megatron-tp");
        const auto evaluation = evaluate(design).value();
        QTemporaryDir place;
        QVERIFY(QDir(place.path()).mkdir(QStringLiteral("out")));
        const QString outside = place.filePath(QStringLiteral("outside"));
        const QString folder = place.filePath(QStringLiteral("out"));
        const QString link = folder + QLatin1Char('/') + name;
        const auto writtenTo = [&](const QString& to) -> Status {
            if (!dump)
                return writeExport(to.toStdString(), exportDesign(*findExportTarget("jax"), design, evaluation).value());
            const auto counts = writeDump(design, *evaluation, to.toStdString());
            return counts.ok() ? done() : Status(counts.error());
        };
        const auto written = [&] { return writtenTo(folder); };
        QFile file(outside);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("mine") == 4);
        file.close();
        for (const QString& target : { outside, place.filePath(QStringLiteral("not there")) }) {
            QVERIFY(QFile::link(target, link));
            const Status status = written();
            QVERIFY(!status.ok());
            const QString line = QString::fromStdString(status.error().text());
            QVERIFY2(line.startsWith(link + QStringLiteral(": is a link")) && line.contains(QStringLiteral("; remove the link")),
                     qPrintable(line));
            QCOMPARE(QDir(folder).entryList(QDir::Files | QDir::System | QDir::Hidden), QStringList { name });
            QVERIFY(QFileInfo(link).isSymLink());
            QVERIFY(QFile::remove(link));
        }
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("mine"));
        QVERIFY(!QFile::exists(place.filePath(QStringLiteral("not there"))));
        QVERIFY(written().ok()); // and once more over what is there then
        QVERIFY(written().ok());
        // A folder that is chosen may be a link itself.
        const QString other = place.filePath(QStringLiteral("other"));
        QVERIFY(QFile::link(folder, other));
        QVERIFY(writtenTo(other).ok());
    }

    /// A writing that is cancelled in the middle of a file leaves what was there.
    void cancelledFilesAreWhole()
    {
        QTemporaryDir place;
        const std::string path = place.filePath(QStringLiteral("f")).toStdString();
        QVERIFY(writeFileAtomically(path, std::string("before")).ok());
        const std::string piece(1 << 15, 'x');
        int asked = 0;
        const auto endsEarly = [&](const TextSink& sink) {
            while (++asked < 9)
                if (!sink(piece))
                    return false;
            return false;
        };
        QVERIFY(writeFileAtomically(path, endsEarly).cancelled());
        QCOMPARE(readTextFile(path).value(), std::string("before"));
        QCOMPARE(QDir(place.path()).entryList(QDir::Files | QDir::Hidden).size(), 1);
        asked = 0;
        QVERIFY(writeFileAtomically(path, [&](const TextSink& sink) {
                    while (++asked < 9)
                        if (!sink(piece))
                            return false;
                    return true;
                }).ok());
        QCOMPARE(readTextFile(path).value(), std::string(8 * (1 << 15), 'x'));
        // A disk that is full is an error, and no cancel.
        if (QFile::exists(QStringLiteral("/dev/full"))) {
            const auto full = writeFileAtomically("/dev/full", std::string("x"));
            QVERIFY(!full.ok() && !full.cancelled());
        }
    }
};

SHARDBOARD_TEST(TestExport)
#include "tst_export.moc"

// SPDX-License-Identifier: Apache-2.0
// The export to PyTorch: placements as in tables that were written by hand, the program by preset, and nothing of a design's text
// but as a literal.
#include "model/io/checkpoint/openmodel.h"
#include "model/io/targets/targets.h"
#include "model/text/visibletext.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <set>

using namespace shardboard;

namespace {

const ExportTarget& torchExport() { return *findExportTarget("torch"); }

Result<std::vector<ExportedFile>> filesOf(const Design& design) { return exportDesign(torchExport(), design, tolerant(design)); }

std::string torchModuleOf(const Design& design) { return textOf(sure(filesOf(design)).front().text); }

/// A design of one weight `w`.
Design oneWeight(const std::string& mesh, const Shape& shape, const Strategy& strategy, std::optional<CutRule> cut = {})
{
    Design design;
    design.mesh = sure(Mesh::parse(mesh));
    design.model.notUnderstood = "made for a test";
    design.model.looseWeights.push_back({ { "w", shape, DType::F32, TensorRole::Weight, {}, {}, {} }, false });
    design.strategies = { { "*", strategy, cut } };
    return design;
}

Strategy spec(const std::string& text) { return { StrategyKind::Spec, {}, 0, text }; }

Workload training()
{
    Workload workload;
    workload.kind = WorkloadKind::Train;
    workload.batch = 64;
    workload.microBatches = 4;
    return workload;
}

/// Right of `NAME = ` in the module, without a comment.
QString constant(const std::string& module, const char* name)
{
    const QRegularExpression line(QStringLiteral("^%1 = (.*?)(  #.*)?$").arg(QLatin1String(name)),
                                  QRegularExpression::MultilineOption);
    return line.match(QString::fromStdString(module)).captured(1);
}

/// The entry of a parameter: its shape and placements.
QString entry(const std::string& module, const char* name)
{
    const QRegularExpression line(QStringLiteral("^    \"%1\": \\((.*)\\),$").arg(QRegularExpression::escape(QLatin1String(name))),
                                  QRegularExpression::MultilineOption);
    return line.match(QString::fromStdString(module)).captured(1);
}

} // namespace

class TestTorchExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The layouts that notations tell apart, on data=2, model=4, and those of three axes.
    void placements_data()
    {
        QTest::addColumn<QString>("layout");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("placements");
        const char* two = "data=2,model=4";
        dataRow("L1", "P('model')", two, "(R, S(0))");
        dataRow("L2", "P(None,'model')", two, "(R, S(1))");
        dataRow("L3", "P('data','model')", two, "(S(0), S(1))");
        dataRow("L4", "P('model','data')", two, "(S(1), S(0))");
        dataRow("L5", "P(('data','model'))", two, "(S(0), S(0))");
        dataRow("L6", "P(('model','data'))", two, "(_S(0, 4), S(0))");
        dataRow("L7", "P()", two, "(R, R)");
        const char* three = "pod=2,fsdp=4,tp=8";
        dataRow("three axes, in order", "P(('pod','fsdp'),'tp')", three, "(S(0), S(0), S(1))");
        dataRow("three axes, one dim", "P(('fsdp','tp'))", three, "(R, S(0), S(0))");
        dataRow("three axes, crossed", "P(('pod','tp'),'fsdp')", three, "(S(0), S(1), S(0))");
        dataRow("three axes, backward", "P(('tp','fsdp','pod'))", three, "(_S(0, 32), _S(0, 8), S(0))");
        dataRow("an axis of one device", "P(('b','one','a'))", "a=2,one=1,b=4", "(_S(0, 4), S(0), S(0))");
        dataRow("one axis", "P('x')", "x=4", "(S(0),)");
    }
    void placements()
    {
        QFETCH(QString, layout);
        QFETCH(QString, mesh);
        QFETCH(QString, placements);
        const std::string module = torchModuleOf(oneWeight(mesh.toStdString(), { 64, 64 }, spec(layout.toStdString())));
        QCOMPARE(entry(module, "w"), QStringLiteral("(64, 64), ") + placements);
    }

    /// Parts of a fused dim are cut each; several axes nest in each.
    void fusedDims()
    {
        QCOMPARE(entry(torchModuleOf(oneWeight("data=2,model=4", { 64, 6 }, { StrategyKind::GateUp, { "model" }, 0 })), "w"),
                 QStringLiteral("(64, 6), (R, _S(0, 2))"));
        QCOMPARE(
            entry(torchModuleOf(oneWeight("data=2,model=4", { 192, 6 }, { StrategyKind::StackedQkv, { "model" }, 0, {}, 4, 16 })),
                  "w"),
            QStringLiteral("(192, 6), (R, _S(0, 3))"));
    }

    /// torch cuts by ceil, axis after axis: what the plan cuts elsewhere is refused with the reason.
    void otherCutsAreRefused_data()
    {
        QTest::addColumn<int>("size");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("layout");
        QTest::addColumn<CutRule>("rule");
        QTest::addColumn<QString>("told");
        dataRow("10 over 4, ceil", 10, "x=4", "P('x')", CutRule::CeilFlat, "");
        dataRow("10 over 4, balanced", 10, "x=4", "P('x')", CutRule::Balanced, "part 2 is 6:8, in PyTorch 6:9");
        dataRow("5 over 2x2, nested", 5, "x=2,y=2", "P(('x','y'))", CutRule::CeilNested, "");
        dataRow("5 over 2x2, flat", 5, "x=2,y=2", "P(('x','y'))", CutRule::CeilFlat, "part 1 is 2:4, in PyTorch 2:3");
        dataRow("5 over 2x2, balanced", 5, "x=2,y=2", "P(('x','y'))", CutRule::Balanced, "");
        dataRow("10 over 3x2 in another order", 10, "x=2,y=3", "P(('y','x'))", CutRule::CeilNested,
                "in another order than in the mesh");
        dataRow("12 over 3x2 in another order", 12, "x=2,y=3", "P(('y','x'))", CutRule::CeilNested, "");
        dataRow("a part of an axis", 16, "x=4", "P('x:(1)2')", CutRule::Strict, "a part of mesh axis 'x'");
        dataRow("partial over a part of an axis", 16, "x=4", "P(unreduced={'x:(1)2'})", CutRule::Strict, "a part of mesh axis 'x'");
    }
    void otherCutsAreRefused()
    {
        QFETCH(int, size);
        QFETCH(QString, mesh);
        QFETCH(QString, layout);
        QFETCH(CutRule, rule);
        QFETCH(QString, told);
        const auto files = filesOf(oneWeight(mesh.toStdString(), { size, 4 }, spec(layout.toStdString()), rule));
        QCOMPARE(files.ok(), told.isEmpty());
        if (!told.isEmpty())
            QVERIFY2(QString::fromStdString(files.error().text()).contains(told), files.error().text().c_str());
    }

    /// What the mesh axes are for, and the lines that a script needs.
    void programs_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QString>("axes"); // tensor, sequence, context, gathered, summed
        QTest::addColumn<QString>("notRun");
        const char* llama = "llama3-8b";
        dataRow("megatron-tp", llama, "data=2,model=4", "megatron-tp", "\"model\" False None () (\"data\",)", "");
        dataRow("tp-sp", llama, "data=2,model=4", "tp-sp", "\"model\" True None () (\"data\",)", "");
        dataRow("fsdp", llama, "fsdp=8", "fsdp", "None False None (\"fsdp\",) ()", "");
        dataRow("hsdp", llama, "data=2,fsdp=4", "hsdp", "None False None (\"fsdp\",) (\"data\",)", "");
        dataRow("tp+fsdp", llama, "fsdp=2,tensor=4", "tp+fsdp", "\"tensor\" False None (\"fsdp\",) ()", "");
        dataRow("cp-all-gather", llama, "context=4,fsdp=2", "cp-all-gather", "None False \"context\" (\"fsdp\",) (\"context\",)",
                "");
        dataRow("cp-ring", llama, "context=4,fsdp=2", "cp-ring", "None False \"context\" (\"fsdp\",) (\"context\",)", "a ring");
        dataRow("experts", "mixtral-8x7b", "data=2,model=4", "megatron-tp", "\"model\" False None () (\"data\",)", "experts");
        dataRow("heads are fewer", "tinyllama-1.1b", "model=8", "tp-sp", "\"model\" True None () ()",
                "k_proj, self_attn.v_proj are whole");
    }
    void programs()
    {
        QFETCH(QString, model);
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(QString, axes);
        QFETCH(QString, notRun);
        Workload workload = training();
        workload.recompute = Recompute::Full;
        const Design design = designOn(mesh.toStdString(), sure(builtinModel(model.toStdString())), workload, preset.toStdString());
        const std::string module = torchModuleOf(design);
        QStringList said;
        for (const char* name : { "TENSOR_AXIS", "SEQUENCE_PARALLEL", "CONTEXT_AXIS", "GATHERED_AXES", "SUMMED_AXES" })
            said << constant(module, name);
        QCOMPARE(said.join(QLatin1Char(' ')), axes);
        QCOMPARE(constant(module, "RECOMPUTE"), QStringLiteral("\"full\""));
        QCOMPARE(constant(module, "NOT_RUN") == QStringLiteral("()"), notRun.isEmpty());
        const auto left = torchExport().leftOut(design, *evaluated(design));
        QVERIFY(notRun.isEmpty() || QString::fromStdString(left.front()).contains(notRun));
        const std::string usage = torchExport().usage(design, *evaluated(design));
        QVERIFY2(usage.find(notRun.isEmpty() ? "parallelize(model, m)" : "distribute(model, m)") != std::string::npos,
                 usage.c_str());
        QVERIFY(module.find("#     m = mesh(\"cuda\")\n") != std::string::npos);
        QCOMPARE(torchModuleOf(design), module); // the same bytes
    }

    /// Pins that a person set are none of a preset's program.
    void ownPinsAreLeftOut()
    {
        Design design = designOn("data=2,model=4", sure(builtinModel("llama3-8b")), training(), "tp-sp");
        const auto before = torchExport().leftOut(design, *evaluated(design));
        QVERIFY(std::ranges::none_of(before, [](const std::string& line) { return line.find("pin") != std::string::npos; }));
        Pin pin;
        pin.match = "mlp in";
        pin.whole = { "model" };
        design.pins.push_back(pin);
        const auto left = torchExport().leftOut(design, *evaluated(design));
        QVERIFY2(left.front().starts_with("1 pin of \"mlp in\""), left.front().c_str());
    }

    /// Each layer is on the devices of its stage: the mesh of weights has no axis of stages.
    void pipelines()
    {
        ModelSpec model = denseModel(256, 64, 128, 6, 4, 4, 16);
        model.tiedEmbeddings = true;
        const std::string module = torchModuleOf(designOn("model=2,stage=2", model, training(), "pp-interleaved"));
        QCOMPARE(constant(module, "STAGE_AXIS"), QStringLiteral("\"stage\""));
        QCOMPARE(constant(module, "LAYER_STAGES"), QStringLiteral("(0, 0, 1, 1, 0, 1)")); // two runs a stage: 2, 2, 1 and 1 layers
        QCOMPARE(entry(module, "model.embed_tokens.weight"), QStringLiteral("0, 1"));
        QCOMPARE(entry(module, "model.norm.weight"), QStringLiteral("1,"));
        QCOMPARE(entry(module, "model.layers.*.input_layernorm.weight"), QStringLiteral("(64,), (R,)"));
    }

    /// The module has the same lines whatever the names are, each of printable ASCII, and for Python the same program.
    void namesAreTexts()
    {
        const auto named = [](const std::string& name) {
            ModelSpec model = denseModel(256, 64, 128, 2, 4, 4, 16);
            model.name = name;
            model.weightPrefix = name + ".";
            Design design = designOn("data=2,model=2", model, {}, "megatron-tp");
            Pin pin;
            pin.match = visibleText(name);
            pin.dims.push_back({ visibleText(name), { visibleText(name) } });
            design.pins.push_back(pin);
            return torchModuleOf(design);
        };
        const std::string tame = named("tame");
        QTemporaryDir folder;
        const auto write = [&](const QString& name, const std::string& text) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            QCOMPARE(file.write(text.data(), static_cast<qint64>(text.size())), static_cast<qint64>(text.size()));
        };
        write(QStringLiteral("0.py"), tame);
        int count = 1;
        for (const std::string& name :
             { std::string("a\" + __import__('os').getcwd() + \""), std::string("\"\"\"\nimport os\n'''"), std::string("a\\"),
               std::string("a\nimport os; os.system(\"touch injected\")\n#"), std::string("a\rimport os\r#"),
               std::string("a\0b", 3), std::string("a\xe2\x80\xa8import os\xe2\x80\xae"), std::string("a\xff\xfe"),
               std::string("{x} %s $(id) \\N{BULLET}") }) {
            const std::string text = named(name);
            QVERIFY(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
            QCOMPARE(std::ranges::count(text, '\n'), std::ranges::count(tame, '\n'));
            write(QStringLiteral("%1.py").arg(count++), text);
        }
        const QString python = QStandardPaths::findExecutable(QStringLiteral("python3"));
        if (python.isEmpty())
            QSKIP("no python3 here");
        write(QStringLiteral("compare.py"), R"(import ast, os, sys
os.chdir(sys.argv[1])
def program(path):
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)
assert len({program(f"{i}.py") for i in range(int(sys.argv[2]))}) == 1
)");
        QProcess process;
        process.start(python, { folder.filePath(QStringLiteral("compare.py")), folder.path(), QString::number(count) });
        QVERIFY(process.waitForFinished(50000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
    }
};

SHARDBOARD_TEST(TestTorchExport)
#include "tst_torchexport.moc"

// SPDX-License-Identifier: Apache-2.0
// Export to MaxText: rules are found wherever there are some, read back they give the design's layouts, and what no rules can say
// is refused by name.
#include "model/io/checkpoint/openmodel.h"
#include "model/io/maxtext/rulefile.h"
#include "model/io/names/carriedlayout.h"
#include "model/io/targets/maxtext/maxtextaxes.h"
#include "model/io/targets/maxtext/rulesearch.h"
#include "model/io/targets/targets.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <algorithm>
#include <random>
#include <regex>

using namespace shardboard;
using nlohmann::json;

namespace {

Design builtin(const char* model, const char* mesh, const char* preset, const Workload& workload = {})
{
    return designOn(mesh, builtinModel(model).value(), workload, preset);
}

Result<std::vector<ExportedFile>> exported(const Design& design)
{
    return exportDesign(*findExportTarget("maxtext"), design, tolerant(design));
}

std::string file(const std::vector<ExportedFile>& files, const std::string& name)
{
    for (const ExportedFile& known : files)
        if (known.name == name)
            return textOf(known.text);
    return {};
}

std::string refusal(const Design& design)
{
    const auto files = exported(design);
    return files.ok() ? std::string() : files.error().text();
}

/// The file as our reader of MaxText's files has it, with the options that give the sizes of the mesh axes.
RuleSetup readBack(const std::string& config)
{
    RuleSetup setup = sure(rulesFromText(config, "maxtext.yml"));
    const std::regex option("\n(ici_[a-z_]+_parallelism): ([0-9]+)");
    for (std::sregex_iterator at(config.begin(), config.end(), option), end; at != end; ++at)
        setup.options[(*at)[1]] = std::stoll((*at)[2]);
    return setup;
}

/// A model without known architecture.
Design oneTensor(const std::string& spec, const char* mesh = "data=2,model=4", const std::string& name = "w")
{
    Design design;
    design.mesh = sure(Mesh::parse(mesh));
    design.model.name = "one tensor";
    design.model.notUnderstood = "it is one tensor";
    TensorSpec tensor;
    tensor.name = name;
    tensor.shape = { 16, 8 };
    tensor.dtype = DType::F32;
    design.model.looseWeights.push_back({ tensor });
    StrategyEntry entry;
    entry.match = "*";
    entry.strategy.kind = StrategyKind::Spec;
    entry.strategy.spec = spec;
    design.strategies.push_back(entry);
    return design;
}

bool gives(const std::vector<LogicalRule>& rules, const std::vector<RuleTensor>& tensors)
{
    return std::ranges::all_of(tensors, [&](const RuleTensor& tensor) {
        return sure(resolveNames(tensor.names, rules, tensor.name)).spec == tensor.wanted;
    });
}

} // namespace

class TestMaxTextExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Against every order of every rule that some tensor wants: what one of them gives, the search finds.
    void searchIsComplete()
    {
        std::mt19937 random(21);
        const auto upTo = [&](int n) { return std::uniform_int_distribution<int>(0, n)(random); };
        const std::vector<std::string> axes { "x", "y", "z" };
        const std::vector<std::string> names { "a", "b", "c" };
        int possible = 0;
        int impossible = 0;
        for (int trial = 0; trial < 3000; ++trial) {
            std::vector<RuleTensor> tensors;
            for (int i = 0, count = 2 + upTo(2); i < count; ++i) {
                RuleTensor tensor { "t" + std::to_string(i), names, {} };
                std::ranges::shuffle(tensor.names, random);
                tensor.names.resize(2);
                std::vector<std::string> left = axes;
                std::ranges::shuffle(left, random);
                for (std::size_t dim = 0; dim < tensor.names.size(); ++dim) {
                    tensor.wanted.emplace_back();
                    for (int n = upTo(2); n > 0 && !left.empty(); --n) {
                        tensor.wanted.back().push_back(left.back());
                        left.pop_back();
                    }
                }
                tensors.push_back(tensor);
            }
            std::vector<LogicalRule> candidates;
            for (const RuleTensor& tensor : tensors)
                for (std::size_t dim = 0; dim < tensor.names.size(); ++dim)
                    if (const LogicalRule rule { tensor.names[dim], tensor.wanted[dim], {} };
                        std::ranges::find(candidates, rule) == candidates.end())
                        candidates.push_back(rule);
            if (candidates.size() > 6)
                continue;
            std::vector<std::size_t> order(candidates.size());
            for (std::size_t i = 0; i < order.size(); ++i)
                order[i] = i;
            bool any = false;
            do {
                std::vector<LogicalRule> rules;
                for (const std::size_t i : order)
                    rules.push_back(candidates[i]);
                any = gives(rules, tensors);
            } while (!any && std::ranges::next_permutation(order).found);
            const RuleSearch found = searchRules(tensors);
            QCOMPARE(found.conflicts.empty(), any);
            if (any)
                QVERIFY(gives(found.rules, tensors));
            ++(any ? possible : impossible);
        }
        QVERIFY2(possible > 300 && impossible > 300, QByteArray::number(possible));
    }

    void unnamedDims()
    {
        const RuleSearch found = searchRules({ { "t", { "", "a" }, { { "x" }, {} } } });
        QCOMPARE(found.conflicts.size(), std::size_t { 1 });
        QCOMPARE(found.conflicts.front().other, std::size_t { 0 });
        QVERIFY(searchRules({ { "t", { "", "" }, { {}, {} } } }).conflicts.empty());
    }

    void axesGetNames_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("maxtext");
        QTest::newRow("own") << "data=2,fsdp=2,tensor=4"
                             << "data=2,fsdp=2,tensor=4";
        QTest::newRow("model") << "data=2,model=4"
                               << "data=2,tensor=4";
        QTest::newRow("short") << "dp=2,ep=2,cp=2,tp=4"
                               << "data=2,expert=2,context=2,tensor=4";
        QTest::newRow("taken") << "model=2,tensor=4"
                               << "data=2,tensor=4";
        QTest::newRow("unknown") << "x=2,data=4,y=2"
                                 << "fsdp=2,data=4,tensor=2";
        QTest::newRow("none") << ""
                              << "";
    }
    void axesGetNames()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, maxtext);
        const Mesh given = mesh.isEmpty() ? Mesh {} : sure(Mesh::parse(mesh.toStdString()));
        QCOMPARE(QString::fromStdString(sure(maxtextMesh(given)).text()), maxtext);
    }
    void tooManyAxes()
    {
        std::vector<MeshAxis> axes;
        for (int i = 0; i < 13; ++i)
            axes.push_back({ "a" + std::to_string(i), 1 });
        QVERIFY(!maxtextMesh(sure(Mesh::make(axes))).ok());
    }

    /// The file read by our own reader gives the mesh and, resolved name by name, the layouts of the plan carried over.
    void rulesGiveTheDesign_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        const auto row = [](const char* model, const char* mesh, const char* preset) {
            QTest::addRow("%s %s %s", model, preset, mesh) << model << mesh << preset;
        };
        for (const char* model :
             { "llama3-8b", "qwen2.5-7b", "gemma2-9b", "gemma3-4b", "mixtral-8x7b", "deepseek2-16b", "gpt-oss-20b" })
            for (const char* preset : { "replicate", "megatron-tp", "tp-sp" })
                row(model, "data=2,model=4", preset);
        row("llama3-8b", "fsdp=2,tensor=4", "tp+fsdp");
        row("gemma2-9b", "fsdp=2,tensor=4", "tp+fsdp");
        row("llama3-8b", "context=4,data=2", "cp-all-gather");
        row("qwen3-30b-a3b", "data=2,expert=4", "ep");
    }
    void rulesGiveTheDesign()
    {
        QFETCH(QString, model);
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        const Design design = builtin(model.toUtf8().constData(), mesh.toUtf8().constData(), preset.toUtf8().constData());
        const auto evaluation = evaluated(design);
        const auto files = exported(design);
        QVERIFY2(files.ok(), files.ok() ? "" : files.error().text().c_str());
        const std::string config = file(files.value(), "maxtext.yml");
        const RuleSetup setup = readBack(config);
        QCOMPARE(config, file(sure(exported(design)), "maxtext.yml")); // stable
        const Mesh there = sure(meshOf(setup, design.mesh.deviceCount(), 1));
        QCOMPARE(there.deviceCount(), design.mesh.deviceCount());
        for (int i = 0; i < there.axisCount(); ++i)
            QCOMPARE(there.axis(i).size, design.mesh.axis(i).size);
        const ParameterNames names = sure(namesOf(design.model, NameScheme::MaxText));
        const auto laidOut = laidOutParameters(names, *evaluation, design.mesh);
        QVERIFY(!laidOut.empty());
        for (const LaidOutParameter& one : laidOut) {
            QVERIFY(one.carried.ok());
            const auto resolved = sure(resolveNames(one.parameter->logicalNames, setup.rules, one.parameter->name));
            const Layout layout = sure(layoutFromSpec(withoutUselessAxes(resolved.spec, there), there, one.parameter->name));
            QCOMPARE(QByteArray::fromStdString(specText(layout, there)),
                     QByteArray::fromStdString(specText(one.carried.value().layout, there)));
        }
        QVERIFY(json::accept(file(files.value(), "names.json")));
        QVERIFY(file(files.value(), "check.py").starts_with("\"\"\"Compares the shards"));
    }

    /// A few rules as one would write them.
    void rulesByHand()
    {
        const std::string config = file(sure(exported(builtin("llama3-8b", "data=2,model=4", "tp-sp"))), "maxtext.yml");
        for (const char* line :
             { "ici_data_parallelism: 2\n", "ici_tensor_parallelism: 4\n", "mesh_axes: ['data', 'tensor']\n",
               "  ['q_heads', ['tensor']],\n", "  ['heads', ['tensor']],\n", "  ['mlp', ['tensor']],\n", "  ['embed', []],\n",
               "  ['norm', []],\n", "  ['activation_batch', ['data']],\n", "  ['activation_norm_length', ['tensor']],\n",
               "  ['activation_length', []],\n", "  ['activation_heads', ['tensor']],\n", "  ['activation_mlp', ['tensor']],\n",
               "base_config: 'base.yml'\n", "override_logical_axis_rules: true\n", "data = data, model = tensor\n" })
            QVERIFY2(config.find(line) != std::string::npos, (line + ("\n" + config)).c_str());
        QVERIFY(config.find("input_data_sharding_logical_axes: ['activation_embed_and_logits_batch', 'activation_length']\n")
                != std::string::npos); // not norm_length, which is cut over tensor
    }

    void refusals()
    {
        const auto says = [](const std::string& text, const char* part) {
            if (text.find(part) == std::string::npos)
                qWarning("%s", text.c_str());
            return text.find(part) != std::string::npos;
        };
        QVERIFY(says(refusal(builtin("llama3-8b", "fsdp=8", "fsdp")), "MaxText names both 'embed'"));
        QVERIFY(says(refusal(builtin("mixtral-8x7b", "fsdp=8", "fsdp")), "has no logical name"));
        QVERIFY(says(refusal(builtin("qwen2.5-7b", "fsdp=8", "fsdp")), "does not divide its 28 heads"));
        QVERIFY(says(refusal(builtin("tinyllama-1.1b", "model=3", "megatron-tp")), "equal parts"));
        Workload training;
        training.kind = WorkloadKind::Train;
        training.batch = training.microBatches = 4;
        QVERIFY(says(refusal(builtin("llama3-8b", "stage=4,model=2", "pp-1f1b", training)), "pipeline"));
        Design turned = builtin("llama3-8b", "data=2,model=4", "megatron-tp");
        turned.mesh = sure(Mesh::make(turned.mesh.axes(), { 7, 6, 5, 4, 3, 2, 1, 0 }));
        QVERIFY(says(refusal(turned), "orders the devices itself"));
        Design layer = builtin("llama3-8b", "data=2,model=4", "megatron-tp");
        StrategyEntry entry;
        entry.match = "model.layers.3.mlp.up_proj.weight";
        layer.strategies.push_back(entry);
        QVERIFY(says(refusal(layer), "are laid out differently"));
        const Design falcon = builtin("llama3-8b", "data=2,model=4", "megatron-tp");
        Design strange = falcon;
        strange.model.family = "falcon";
        QVERIFY(says(refusal(strange), "no table of the names"));
    }

    void oneTensorHasAllLayouts_data()
    {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("rules");
        const auto row = [](const char* name, const char* spec, const char* rows, const char* cols) {
            QTest::newRow(name) << spec << QString("  ['tensor0_dim0', [%1]],\n  ['tensor0_dim1', [%2]],\n]\n").arg(rows, cols);
        };
        row("L1", "P('model')", "'tensor'", "");
        row("L2", "P(None,'model')", "", "'tensor'");
        row("L3", "P('data','model')", "'data'", "'tensor'");
        row("L4", "P('model','data')", "'tensor'", "'data'");
        row("L5", "P(('data','model'))", "'data', 'tensor'", "");
        row("L6", "P(('model','data'))", "'tensor', 'data'", "");
        row("L7", "P()", "", "");
    }
    void oneTensorHasAllLayouts()
    {
        QFETCH(QString, spec);
        QFETCH(QString, rules);
        const std::string config = file(sure(exported(oneTensor(spec.toStdString()))), "maxtext.yml");
        QVERIFY2(config.ends_with(rules.toStdString()), config.c_str());
    }
    void partialWeights() { QVERIFY(!refusal(oneTensor("P('data',unreduced={'model'})")).empty()); }

    /// What a name holds never becomes a line, a key or a word of a shell.
    void hostileNames()
    {
        const std::string tame = file(sure(exported(builtin("llama3-8b", "data=2,model=4", "megatron-tp"))), "maxtext.yml");
        for (const std::string& name :
             { std::string("a\nmesh_axes: []\n"), std::string("a' \"x\" # {[: \\"), std::string("$(touch x) `id`; rm"),
               std::string("\xe2\x80\xa8mesh_axes: []\xc2\x85x: 1"), std::string("\xff\x1b]0;t\x07") }) {
            Design design = builtin("llama3-8b", "data=2,model=4", "megatron-tp");
            design.model.name = name;
            const auto files = sure(exported(design));
            const std::string config = file(files, "maxtext.yml");
            QCOMPARE(std::ranges::count(config, '\n'), std::ranges::count(tame, '\n'));
            QVERIFY(std::ranges::all_of(config, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
            QVERIFY(readBack(config).rules == readBack(tame).rules);
            QVERIFY(config.find(" model_name=default override") != std::string::npos);
            QVERIFY(json::accept(file(files, "names.json")));
            const std::string loose = file(sure(exported(oneTensor("P('model')", "data=2,model=4", name))), "maxtext.yml");
            QVERIFY(loose.find("tensor0_dim0") != std::string::npos && loose.find("touch") == std::string::npos);
        }
    }
};

SHARDBOARD_TEST(TestMaxTextExport)
#include "tst_maxtextexport.moc"

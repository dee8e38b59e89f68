// SPDX-License-Identifier: Apache-2.0
// What the export to JAX says beside the weights: activations and gradients by what the presets are defined to do, gathers at use,
// optimizer states, what is kept, and the names of other trees. Written out by hand, line by line.
#include "model/io/checkpoint/openmodel.h"
#include "model/io/targets/jax/constraints.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>
#include <set>
#include <tuple>

using namespace shardboard;

namespace {

Workload trainingStep()
{
    Workload workload;
    workload.kind = WorkloadKind::Train;
    workload.batch = 16;
    workload.sequence = 64;
    return workload;
}

Design trainingOf(const char* model, const char* mesh, const char* preset, const Workload& workload = trainingStep())
{
    return designOn(mesh, builtinModel(model).value(), workload, preset);
}

std::string jaxModule(const Design& design) { return exportedFile("jax", design, "export.py"); }

/// The table of that name, as it stands in the module.
std::string tableIn(const std::string& module, const std::string& name)
{
    const auto at = module.find("\n" + name + " = {\n");
    if (at == std::string::npos)
        qFatal("no table %s", name.c_str());
    return module.substr(at, module.find("\n}\n", at) - at + 1);
}

/// Lines are written with apostrophes here.
std::string withQuotes(std::string text)
{
    std::ranges::replace(text, '\'', '"');
    return text;
}

bool hasLine(const std::string& table, const char* line)
{
    return table.find("\n    " + withQuotes(line) + "\n") != std::string::npos;
}

int entriesOf(const std::string& table) { return static_cast<int>(std::ranges::count(table, '\n')) - 2; }

} // namespace

class TestJaxExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Sequence parallel between the products: made cut over the sequence, taken whole, and the same on the way back.
    void activationsGoWhereThePresetSays_data()
    {
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QStringList>("lines");
        const QString stream = QStringLiteral("': (('batch', 'sequence', 'hidden'), ");
        const QString heads = QStringLiteral("': (('batch', 'sequence', 'heads', 'head dim'), ");
        const QString kvHeads = QStringLiteral("': (('batch', 'sequence', 'KV heads', 'head dim'), ");
        QTest::newRow("megatron-tp") << "megatron-tp"
                                     << "data=2,model=4"
                                     << QStringList { "'mlp in" + stream + "[P('data')], [P('data')]),",
                                                      "'mlp out" + stream + "[P('data')], [P('data')]),",
                                                      "'q rotated" + heads
                                                          + "[P('data', None, 'model')], [P('data', None, 'model')])," };
        QTest::newRow("tp-sp") << "tp-sp"
                               << "data=2,model=4"
                               << QStringList { "'embedding" + stream
                                                    + "[P('data'), P('data', 'model')], [P('data', 'model'), P('data')]),",
                                                "'mlp in" + stream + "[P('data', 'model'), P('data')], [P('data', 'model')]),",
                                                "'mlp out" + stream + "[P('data', 'model')], [P('data', 'model'), P('data')]),",
                                                "'layer out" + stream + "[P('data', 'model')], [P('data', 'model')])," };
        QTest::newRow("cp-all-gather") << "cp-all-gather"
                                       << "context=4,fsdp=2"
                                       << QStringList { "'k rotated" + kvHeads
                                                            + "[P('fsdp', 'context'), P('fsdp')], [P('fsdp', 'context')]),",
                                                        "'q rotated" + heads + "[P('fsdp', 'context')], [P('fsdp', 'context')])," };
        QTest::newRow("cp-ulysses")
            << "cp-ulysses"
            << "context=8"
            << QStringList { "'q rotated" + heads
                             + "[P(None, 'context'), P(None, None, 'context')], [P(None, None, 'context'), P(None, 'context')])," };
    }
    void activationsGoWhereThePresetSays()
    {
        QFETCH(QString, preset);
        QFETCH(QString, mesh);
        QFETCH(QStringList, lines);
        const std::string table =
            tableIn(jaxModule(trainingOf("llama3-8b", mesh.toLatin1().constData(), preset.toLatin1().constData())), "ACTIVATIONS");
        for (const QString& line : lines)
            QVERIFY2(hasLine(table, line.toLatin1().constData()), (line.toStdString() + "\n" + table).c_str());
    }

    /// Of one KV head on four devices each has a part of its rows, and the gradient of what all of them take stays partial until it
    /// is multiplied, which JAX has no word for: it is summed where it is made.
    void partialGradientsAreSummed()
    {
        Design design = trainingOf("llama3-8b", "data=2,model=4", "megatron-tp");
        design.model.kvHeads = 1;
        const std::string table = tableIn(jaxModule(design), "ACTIVATIONS");
        for (const char* line :
             { "'k': (('batch', 'sequence', 'KV heads x head dim'), [P('data', None, 'model'), P('data')], [P('data')]),",
               "'v heads': (('batch', 'sequence', 'KV heads', 'head dim'), [P('data')], [P('data')]),",
               "'k rotated': (('batch', 'sequence', 'KV heads', 'head dim'), [P('data')], [P('data')])," })
            QVERIFY2(hasLine(table, line), (line + ("\n" + table)).c_str());
    }

    /// A value that stays partial goes nowhere, and is known by its name: a program calls it under every preset.
    void partialValuesAreKnown()
    {
        for (const auto& [preset, mesh, last] : { std::tuple { "megatron-tp", "data=2,model=4", "[], [P(None, 'data')])," },
                                                  std::tuple { "ep", "data=2,expert=4", "" } }) {
            const std::string table = tableIn(jaxModule(trainingOf("mixtral-8x7b", mesh, preset)), "ACTIVATIONS");
            const auto at = table.find("\n    \"expert out\": ((");
            QVERIFY2(at != std::string::npos, table.c_str());
            const std::string line = table.substr(at, table.find('\n', at + 1) - at);
            QVERIFY2(line.ends_with(withQuotes(last)), line.c_str());
        }
    }

    /// Dims of other trees are words, also of a bias, whose dim is called `out (heads x head dim)`: functions read them apart by
    /// spaces.
    void dimsOfTreesAreWords()
    {
        const std::string table = tableIn(jaxModule(trainingOf("qwen2.5-7b", "data=2,model=4", "megatron-tp")), "TREES");
        const auto at = table.find("\"model/layers/*/self_attn/q_proj/bias\"");
        QVERIFY(at != std::string::npos);
        const std::string entry = table.substr(at, table.find("),\n", at) - at);
        QVERIFY2(entry.find("\"dim0 -> dim0\", {\"dim0\": 3584}") != std::string::npos, entry.c_str());
        QCOMPARE(table.find("(out ("), std::string::npos);
    }

    /// Tokens go to the experts and back by an all-to-all, and their gradients the same way around; also where the values that are
    /// sent are partial sums, which is told as if they were summed before.
    void tokensGoToExpertsAndBack_data()
    {
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("atTokens");
        QTest::addColumn<QString>("atExperts");
        QTest::newRow("ep") << "ep"
                            << "data=2,expert=4"
                            << "P(None, ('data', 'expert'))"
                            << "P('expert', 'data')";
        QTest::newRow("ep+tp") << "ep+tp"
                               << "expert=4,tensor=2"
                               << "P(None, 'expert')"
                               << "P('expert')";
    }
    void tokensGoToExpertsAndBack()
    {
        QFETCH(QString, preset);
        QFETCH(QString, mesh);
        QFETCH(QString, atTokens);
        QFETCH(QString, atExperts);
        const std::string table = tableIn(
            jaxModule(trainingOf("mixtral-8x7b", mesh.toLatin1().constData(), preset.toLatin1().constData())), "ACTIVATIONS");
        const QString dims = QStringLiteral("': (('experts', 'batch', 'sequence', 'hidden'), [%1, %2], [%2, %1]),");
        const QString sent = QStringLiteral("'dispatched") + dims.arg(atTokens, atExperts);
        const QString back = QStringLiteral("'expert out") + dims.arg(atExperts, atTokens);
        for (const QString& line : { sent, back })
            QVERIFY2(hasLine(table, line.toLatin1().constData()), (line.toStdString() + "\n" + table).c_str());
    }

    /// Weights of FSDP are gathered over its axis alone, and their gradients end as the weights lie.
    void weightsAreGatheredAtUse()
    {
        const std::string module = jaxModule(trainingOf("llama3-8b", "fsdp=2,tensor=4", "tp+fsdp"));
        const std::string used = tableIn(module, "USED");
        QVERIFY2(hasLine(used, "'model.layers.*.mlp.up_proj.weight': P('tensor'),"), used.c_str());
        QVERIFY2(hasLine(used, "'model.layers.*.mlp.down_proj.weight': P(None, 'tensor'),"), used.c_str());
        QVERIFY2(hasLine(used, "'model.norm.weight': P(),"), used.c_str());
        QCOMPARE(entriesOf(tableIn(module, "OPTIMIZER")), 0);
        // Only the table of the embedding goes by way of its whole sum.
        const std::string gradients = tableIn(module, "GRADIENTS");
        QCOMPARE(entriesOf(gradients), 1);
        QVERIFY2(hasLine(gradients, "'model.embed_tokens.weight': [P('tensor'), P('tensor', 'fsdp')],"), gradients.c_str());
    }

    void optimizerStatesOfZeroAreCutFurther()
    {
        Design design = trainingOf("llama3-8b", "data=2,model=4", "megatron-tp");
        design.workload.optimizer.axes = { "data" };
        const std::string module = jaxModule(design);
        QVERIFY(hasLine(tableIn(module, "OPTIMIZER"), "'model.layers.*.mlp.up_proj.weight': P(('model', 'data')),"));
        QVERIFY(hasLine(tableIn(module, "GRADIENTS"), "'model.layers.*.mlp.up_proj.weight': [P(('model', 'data'))],"));
        QCOMPARE(entriesOf(tableIn(module, "USED")), 0);
    }

    /// Of full recomputation the input of a layer is kept, of none what the gradients need, cut over the sequence as it is made.
    void whatIsKeptIsNamed()
    {
        Design design = trainingOf("llama3-8b", "data=2,model=4", "tp-sp");
        const std::string none = tableIn(jaxModule(design), "KEPT");
        QVERIFY(hasLine(none, "'mlp in': P('data', 'model'),") && hasLine(none, "'q rotated': P('data', None, 'model'),"));
        design.workload.recompute = Recompute::Full;
        const std::string module = jaxModule(design);
        QVERIFY(module.find("\nRECOMPUTE = \"full\"\n") != std::string::npos);
        const std::string full = tableIn(module, "KEPT");
        QVERIFY(hasLine(full, "'residual stream': P('data', 'model'),"));
        QVERIFY(full.find("mlp") == std::string::npos && full.find("rotated") == std::string::npos);
    }

    /// Nothing of a backward pass in a program that has none.
    void inferenceHasNoGradients()
    {
        Workload workload = trainingStep();
        workload.kind = WorkloadKind::Prefill;
        const std::string module = jaxModule(trainingOf("llama3-8b", "fsdp=8", "fsdp", workload));
        QVERIFY(module.find("\nTRAINING = False\n") != std::string::npos);
        for (const char* name : { "KEPT", "GRADIENTS", "OPTIMIZER" })
            QCOMPARE(entriesOf(tableIn(module, name)), 0);
        QVERIFY(hasLine(tableIn(module, "ACTIVATIONS"), "'mlp in': (('batch', 'sequence', 'hidden'), [P('fsdp')], []),"));
        QVERIFY(hasLine(tableIn(module, "USED"), "'lm_head.weight': P(),"));
    }

    /// Every name is said once, each of its layouts has its dims and no partial sums, and a kept layout is one that the value has.
    void constraintsHoldTogether_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        for (const char* model : { "llama3-8b", "qwen2.5-7b", "gemma2-9b", "mixtral-8x7b", "deepseek2-16b", "gpt-oss-20b" })
            for (const auto& [mesh, preset] : { std::pair { "data=2,model=4", "tp-sp" }, { "fsdp=2,tensor=4", "tp+fsdp" } })
                QTest::addRow("%s %s", model, preset) << model << mesh << preset;
    }
    void constraintsHoldTogether()
    {
        QFETCH(QString, model);
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        const Design design = trainingOf(model.toLatin1().constData(), mesh.toLatin1().constData(), preset.toLatin1().constData());
        const auto evaluation = sure(evaluate(design));
        const Constraints constraints = constraintsOf(*evaluation);
        std::set<std::string> names;
        for (const ActivationConstraint& activation : constraints.activations) {
            QVERIFY2(names.insert(activation.name).second, activation.name.c_str());
            // What experts make stays partial until it is added up.
            const std::set<std::string> partial { "expert out", "routed out", "shared out" };
            QVERIFY2(!activation.forward.empty() || partial.contains(activation.name), activation.name.c_str());
            for (const auto* chain : { &activation.forward, &activation.gradient })
                for (const Layout& layout : *chain)
                    QVERIFY2(layout.dims.size() == activation.dims.size() && layout.partial.empty(), activation.name.c_str());
            QVERIFY2(!activation.kept || std::ranges::find(activation.forward, *activation.kept) != activation.forward.end(),
                     activation.name.c_str());
        }
        QVERIFY(names.size() > 15);
        QVERIFY(constraints.unsaid.empty() && !constraints.rings);
        for (const WeightConstraint& weight : constraints.weights)
            QVERIFY(weight.optimizer.has_value() && !weight.gradient.empty() && weight.gradient.back() == *weight.optimizer);
        QCOMPARE(jaxModule(design), jaxModule(design)); // the same bytes
    }

    /// What no layout says is told.
    void ringsAreLeftOut()
    {
        const Design design = trainingOf("llama3-8b", "context=8", "cp-ring");
        const auto left = findExportTarget("jax")->leftOut(design, *sure(evaluate(design)));
        QCOMPARE(left.size(), std::size_t(1));
        QVERIFY(left.front().starts_with("ring attention"));
    }

    /// A CPU has threads for hundreds of simulated devices; ids count, not how many there are.
    void manyDevicesAreNotSimulated_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<int>("firstId");
        QTest::addColumn<int>("simulated");
        QTest::newRow("8") << "x=8" << 0 << 8;
        QTest::newRow("512") << "x=2,y=256" << 0 << 512;
        QTest::newRow("1,024") << "x=4,y=256" << 0 << 1;
        QTest::newRow("8 of many") << "x=8" << 505 << 1;
        QTest::newRow("the last 8 of 512") << "x=8" << 504 << 512;
    }
    void manyDevicesAreNotSimulated()
    {
        QFETCH(QString, mesh);
        QFETCH(int, firstId);
        QFETCH(int, simulated);
        Design design = looseDesign({ 1024 }, mesh.toStdString(), "P('x')");
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; i < design.mesh.deviceCount(); ++i)
            ids.push_back(firstId + i);
        design.mesh = sure(Mesh::make(design.mesh.axes(), ids));
        const std::string module = jaxModule(design);
        const std::string flag = "--xla_force_host_platform_device_count=" + std::to_string(simulated) + "\"\n";
        QVERIFY2(module.find(flag) != std::string::npos, flag.c_str());
        QVERIFY(module.find("\nMOST_SIMULATED = 512\n") != std::string::npos);
    }

    /// Names of other trees, as far as the model's family has a table.
    void treesAreNamed()
    {
        const std::string trees = tableIn(jaxModule(trainingOf("llama3-8b", "data=2,model=4", "megatron-tp")), "TREES");
        for (const char* part :
             { "'params/model/layers/*/self_attn/q_proj/kernel': ('model.layers.*.self_attn.q_proj.weight',",
               "'params/params/decoder/layers/self_attention/query/kernel': ('model.layers.*.self_attn.q_proj.weight',",
               "'layers (heads head_dim) in -> in layers heads head_dim', {'layers': 32, 'heads': 32, 'head_dim': 128, 'in': "
               "4096}, 0, 1)," })
            QVERIFY2(trees.find(withQuotes(part)) != std::string::npos, part);
        // MaxText stacks Gemma 2's local and global layers apart, which take turns.
        const std::string turns = tableIn(jaxModule(trainingOf("gemma2-9b", "data=2,model=4", "megatron-tp")), "TREES");
        for (const char* part : { "'params/params/decoder/layers/mlp_local/wi_0/kernel': ('model.layers.*.mlp.gate_proj.weight',\n"
                                  "        'layers out in -> in layers out', {'layers': 21, 'out': 14336, 'in': 3584}, 0, 2),",
                                  "'params/params/decoder/layers/mlp_global/wi_0/kernel': ('model.layers.*.mlp.gate_proj.weight',\n"
                                  "        'layers out in -> in layers out', {'layers': 21, 'out': 14336, 'in': 3584}, 1, 2)," })
            QVERIFY2(turns.find(withQuotes(part)) != std::string::npos, part);
        // DeepSeek's first layer has no experts, so that the first of those stacked is the second.
        const std::string later = tableIn(jaxModule(trainingOf("deepseek2-16b", "data=2,model=4", "megatron-tp")), "TREES");
        const char* gate = "'params/params/decoder/moe_layers/DeepSeekMoeBlock_0/MoeBlock_0/gate/kernel': "
                           "('model.layers.*.mlp.gate.weight',\n"
                           "        'layers out in -> in layers out', {'layers': 26, 'out': 64, 'in': 2048}, 1, 1),";
        QVERIFY2(later.find(withQuotes(gate)) != std::string::npos, later.c_str());
        const std::string experts = jaxModule(trainingOf("mixtral-8x7b", "data=2,model=4", "megatron-tp"));
        QVERIFY(experts.find("\nEXPERTS = (\n    \"model.layers.*.block_sparse_moe.experts.*.w1.weight\",\n") != std::string::npos);
        QVERIFY(hasLine(tableIn(experts, "SHAPES"), "'model.layers.*.block_sparse_moe.experts.*.w2.weight': (8, 4096, 14336),"));
    }
};

SHARDBOARD_TEST(TestJaxExport)
#include "tst_jaxexport.moc"

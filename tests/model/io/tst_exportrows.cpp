// SPDX-License-Identifier: Apache-2.0
// Layouts that notations tell apart, and dims that do not divide, in all twelve targets: what a framework's language says is
// written in its own words, with the shards that the layout means; what it does not say is refused for that reason. Expected texts
// and sizes were worked out from the frameworks' own rules, not from what is written here.
#include "tests/support/datarow.h"
#include "tests/support/exports.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QStringList>
#include <QTest>

#include <algorithm>
#include <array>
#include <map>

using namespace shardboard;
using nlohmann::json;

namespace {

/// Targets that lay out any tensor, and a file of each with a text that is about `w`.
struct TensorTarget {
    const char* id;
    const char* file;
    const char* before; ///< what stands before the layout of `w`
};
constexpr std::array<TensorTarget, 5> kTensorTargets { {
    { "jax", "export.py", "    \"w\": " },
    { "shardy", "design.mlir", "sdy.sharding<@mesh, " },
    { "hlo", "hlo_shardings.json", "\"sharding\": \"" },
    { "torch", "export.py", ", (" }, // after the shape
    { "max", "max_design.py", "    \"w\": " },
} };
/// Targets that know the modules of a model, and lay out what their own layers cut.
constexpr std::array<const char*, 6> kModelTargets { "hf", "deepspeed", "vllm", "sglang", "trtllm", "megatron" };

/// Elements along dim 0 that the devices hold, in the order of their ids.
std::vector<std::vector<std::int64_t>> rowsHeld(const char* target, const Design& design)
{
    std::vector<std::vector<std::int64_t>> out(static_cast<std::size_t>(design.mesh.deviceCount()));
    const json document = json::parse(exportedFile(target, design, "shards.json"));
    for (const json& shard : document["tensors"][0]["shards"])
        for (const json& device : shard["devices"])
            out[device.get<std::size_t>()] = shard["pieces"][0][0].get<std::vector<std::int64_t>>();
    return out;
}

/// The sizes of what they hold.
std::vector<std::int64_t> sizesHeld(const char* target, const Design& design)
{
    std::vector<std::int64_t> out;
    for (const std::vector<std::int64_t>& range : rowsHeld(target, design))
        out.push_back(range[1] - range[0]);
    return out;
}

/// As a file says it: without the commas, spaces and Nones that some of them end with.
bool says(const TensorTarget& target, const Design& design, const std::string& text)
{
    return exportedFile(target.id, design, target.file).find(target.before + text) != std::string::npos;
}

/// `3x2, 2` as 3, 3, 2.
std::vector<std::int64_t> sizes(const QString& text)
{
    std::vector<std::int64_t> out;
    for (const QString& part : text.split(QLatin1Char(' '))) {
        const QStringList times = part.split(QLatin1Char('x'));
        out.insert(out.end(), times.size() > 1 ? times[1].toULongLong() : 1U, times[0].toLongLong());
    }
    return out;
}

constexpr std::array<CutRule, 4> kRules { CutRule::Strict, CutRule::CeilFlat, CutRule::CeilNested, CutRule::Balanced };

} // namespace

class TestExportRows : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// One tensor: the text of each target, or why it has none.
    void layouts_data()
    {
        for (const char* column : { "mesh", "spec", "jax", "shardy", "hlo", "torch", "max" })
            QTest::addColumn<QString>(column);
        const char* two = "data=2,model=4";
        const auto row = [](const char* name, const char* mesh, const char* spec, const char* jax, const char* shardy,
                            const char* hlo, const char* torch, const char* max) {
            QTest::newRow(name) << QString::fromLatin1(mesh) << QString::fromLatin1(spec) << QString::fromLatin1(jax)
                                << QString::fromLatin1(shardy) << QString::fromLatin1(hlo) << QString::fromLatin1(torch)
                                << QString::fromLatin1(max);
        };
        row("L1", two, "P('model')", "P(\"model\")", "[{\"model\"}, {}]", "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
            "R, S(0)", "(Replicated(), Sharded(0))");
        row("L2", two, "P(None,'model')", "P(None, \"model\")", "[{}, {\"model\"}]",
            "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "R, S(1)", "(Replicated(), Sharded(1))");
        row("L3", two, "P('data','model')", "P(\"data\", \"model\")", "[{\"data\"}, {\"model\"}]", "{devices=[2,4]<=[8]}",
            "S(0), S(1)", "(Sharded(0), Sharded(1))");
        row("L4", two, "P('model','data')", "P(\"model\", \"data\")", "[{\"model\"}, {\"data\"}]", "{devices=[4,2]<=[2,4]T(1,0)}",
            "S(1), S(0)", "(Sharded(1), Sharded(0))");
        row("L5", two, "P(('data','model'))", "P((\"data\", \"model\"))", "[{\"data\", \"model\"}, {}]", "{devices=[8,1]<=[8]}",
            "S(0), S(0)", "(Sharded(0), Sharded(0))");
        row("L6", two, "P(('model','data'))", "P((\"model\", \"data\"))", "[{\"model\", \"data\"}, {}]",
            "{devices=[8,1]<=[2,4]T(1,0)}", "_S(0, 4), S(0)", "refused: in mesh order");
        row("L7", two, "P()", "P()", "[{}, {}]", "{replicated}", "R, R", "(Replicated(), Replicated())");
        row("L8", two, "P('data',unreduced={'model'})", "P(\"data\", unreduced={\"model\"})",
            "[{\"data\"}, {}], unreduced={\"model\"}>", "{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}",
            "S(0), Partial(\"sum\")", "(Sharded(0), Partial())");
        const char* three = "pod=2,fsdp=4,tp=8";
        row("3 axes: fsdp, tp", three, "P('fsdp','tp')", "P(\"fsdp\", \"tp\")", "[{\"fsdp\"}, {\"tp\"}]",
            "{devices=[4,8,2]<=[2,32]T(1,0) last_tile_dim_replicate}", "R, S(0), S(1)", "(Replicated(), Sharded(0), Sharded(1))");
        row("3 axes: tp, fsdp", three, "P('tp','fsdp')", "P(\"tp\", \"fsdp\")", "[{\"tp\"}, {\"fsdp\"}]",
            "{devices=[8,4,2]<=[2,4,8]T(2,1,0) last_tile_dim_replicate}", "R, S(1), S(0)",
            "(Replicated(), Sharded(1), Sharded(0))");
        row("3 axes: pod+fsdp, tp", three, "P(('pod','fsdp'),'tp')", "P((\"pod\", \"fsdp\"), \"tp\")",
            "[{\"pod\", \"fsdp\"}, {\"tp\"}]", "{devices=[8,8]<=[64]}", "S(0), S(0), S(1)", "(Sharded(0), Sharded(0), Sharded(1))");
        row("3 axes: tp, pod+fsdp", three, "P('tp',('pod','fsdp'))", "P(\"tp\", (\"pod\", \"fsdp\"))",
            "[{\"tp\"}, {\"pod\", \"fsdp\"}]", "{devices=[8,8]<=[8,8]T(1,0)}", "S(1), S(1), S(0)",
            "(Sharded(1), Sharded(1), Sharded(0))");
        row("3 axes: fsdp+tp", three, "P(('fsdp','tp'))", "P((\"fsdp\", \"tp\"))", "[{\"fsdp\", \"tp\"}, {}]",
            "{devices=[32,1,2]<=[2,32]T(1,0) last_tile_dim_replicate}", "R, S(0), S(0)", "(Replicated(), Sharded(0), Sharded(0))");
        row("3 axes: pod+tp, fsdp", three, "P(('pod','tp'),'fsdp')", "P((\"pod\", \"tp\"), \"fsdp\")",
            "[{\"pod\", \"tp\"}, {\"fsdp\"}]", "{devices=[16,4]<=[2,4,8]T(0,2,1)}", "S(0), S(1), S(0)",
            "(Sharded(0), Sharded(1), Sharded(0))");
        row("3 axes: partial", three, "P('fsdp',unreduced={'tp'})", "P(\"fsdp\", unreduced={\"tp\"})",
            "[{\"fsdp\"}, {}], unreduced={\"tp\"}>", "{devices=[4,1,2,8]<=[2,4,8]T(1,0,2) last_tile_dims={replicated, unreduced}}",
            "R, S(0), Partial(\"sum\")", "(Replicated(), Sharded(0), Partial())");
        const char* maximum = "refused: partial maximum";
        row("partial maximum", two, "P('data',unreduced={'model'},unreduced_kind=max)",
            "P(\"data\", unreduced={\"model\"}, unreduced_kind=jax.sharding.UnreducedKind.max)",
            "[{\"data\"}, {}], unreduced=max{\"model\"}>", maximum, "S(0), Partial(\"max\")", maximum);
        row("partial over a part", "x=8", "P(unreduced={'x:(2)2'})", "refused: cannot sum over a part of mesh axis 'x'",
            "[{}, {}], unreduced={\"x\":(2)2}>", "{devices=[1,1,4,2]<=[2,2,2]T(0,2,1) last_tile_dims={replicated, unreduced}}",
            "refused: cannot sum over a part of mesh axis 'x'", "refused: has no sub-axes");
    }
    void layouts()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, spec);
        const Design design = looseDesign({ 64, 64 }, mesh.toStdString(), spec.toStdString());
        for (const TensorTarget& target : kTensorTargets) {
            const QString expected = *static_cast<QString*>(QTest::qData(target.id, QMetaType::QString));
            if (expected.startsWith(QStringLiteral("refused: ")))
                QVERIFY2(refusalOf(target.id, design).find(expected.mid(9).toStdString()) != std::string::npos,
                         refusalOf(target.id, design).c_str());
            else
                QVERIFY2(says(target, design, expected.toStdString()), target.id);
        }
        const std::string maxtext = refusalOf("maxtext", design);
        QVERIFY2(maxtext == "not refused" || maxtext.find("terms of a sum") != std::string::npos, maxtext.c_str());
        QCOMPARE(maxtext == "not refused", !spec.contains(QStringLiteral("unreduced")));
    }

    /// What is partial says so in the shards beside each export, and JAX has a mesh of explicit axes for it.
    void partialShards()
    {
        const Design design = looseDesign({ 16, 8 }, "data=2,model=4", "P('data',unreduced={'model'})");
        for (const char* target : { "jax", "shardy", "hlo", "torch", "max" }) {
            const json tensor = json::parse(exportedFile(target, design, "shards.json"))["tensors"][0];
            QCOMPARE(tensor["partial"], (json { { "axes", { "model" } }, { "op", "sum" } }));
            QCOMPARE(tensor["shards"].size(), std::size_t(2)); // each whole on the four devices that sum it
            QCOMPARE(rowsHeld(target, design)[5], (std::vector<std::int64_t> { 8, 16 }));
        }
        QVERIFY(
            !json::parse(exportedFile("jax", looseDesign({ 16, 8 }, "data=2,model=4", "P('data')"), "shards.json"))["tensors"][0]
                 .contains("partial"));
        const Design one = looseDesign({ 16, 8 }, "data=2,model=1", "P('data',unreduced={'model'})"); // no sum
        for (const char* target : { "jax", "shardy", "hlo", "torch", "max", "maxtext" }) {
            QVERIFY(!json::parse(exportedFile(target, one, "shards.json"))["tensors"][0].contains("partial"));
            QCOMPARE(exportedFile(target, one, "shards.json"),
                     exportedFile(target, looseDesign({ 16, 8 }, "data=2,model=1", "P('data')"), "shards.json"));
        }
        QVERIFY(exportedFile("jax", one, "export.py").find("\"w\": P(\"data\"),") != std::string::npos);
        QVERIFY(findExportTarget("jax")->usage(design, *evaluated(design)).find("put(params, mesh())") != std::string::npos);
    }

    /// What devices 0 to 7 hold of 16 rows, in the shards beside each export: L5 and L6 have shards of the same shapes.
    void rowsOfShards()
    {
        const std::map<std::string, std::array<int, 8>> firstRows { { "P('model')", { 0, 4, 8, 12, 0, 4, 8, 12 } },
                                                                    { "P(('data','model'))", { 0, 2, 4, 6, 8, 10, 12, 14 } },
                                                                    { "P(('model','data'))", { 0, 4, 8, 12, 2, 6, 10, 14 } } };
        for (const auto& [spec, first] : firstRows)
            for (const char* target : { "jax", "shardy", "hlo", "torch", "maxtext" }) {
                const auto held = rowsHeld(target, looseDesign({ 16, 8 }, "data=2,model=4", spec));
                for (std::size_t device = 0; device < first.size(); ++device) {
                    const std::int64_t rows = spec == "P('model')" ? 4 : 2;
                    QCOMPARE(held[device], (std::vector<std::int64_t> { first[device], first[device] + rows }));
                }
            }
    }

    /// Sizes by the rules ceil-flat, ceil-nested, and balanced; strict is none of them.
    void uneven_data()
    {
        for (const char* column : { "mesh", "spec", "ceil-flat", "ceil-nested", "balanced" })
            QTest::addColumn<QString>(column);
        QTest::addColumn<int>("size");
        const auto row = [](int size, const char* mesh, const char* spec, const char* flat, const char* nested,
                            const char* balanced) {
            QTest::addRow("%d over %s", size, mesh)
                << QString::fromLatin1(mesh) << QString::fromLatin1(spec) << QString::fromLatin1(flat)
                << QString::fromLatin1(nested) << QString::fromLatin1(balanced) << size;
        };
        row(10, "x=4", "P('x')", "3x3 1", "3x3 1", "3x2 2x2");
        row(5, "x=4", "P('x')", "2x2 1 0", "2x2 1 0", "2 1x3");
        row(5, "x=2,y=2", "P(('x','y'))", "2x2 1 0", "2 1x3", "2 1x3");
        row(10, "x=2,y=3", "P(('x','y'))", "2x5 0", "2x2 1 2x2 1", "2x4 1x2");
        row(28, "x=8", "P('x')", "4x7 0", "4x7 0", "4x4 3x4");
        row(32000, "x=12", "P('x')", "2667x11 2663", "2667x11 2663", "2667x8 2666x4");
    }
    void uneven()
    {
        QFETCH(int, size);
        QFETCH(QString, mesh);
        QFETCH(QString, spec);
        const auto cutBy = [](const char* rule) { return sizes(*static_cast<QString*>(QTest::qData(rule, QMetaType::QString))); };
        const std::map<std::string, const char*> ruleOf {
            { "shardy", "ceil-flat" }, { "hlo", "ceil-flat" }, { "torch", "ceil-nested" }, { "max", "balanced" }
        };
        for (const CutRule rule : kRules) {
            const Design design = looseDesign({ size, 4 }, mesh.toStdString(), spec.toStdString(), rule);
            for (const char* target : { "jax", "maxtext", "shardy", "hlo", "torch", "max" }) {
                const std::string refusal = refusalOf(target, design);
                const auto own = ruleOf.find(target);
                const bool same =
                    rule != CutRule::Strict && own != ruleOf.end() && cutBy(own->second) == cutBy(cutRuleName(rule).c_str());
                QVERIFY2((refusal == "not refused") == same, (std::string(target) + ": " + refusal).c_str());
                if (same) {
                    QCOMPARE(sizesHeld(target, design), cutBy(own->second));
                    continue;
                }
                const char* reason = rule == CutRule::Strict ? "does not divide by"
                    : own == ruleOf.end()                    ? "equal parts"
                                                             : "is cut by the rule";
                QVERIFY2(refusal.find(reason) != std::string::npos, (std::string(target) + ": " + refusal).c_str());
            }
        }
    }

    /// The same layouts of a model's weights, in targets that know modules: gate and up are made in parts or whole, down takes
    /// parts.
    void modules_data()
    {
        for (const char* column : { "mesh", "weights", "spec" })
            QTest::addColumn<QString>(column);
        for (const char* target : kModelTargets)
            QTest::addColumn<QString>(target);
        const auto rowOn = [](const char* mesh, const char* weights, const char* name, const char* spec,
                              std::array<const char*, 6> told) {
            QTestData& data = QTest::addRow("%s of %s", name, weights);
            data << QString::fromLatin1(mesh) << QString::fromLatin1(weights) << QString::fromLatin1(spec);
            for (const char* text : told)
                data << QString::fromLatin1(text);
        };
        const auto row = [&](const char* weights, const char* name, const char* spec, std::array<const char*, 6> told) {
            rowOn("data=2,model=4", weights, name, spec, told);
        };
        const char* own = " on rank 0 is ";
        const char* gathered = "'data' cuts weights and the batch, so that weights are gathered before use";
        const char* flat = "FSDP cuts one flat buffer of all weights";
        const char* few = "which cuts the batch as well and over which the others are whole";
        const char* partial = "a weight or input cannot be partial";
        for (const char* weights : { "gate up", "down" }) {
            row(weights, "L3", "P('data','model')", { few, few, gathered, gathered, gathered, flat });
            row(weights, "L4", "P('model','data')", { few, few, gathered, gathered, gathered, flat });
            row(weights, "L5", "P(('data','model'))", { few, few, gathered, gathered, gathered, flat });
            row(weights, "L6", "P(('model','data'))", { few, few, gathered, gathered, gathered, flat });
            row(weights, "L8", "P('data',unreduced={'model'})", { partial, partial, partial, partial, partial, partial });
        }
        row("gate up", "L1", "P('model')", { "", "", "", "", "", "" });
        row("down", "L2", "P(None,'model')", { "", "", "", "", "", "" });
        // Rows of gate and up take a part of the hidden dim, of which each rank has all.
        row("gate up", "L2", "P(None,'model')", { "", "DeepSpeed cuts nothing between modules", own, own, own, own });
        row("down", "L1", "P('model')", { "it takes all of its input", "it takes all of its input", own, own, own, own });
        row("gate up", "L7", "P()", { "", "DeepSpeed cuts nothing between modules", own, own, own, own });
        row("down", "L7", "P()", { "it takes all of its input", "it takes all of its input", own, own, own, own });
        row("gate up down", "L7", "P()", { "", "", own, own, own, own });
        // Three axes: both that cut the batch hold parts of a weight, or one of them.
        const char* three = "pod=2,fsdp=4,tp=8";
        const char* one = "'fsdp' cuts weights and the batch, so that weights are gathered before use";
        const char* both = "'pod and fsdp' cuts weights and the batch, so that weights are gathered before use";
        const char* all = "and ZeRO stage 3 cuts them over all data-parallel ranks";
        for (const char* spec : { "P('fsdp','tp')", "P('tp','fsdp')", "P(('fsdp','tp'))" })
            rowOn(three, "gate up", spec, spec, { few, all, one, one, one, flat });
        for (const char* spec : { "P(('pod','fsdp'),'tp')", "P('tp',('pod','fsdp'))", "P(('pod','tp'),'fsdp')" })
            rowOn(three, "gate up", spec, spec,
                  { "Hugging Face has one FSDP group", "and one of data-parallel ranks", both, both, both, flat });
        const char* terms = "P('fsdp',unreduced={'tp'})";
        rowOn(three, "gate up", terms, terms, { partial, partial, partial, partial, partial, partial });
    }
    void modules()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, weights);
        QFETCH(QString, spec);
        for (const char* target : kModelTargets) {
            Workload workload;
            const std::string id = target;
            workload.kind = id == "megatron" || id == "deepspeed" ? WorkloadKind::Train : WorkloadKind::Prefill;
            workload.batch = 64;
            workload.sequence = 64;
            const bool threeAxes = mesh.startsWith(QStringLiteral("pod"));
            Design design = designOn(mesh.toStdString(), denseModel(256, 64, 128, 3, 8, 4, 8), workload,
                                     threeAxes ? "replicate" : "megatron-tp");
            if (id == "deepspeed") // which cuts no embedding that is not tied
                design.strategies.push_back({ "model.embed_tokens.weight", { StrategyKind::Replicate }, std::nullopt });
            for (const QString& weight : weights.split(QLatin1Char(' ')))
                design.strategies.push_back({ "*." + weight.toStdString() + "_proj.weight",
                                              { StrategyKind::Spec, {}, 0, spec.toStdString() },
                                              std::nullopt });
            const QString told = *static_cast<QString*>(QTest::qData(target, QMetaType::QString));
            const std::string refusal = refusalOf(target, design);
            QVERIFY2(told.isEmpty() ? refusal == "not refused" : refusal.find(told.toStdString()) != std::string::npos,
                     (id + ": " + refusal).c_str());
        }
    }

    /// The sizes that do not divide, as the intermediate dim of a model whose other weights are whole: torch's rule and DeepSpeed's
    /// are said and held, and the others cut equal parts of all weights, or none.
    void unevenModules_data() { uneven_data(); }
    void unevenModules()
    {
        QFETCH(int, size);
        QFETCH(QString, mesh);
        QFETCH(QString, spec);
        const auto cutBy = [](const char* rule) { return sizes(*static_cast<QString*>(QTest::qData(rule, QMetaType::QString))); };
        const std::map<std::string, const char*> ruleOf { { "hf", "ceil-nested" }, { "deepspeed", "balanced" } };
        const std::string axes = spec.mid(2, spec.size() - 3).toStdString();
        const bool oneAxis = !mesh.contains(QLatin1Char(','));
        const bool heads = 8 % cutBy("balanced").size() == 0; // 8 divide
        for (const CutRule rule : kRules)
            for (const char* target : kModelTargets) {
                Workload workload;
                const std::string id = target;
                workload.kind = id == "megatron" || id == "deepspeed" ? WorkloadKind::Train : WorkloadKind::Prefill;
                workload.batch = 16;
                workload.sequence = 64;
                Design design = designOn(mesh.toStdString(), denseModel(256, 64, size, 2, 8, 4, 8), workload, "replicate");
                for (const char* input : { "tokens", "targets" }) // else its first axis were one of the batch
                    design.strategies.push_back({ input, { StrategyKind::Replicate }, std::nullopt });
                for (const char* name : { "gate", "up", "down" })
                    design.strategies.push_back(
                        { std::string("*.") + name + "_proj.weight",
                          { StrategyKind::Spec, {}, 0, name[0] == 'd' ? "P(None," + axes + ")" : "P(" + axes + ")" },
                          rule });
                const std::string refusal = refusalOf(target, design);
                const auto own = ruleOf.find(id);
                const bool same = rule != CutRule::Strict && oneAxis && own != ruleOf.end()
                    && cutBy(own->second) == cutBy(cutRuleName(rule).c_str());
                QVERIFY2((refusal == "not refused") == same, (id + " " + cutRuleName(rule) + ": " + refusal).c_str());
                if (same)
                    for (const json& tensor : json::parse(exportedFile(target, design, "shards.json"))["tensors"])
                        if (tensor["name"] == "model.layers.1.mlp.up_proj.weight")
                            for (const json& shard : tensor["shards"])
                                QCOMPARE(shard["pieces"][0][0][1].get<std::int64_t>()
                                             - shard["pieces"][0][0][0].get<std::int64_t>(),
                                         cutBy(own->second)[shard["devices"][0].get<std::size_t>()]);
                const std::string reason = same ? "not refused"
                    : rule == CutRule::Strict   ? "does not divide by"
                    : own == ruleOf.end()       ? (heads ? " on rank 0 is " : "cannot cut 8 heads")
                    : oneAxis                   ? "is cut by the rule"
                                                : "one tensor-parallel group";
                QVERIFY2(refusal.find(reason) != std::string::npos, (id + " " + cutRuleName(rule) + ": " + refusal).c_str());
            }
    }
};

SHARDBOARD_TEST(TestExportRows)
#include "tst_exportrows.moc"

// SPDX-License-Identifier: Apache-2.0
// From a design to its evaluation: presets, precedence, findings, refusals.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/wire/planjson.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <nlohmann/json.hpp>

using namespace shardboard;

namespace {

Design small(const char* mesh, const char* preset = "")
{
    return designOn(mesh, denseModel(1000, 512, 2048, 4, 8, 4, 64), {}, preset);
}

std::vector<Finding> ofKind(const Evaluation& evaluation, const std::string& kind)
{
    std::vector<Finding> out;
    for (const Finding& finding : evaluation.findings)
        if (finding.kind == kind)
            out.push_back(finding);
    return out;
}

} // namespace

class TestEvaluate : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void megatronCutsTheRightDims()
    {
        const Design design = small("data=2,model=4", "megatron-tp");
        const auto evaluation = evaluate(design).value();
        const auto spec = [&](const char* end) { return specText(weightOf(*evaluation, end).layout, design.mesh); };
        QCOMPARE(spec("q_proj.weight"), std::string("P('model')"));
        QCOMPARE(spec("v_proj.weight"), std::string("P('model')"));
        QCOMPARE(spec("o_proj.weight"), std::string("P(None, 'model')"));
        QCOMPARE(spec("up_proj.weight"), std::string("P('model')"));
        QCOMPARE(spec("down_proj.weight"), std::string("P(None, 'model')"));
        QCOMPARE(spec("embed_tokens.weight"), std::string("P('model')"));
        QCOMPARE(spec("lm_head.weight"), std::string("P('model')"));
        QCOMPARE(spec("input_layernorm.weight"), std::string("P()"));
        QCOMPARE(spec("tokens"), std::string("P('data')"));
    }

    void presetSaysWhatItLeavesOut()
    {
        Design design = small("model=8");
        std::vector<std::string> notes;
        const auto entries = presetStrategies("megatron-tp", design.mesh, design.model, design.workload, notes).value();
        QCOMPARE(notes.size(), std::size_t(1));
        QCOMPARE(
            notes[0],
            std::string("4 KV heads do not divide by mesh axis 'model' of size 8: k_proj and v_proj stay whole on every device"));
        design.strategies = entries;
        const auto evaluation = evaluate(design).value();
        QVERIFY(weightOf(*evaluation, "k_proj.weight").layout.isReplicated());
        QVERIFY(!weightOf(*evaluation, "q_proj.weight").layout.isReplicated());
    }

    void presetsRefuse()
    {
        const Design design = small("data=8");
        std::vector<std::string> notes;
        QCOMPARE(presetStrategies("megatron-tp", design.mesh, design.model, design.workload, notes).error().text(),
                 std::string(
                     "--mesh: preset megatron-tp finds no mesh axis to cut weights over in data=8; name one model, tp or tensor"));
        QVERIFY(presetStrategies("zero", design.mesh, design.model, design.workload, notes).error().code == ErrorCode::Usage);
    }

    void laterEntriesWin()
    {
        Design design = small("model=4", "megatron-tp");
        design.strategies.push_back({ "*.down_proj.weight", { StrategyKind::Spec, {}, 0, "P('model')" }, {} });
        const auto evaluation = evaluate(design).value();
        const WeightLayout& down = weightOf(*evaluation, "down_proj.weight");
        QCOMPARE(specText(down.layout, design.mesh), std::string("P('model')"));
        QCOMPARE(down.entry, int(design.strategies.size()) - 1);
        QCOMPARE(down.copies, 4);
    }

    void silentReplicationIsFound()
    {
        Design design = small("data=2,model=4");
        design.strategies = { { "*.q_proj.weight", { StrategyKind::Rowwise, { "model" }, 0, {} }, {} } };
        const auto evaluation = evaluate(design).value();
        const auto findings = ofKind(*evaluation, "silently-replicated");
        QVERIFY(std::ranges::any_of(findings, [](const Finding& f) { return f.where.ends_with("down_proj.weight"); }));
        QVERIFY(std::ranges::none_of(findings, [](const Finding& f) { return f.where.ends_with("q_proj.weight"); }));
        QVERIFY(std::ranges::none_of(findings, [](const Finding& f) { return f.where.ends_with("norm.weight"); }));
        // 2048 x 512 in bf16 in 4 layers, of which the repair, a cut over the 4 devices of model, leaves a quarter.
        for (const Finding& f : findings)
            if (f.where.ends_with("down_proj.weight"))
                QCOMPARE(f.costBytes, 4LL * (2048 * 512 * 2) * 3 / 4);
    }

    void otherFindings()
    {
        Design design = small("data=2,model=4", "megatron-tp");
        QVERIFY(ofKind(*evaluate(design).value(), "unused-axis").empty());
        design.strategies.push_back({ "*.typo_proj.weight", {}, {} });
        QCOMPARE(ofKind(*evaluate(design).value(), "unused-entry").size(), std::size_t(1));
        design = small("data=2,model=3");
        design.strategies = { { "*down_proj.weight", { StrategyKind::Columnwise, { "model" }, 0, {} }, {} } };
        QCOMPARE(ofKind(*evaluate(design).value(), "uneven").size(), std::size_t(1));
        QCOMPARE(ofKind(*evaluate(design).value(), "unused-axis").size(), std::size_t(1));
        design = small("data=2", "replicate");
        design.workload.batch = 1 << 20;
        QCOMPARE(evaluate(design).value()->findings.front().kind, std::string("over-memory"));
    }

    void refusalsNameEntryAndTensor_data()
    {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("message");
        dataRow("strict", "P('model')",
                "strategies[0] on lm_head.weight dim 0: 1001 does not divide by 4; "
                "cut over another mesh axis, pad the tensor, or choose an uneven cut rule such as balanced");
        dataRow("axis", "P('tp')", "strategies[0] on lm_head.weight: the mesh has no axis 'tp'; its axes are data=2,model=4");
        dataRow("partial", "P(unreduced={'model'})",
                "strategies[0] on lm_head.weight: a weight or input cannot be partial; leave out unreduced");
    }
    void refusalsNameEntryAndTensor()
    {
        QFETCH(QString, spec);
        QFETCH(QString, message);
        Design design = small("data=2,model=4");
        design.model.vocabSize = 1001;
        design.strategies = { { "lm_head.weight", { StrategyKind::Spec, {}, 0, spec.toStdString() }, {} } };
        const auto evaluation = evaluate(design);
        QVERIFY(!evaluation.ok());
        QCOMPARE(QString::fromStdString(evaluation.error().text()), message);
    }

    void unknownArchitectureOpensAsWeights()
    {
        Design design;
        design.mesh = Mesh::parse("model=4").value();
        design.model.notUnderstood = "the family falcon is not known";
        design.model.looseWeights = { { { "h.0.dense.weight", { 8, 8 }, DType::BF16, TensorRole::Weight, {} }, false },
                                      { { "h.0.other", {}, DType::BF16, TensorRole::Weight, {} }, true } };
        design.strategies = { { "*.dense.weight", { StrategyKind::Rowwise, { "model" }, 0, {} }, {} } };
        const auto evaluation = evaluate(design).value();
        QCOMPARE(evaluation->weights.size(), std::size_t(2));
        QCOMPARE(evaluation->weights[0].bytesPerDevice, 32);
        QCOMPARE(evaluation->parameters, 64);
        QCOMPARE(ofKind(*evaluation, "not-understood").size(), std::size_t(1));
        QVERIFY(evaluation->plan.collectives.empty());
        std::vector<std::string> notes;
        const auto entries = presetStrategies("megatron-tp", design.mesh, design.model, design.workload, notes).value();
        // A linear layer recognized by its name, its inputs cut; nothing is said of a weight whose shape is not known.
        QCOMPARE(entries.size(), std::size_t(2));
        QCOMPARE(entries[0].match, std::string("*"));
        QCOMPARE(entries[1].match, std::string("h.*.dense.weight"));
        QCOMPARE(entries[1].strategy.text(), std::string("P(None, 'model')"));
    }

    /// What only training uses waits in a design that serves: presets and plans are as if it were not there.
    void servingLeavesSettingsOfTrainingAlone()
    {
        for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode })
            for (const std::string& preset : presetNames()) {
                Workload serving { kind, 8, 64, DType::BF16 };
                Workload waiting = serving;
                waiting.microBatches = 3; // does not divide the batch
                waiting.recompute = Recompute::Full;
                waiting.optimizer = { { "gone" }, true };
                const ModelSpec model = denseModel(1000, 512, 2048, 4, 8, 4, 64);
                const Mesh mesh = Mesh::parse("stage=2,fsdp=8,model=2").value();
                const auto plain = makePreset(preset, mesh, model, serving);
                const auto made = makePreset(preset, mesh, model, waiting);
                QCOMPARE(made.ok(), plain.ok());
                if (!plain.ok()) {
                    QCOMPARE(made.error().text(), plain.error().text());
                    continue;
                }
                QVERIFY(made.value().strategies == plain.value().strategies && made.value().pins == plain.value().pins);
                QVERIFY(made.value().notes == plain.value().notes);
                Design design = designOn("stage=2,fsdp=8,model=2", model, serving, preset);
                const auto without = evaluated(design);
                design.workload = waiting;
                const auto with = evaluated(design);
                QCOMPARE(planToJson(with->graph, with->plan).dump(), planToJson(without->graph, without->plan).dump());
                QCOMPARE(with->findings.size(), without->findings.size());
                design.workload.kind = WorkloadKind::Train;
                QVERIFY(!evaluate(design).ok()); // they count again
            }
    }

    /// Random designs, some of them nonsense, always end with an evaluation or a message.
    void anyDesignEndsWithAnAnswer()
    {
        std::srand(5);
        const auto pick = [](int n) { return std::rand() % n; };
        const char* matches[] = { "*",      "*.q_proj.weight",    "model.layers.1.*", "tokens", "lm_head.weight",
                                  "*norm*", "*.[ku]*_proj.weight" };
        const char* specs[] = { "P('data')", "P(None,'model')", "P(('model','data'))", "P('model','data')", "P()", "P('x')", "P(" };
        int good = 0;
        for (int trial = 0; trial < 3000; ++trial) {
            Design design = small(trial % 3 ? "data=2,model=4" : "data=3,model=2,x=2");
            design.picker.profile = pick(2) ? PickerProfile::G1 : PickerProfile::Shardboard;
            design.picker.allowPartialToSharded = pick(2);
            design.workload.kind = pick(2) ? WorkloadKind::Decode : WorkloadKind::Prefill;
            design.workload.batch = 1 + pick(8);
            design.workload.sequence = 1 + pick(64);
            design.model.qkNorm = pick(2);
            design.model.tiedEmbeddings = pick(2);
            design.model.attentionBias = static_cast<AttentionBias>(pick(3));
            constexpr StrategyKind kKinds[] { StrategyKind::Replicate, StrategyKind::Rowwise, StrategyKind::Columnwise,
                                              StrategyKind::Axiswise, StrategyKind::Spec };
            for (int i = pick(6); i-- > 0;) {
                Strategy strategy;
                strategy.kind = kKinds[pick(5)];
                strategy.axes = { pick(2) ? "model" : "data" };
                strategy.dim = pick(5) - 2;
                strategy.spec = specs[pick(7)];
                design.strategies.push_back(
                    { matches[pick(7)], strategy, pick(2) ? std::optional(CutRule::Balanced) : std::nullopt });
            }
            const auto evaluation = evaluate(design);
            good += evaluation.ok();
            if (!evaluation.ok())
                QVERIFY(!evaluation.error().what.empty());
        }
        QVERIFY(good > 500);
    }
};

SHARDBOARD_TEST(TestEvaluate)
#include "tst_evaluate.moc"

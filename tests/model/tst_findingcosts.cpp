// SPDX-License-Identifier: Apache-2.0
// What findings cost, held against the plan: the plan of the design and that of the mended one. Every defect here is small and has
// one finding; in the plan's memory and collectives it makes all of the difference.
#include "model/design/evaluate/evaluate.h"
#include "model/design/findings/findings.h"
#include "model/design/presets/presets.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <algorithm>

using namespace shardboard;

namespace {

Strategy over(StrategyKind kind, std::vector<std::string> axes) { return { kind, std::move(axes) }; }
Strategy spec(const char* text) { return { StrategyKind::Spec, {}, 0, text }; }

/// 4 layers of 8 heads (4 KV heads) of 64, MLP 512 x 2048.
Design small(const char* mesh, const char* preset = "")
{
    Design design = designOn(mesh, denseModel(1000, 512, 2048, 4, 8, 4, 64), {}, preset);
    if (*preset == 0)
        design.strategies = { { "*", {}, {} } };
    return design;
}

std::vector<DesignFinding> ofKind(const Evaluation& evaluation, const std::string& kind)
{
    std::vector<DesignFinding> out;
    std::ranges::copy_if(evaluation.findings, std::back_inserter(out),
                         [&](const DesignFinding& finding) { return finding.kind == kind; });
    return out;
}

std::int64_t costOf(const std::vector<DesignFinding>& findings)
{
    std::int64_t bytes = 0;
    for (const DesignFinding& finding : findings)
        bytes += finding.costBytes;
    return bytes;
}

/// What a device keeps of the weights all the time.
std::int64_t kept(const Evaluation& evaluation)
{
    const MemoryByCause& memory = evaluation.plan.memory;
    return memory.weights + memory.masterWeights + memory.optimizer;
}

/// A projection of 28 heads and 4 KV heads, with a bias.
ModelSpec oddHeads()
{
    ModelSpec model = denseModel(1000, 1792, 2048, 4, 28, 4, 64);
    model.attentionBias = AttentionBias::Qkv;
    return model;
}

} // namespace

class TestFindingCosts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void kindsOfCost()
    {
        QCOMPARE(costKind("heads-split"), CostKind::Moved);
        QCOMPARE(costKind("uneven"), CostKind::Held);
        QCOMPARE(costKind("dead-pin"), CostKind::None);
        Finding finding { "heads-split", Severity::Warning, {}, std::int64_t { 3 } << 20, {}, {} };
        QCOMPARE(costText(finding), std::string("moves 3 MiB on each device in a step"));
        finding.kind = "over-memory";
        QCOMPARE(costText(finding), std::string("costs 3 MiB of memory on each device"));
        finding.costBytes = 0;
        QCOMPARE(costText(finding), std::string());
        QVERIFY(isDefect(finding));
        finding.severity = Severity::Note;
        QVERIFY(!isDefect(finding));
    }

    void heldIsWhatTheRepairFrees_data()
    {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("axes"); ///< of lm_head, by an entry; `-`: no entry names it; `a:x`: the rule for its `vocab`
        const auto row = [](const char* name, const char* kind, const char* mesh, const char* axes) {
            QTest::newRow(name) << kind << mesh << axes;
        };
        row("misspelt axis", "unknown-axis", "data=2,model=4", "modle");
        row("misspelt axis of two devices", "unknown-axis", "data=2,model=2", "modle");
        row("axis twice", "axis-twice", "data=2,model=4", "model,model");
        row("nothing said", "silently-replicated", "data=2,model=4", "-");
        row("nothing said, one axis", "silently-replicated", "model=8", "-");
        row("rule with an axis twice", "axis-twice", "data=2,model=4", "rule:model,model");
    }
    /// With all that a training step keeps of the weight.
    void heldIsWhatTheRepairFrees()
    {
        QFETCH(QString, kind);
        QFETCH(QString, mesh);
        QFETCH(QString, axes);
        Design design = small(mesh.toUtf8().constData());
        design.model = denseModel(8000, 512, 2048, 4, 8, 4, 64);
        std::vector<std::string> names;
        for (const QString& axis : axes.section(':', -1).split(','))
            names.push_back(axis.toStdString());
        design.strategies = {
            { "*norm*", {}, {} }, { "*proj*", {}, {} }, { "*embed*", {}, {} }, { "tokens", {}, {} }, { "targets", {}, {} }
        };
        if (axes.startsWith("rule:"))
            design.rules = { "by hand", { { "vocab", names, {} }, { "embed", {}, {} } } };
        else if (axes != "-")
            design.strategies.push_back({ "lm_head.weight", over(StrategyKind::Rowwise, names), {} });
        for (const WorkloadKind workload : { WorkloadKind::Prefill, WorkloadKind::Train }) {
            design.workload = { workload, 8, 128, DType::BF16 };
            const auto before = tolerant(design);
            const auto found = ofKind(*before, kind.toStdString());
            QCOMPARE(found.size(), std::size_t { 1 });
            QVERIFY(found[0].fix);
            const auto after = tolerant(repaired(design, *found[0].fix));
            const std::int64_t freed = kept(*before) - kept(*after);
            QVERIFY(freed > 0);
            if (workload == WorkloadKind::Prefill)
                QCOMPARE(found[0].costBytes, freed);
            else // and its gradient, as far as it waits at the moment of the most memory
                QVERIFY2(found[0].costBytes >= freed && found[0].costBytes < freed * 5 / 4,
                         qPrintable(QString("%1 of %2").arg(found[0].costBytes).arg(freed)));
        }
    }

    /// Fully sharded weights are gathered whole for their use, wherever they are cut.
    void headsAreWholeInWhatIsGathered_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        dataRow("fsdp", "fsdp=16", "fsdp");
        dataRow("over data", "data=16", "fsdp");
        dataRow("hsdp", "data=2,fsdp=16", "hsdp");
        dataRow("with tensor parallelism", "fsdp=8,model=2", "tp+fsdp");
        dataRow("and the sequence", "fsdp=8,model=2", "tp-sp+fsdp");
    }
    void headsAreWholeInWhatIsGathered()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        for (const WorkloadKind workload : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train })
            for (const AttentionBias bias : { AttentionBias::None, AttentionBias::Qkv }) {
                Design design = small(mesh.toUtf8().constData());
                design.model.attentionBias = bias;
                design.workload = { workload, 32, 128, DType::BF16 };
                QVERIFY(applyPreset(design, preset.toStdString()).ok());
                const auto evaluation = tolerant(design);
                QVERIFY(ofKind(*evaluation, "heads-split").empty());
            }
    }

    void headsCostWhatIsMovedForThem_data()
    {
        QTest::addColumn<QString>("split"); ///< projections that are cut inside of heads
        QTest::addColumn<bool>("decode");
        for (const char* split : { "q", "k", "v", "o", "k v", "q k v o" })
            for (const bool decode : { false, true })
                QTest::newRow(qPrintable(QString(split) + (decode ? ", decode" : ", prefill"))) << split << decode;
    }
    /// 28 heads and 4 KV heads over 8 devices. Against the design in which all heads are whole, the plan moves just what is told.
    void headsCostWhatIsMovedForThem()
    {
        QFETCH(QString, split);
        QFETCH(bool, decode);
        Design whole = small("data=2,model=8");
        whole.model = oddHeads();
        whole.workload = { decode ? WorkloadKind::Decode : WorkloadKind::Prefill, 8, 4096, DType::BF16 };
        QVERIFY(applyPreset(whole, "megatron-tp").ok());
        QVERIFY(ofKind(*tolerant(whole), "heads-split").empty());
        Design design = whole;
        for (const QString& letter : split.split(' '))
            design.strategies.push_back({ "*." + letter.toStdString() + "_proj.*",
                                          over(letter == "o" ? StrategyKind::Columnwise : StrategyKind::Rowwise, { "model" }),
                                          {} });
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "heads-split");
        QCOMPARE(static_cast<qsizetype>(found.size()), split.split(' ').size());
        QCOMPARE(costOf(found), evaluation->plan.collectiveBytes() - tolerant(whole)->plan.collectiveBytes());
        for (const DesignFinding& finding : found) {
            QCOMPARE(finding.severity, Severity::Warning);
            if (!finding.fix)
                continue;
            const Design mended = repaired(design, *finding.fix);
            const auto after = tolerant(mended);
            QCOMPARE(ofKind(*after, "heads-split").size(), found.size() - 1);
            QCOMPARE(evaluation->plan.collectiveBytes() - after->plan.collectiveBytes(), finding.costBytes);
            QVERIFY(after->plan.memory.weights <= evaluation->plan.memory.weights + finding.costBytes);
        }
        // For the few bytes of a decoded token no device need hold more of a weight.
        for (const DesignFinding& finding : found)
            QCOMPARE(finding.fix.has_value(), !decode);
    }

    void headsInTraining()
    {
        Design whole = small("data=2,model=8");
        whole.model = oddHeads();
        whole.workload = { WorkloadKind::Train, 8, 256, DType::BF16 };
        QVERIFY(applyPreset(whole, "megatron-tp").ok());
        QVERIFY(ofKind(*tolerant(whole), "heads-split").empty());
        Design design = whole;
        design.strategies.push_back({ "*.q_proj.*", over(StrategyKind::Rowwise, { "model" }), {} });
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "heads-split");
        QCOMPARE(found.size(), std::size_t { 1 }); // weight and bias are mended together
        QVERIFY(found[0].fix);
        QCOMPARE(repaired(design, *found[0].fix).strategies.size(), design.strategies.size());
        const auto after = tolerant(repaired(design, *found[0].fix));
        QVERIFY(ofKind(*after, "heads-split").empty());
        QCOMPARE(after->plan.collectiveBytes(), tolerant(whole)->plan.collectiveBytes());
        const std::int64_t moved = evaluation->plan.collectiveBytes() - after->plan.collectiveBytes();
        QVERIFY2(std::abs(found[0].costBytes - moved) < moved / 10,
                 qPrintable(QString("%1 of %2").arg(found[0].costBytes).arg(moved)));
    }

    /// Over the fsdp axis nothing is moved for the heads, so that it stays.
    void repairKeepsTheAxesOfShards()
    {
        Design design = small("fsdp=2,model=8", "tp+fsdp");
        design.strategies.push_back({ "*.k_proj.weight", spec("P('model', 'fsdp')"), {} }); // 4 KV heads over 8
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "heads-split");
        QCOMPARE(found.size(), std::size_t { 1 });
        const Design after = repaired(design, *found[0].fix);
        const auto mended = tolerant(after);
        const auto k =
            std::ranges::find_if(mended->weights, [](const WeightLayout& w) { return w.spec.name.ends_with("k_proj.weight"); });
        QCOMPARE(QString::fromStdString(specText(k->layout, after.mesh)), "P(None, 'fsdp')");
        QVERIFY(mended->plan.collectiveBytes() < evaluation->plan.collectiveBytes());
    }

    /// 10 layers on 4 stages: 3, 3, 2, 2. Stages 1 and 2 hold nothing but layers.
    void stagesCostTheirLayers()
    {
        Design design = small("data=2,stage=4");
        design.model.layers = 10;
        QVERIFY(applyPreset(design, "pp-1f1b").ok());
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "uneven-stages");
        QCOMPARE(found.size(), std::size_t { 1 });
        const auto& stages = evaluation->plan.pipeline->memory;
        QCOMPARE(found[0].costBytes, (stages[1].weights - stages[2].weights) / 2); // 3 in place of 2 1/2
        // Three layers lie on a device, not ten: 171 of 512 columns where an even share is 170 2/3.
        design = small("data=3,stage=4");
        design.model.layers = 10;
        design.workload.batch = 12;
        QVERIFY(applyPreset(design, "pp-1f1b").ok());
        design.strategies.push_back({ "*.down_proj.weight", over(StrategyKind::Rowwise, { "data" }), {} });
        const auto uneven = ofKind(*tolerant(design), "uneven");
        QCOMPARE(uneven.size(), std::size_t { 1 });
        QCOMPARE(uneven[0].costBytes, 3LL * (171 * 2048 * 2 - 512 * 2048 * 2 / 3));
        // What is cut over the stages is planned as if it were not: that costs nothing.
        design.strategies.back().strategy.axes = { "stage" };
        QCOMPARE(costOf(ofKind(*tolerant(design), "cut-over-stages")), 0);
    }

    /// The repair cuts the targets as the tokens, and pins of the batch hold for the new axis too.
    void unusedAxisCostsWhatItWouldSave()
    {
        Design design = small("data=2,model=4");
        design.model = denseModel(8000, 2048, 8192, 4, 16, 8, 128);
        design.workload = { WorkloadKind::Train, 16, 2048, DType::BF16 };
        QVERIFY(applyPreset(design, "fsdp").ok());
        const auto before = tolerant(design);
        const auto found = ofKind(*before, "unused-axis");
        QCOMPARE(found.size(), std::size_t { 1 });
        QCOMPARE(QString::fromStdString(found[0].fix->text), "Cut the batch over model");
        const Design mended = repaired(design, *found[0].fix);
        const auto after = tolerant(mended);
        QCOMPARE(found[0].costBytes, before->plan.memory.peak - after->plan.memory.peak);
        QVERIFY(after->plan.seconds() < before->plan.seconds());
        int inputs = 0;
        for (const WeightLayout& weight : after->weights)
            if (weight.spec.role == TensorRole::Input) {
                ++inputs;
                QCOMPARE(QString::fromStdString(specText(weight.layout, mended.mesh)), "P(('data', 'model'))");
            }
        QCOMPARE(inputs, 2);
        QCOMPARE(QString::fromStdString(pinText(mended.pins.front())), "*:batch=data,model");
        QVERIFY(ofKind(*after, "unused-axis").empty());
        // Where the batch does not divide, the sequence is cut.
        design.workload = { WorkloadKind::Prefill, 2, 32768, DType::BF16 };
        QVERIFY(applyPreset(design, "fsdp").ok());
        QCOMPARE(QString::fromStdString(ofKind(*tolerant(design), "unused-axis")[0].fix->text), "Cut the sequence over model");
    }

    /// A cut over more devices than there are elements: the axis goes to a dim that it divides, and no device holds more.
    void overflowKeepsTheWeightCut()
    {
        Design design = small("model=16");
        design.model.moe.experts = 8;
        design.model.moe.chosen = 2;
        design.model.moe.intermediateSize = 512;
        const auto experts = [&](const char* text) {
            design.strategies = { { "*", {}, {} }, { "*.experts.*", spec(text), CutRule::Balanced } };
            return ofKind(*tolerant(design), "overflow");
        };
        const auto found = experts("P('model')");
        QVERIFY(!found.empty());
        for (const DesignFinding& finding : found) {
            QVERIFY(finding.costBytes > 0 && finding.fix);
            QVERIFY(tolerant(repaired(design, *finding.fix))->plan.memory.weights < tolerant(design)->plan.memory.weights);
        }
        // A vector has no other dim: whole, a device would hold more.
        design = small("model=1024");
        design.strategies.push_back({ "model.norm.weight", over(StrategyKind::Rowwise, { "model" }), {} }); // 512 elements
        const auto vector = ofKind(*tolerant(design), "overflow");
        QCOMPARE(vector.size(), std::size_t { 1 });
        QVERIFY(!vector[0].fix);
    }

    /// 1,024 tokens of prefill, which are moved in place of 86 MiB of a weight: gathering it would be quicker. A few tokens that
    /// are decoded are rightly moved.
    void movedActivationsOnlyWherePinningPays()
    {
        Design design;
        design.mesh = Mesh::parse("dp=2,tp=4").value();
        design.model = denseModel(1000, 4096, 11008, 2, 32, 32, 128);
        design.strategies = { { "*", {}, {} },
                              { "tokens", spec("P('dp')"), {} },
                              { "*.mlp.gate_proj.weight", spec("P('tp', 'dp')"), {} } };
        for (const bool decode : { false, true }) {
            design.workload = { decode ? WorkloadKind::Decode : WorkloadKind::Prefill, 8, 128, DType::BF16 };
            const auto before = tolerant(design);
            const auto after = tolerant(withPin(design, parsePin("*:batch=dp").value()));
            const auto found = ofKind(*before, "greedy-moves-activation");
            QCOMPARE(found.empty(), after->plan.seconds() > before->plan.seconds());
            QCOMPARE(found.empty(), decode);
            std::int64_t moved = 0; // of activations, over dp
            for (const Collective& collective : before->plan.collectives)
                if (collective.axes == std::vector { 0 } && before->graph.tensor(collective.tensor).role == TensorRole::Activation
                    && collective.operand == 0 && before->graph.op(collective.op).name == "mlp.gate_proj")
                    moved += collective.bytes * collective.count;
            if (!decode)
                QCOMPARE(costOf(found), moved);
        }
    }

    /// A tied model has no lm_head; a pattern that a user wrote and that matches nothing is still told.
    void presetsNameOnlyWhatIsThere()
    {
        for (const std::string& preset : presetNames())
            for (const bool tied : { false, true })
                for (const WorkloadKind workload : { WorkloadKind::Prefill, WorkloadKind::Train }) {
                    Design design = small("data=2,model=2");
                    design.model.tiedEmbeddings = tied;
                    design.workload.kind = workload;
                    if (!applyPreset(design, preset).ok())
                        continue;
                    QVERIFY2(ofKind(*tolerant(design), "unused-entry").empty(), preset.c_str());
                    design.strategies.push_back({ "*typo.weight", {}, {} });
                    const auto found = ofKind(*tolerant(design), "unused-entry");
                    QCOMPARE(found.size(), std::size_t { 1 });
                    QCOMPARE(found[0].where, std::string("*typo.weight"));
                }
    }
};

SHARDBOARD_TEST(TestFindingCosts)
#include "tst_findingcosts.moc"

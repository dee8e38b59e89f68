// SPDX-License-Identifier: Apache-2.0
// Training steps of every family of models under the presets that make sense for it, and under any layouts of weights and
// inputs: forward, backward and update compute what the unsharded step computes, operation by operation.
#include "engine/cpu/backend.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/families/buildgraph.h"
#include "tests/engine/testprogram.h"
#include "tests/engine/testrun.h"
#include "tests/support/families.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <algorithm>
#include <random>
#include <set>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::test;

namespace {

class RandomTraining {
public:
    explicit RandomTraining(unsigned seed)
        : m_random(seed)
    {
    }

    /// Tokens that divide by `tokens`, for presets that cut the sequence.
    Design of(const std::string& family, const std::string& mesh, std::int64_t tokens)
    {
        Design design;
        design.mesh = Mesh::parse(mesh).value();
        design.model = familyModel(family);
        const bool grouped = !design.model.mla.present() && !design.model.block.fusedQkv;
        if (grouped && below(2))
            design.model.heads = design.model.kvHeads = 4;
        else if (grouped && below(2))
            design.model.heads = 8, design.model.kvHeads = 4;
        const Recompute recompute[] { Recompute::None, Recompute::Selective, Recompute::Full,
                                      *recomputeFromName("experts,norms,latent-up,second-products") };
        const std::int64_t parts = 1 + below(2);
        const std::int64_t sequence = tokens > 1 ? tokens * (1 + below(2)) : 1 + below(8);
        design.workload = { WorkloadKind::Train, parts * (1 + below(4)), sequence, DType::BF16, parts, recompute[below(4)] };
        design.workload.rule = below(2) ? Optimizer::Sgd : Optimizer::Adam;
        design.workload.predicted = below(4) == 0 ? 1 : 0;
        return design;
    }

    /// Any layouts of about `share` tenths of the weights and inputs.
    void lay(Design& design, int share)
    {
        const auto graph = buildGraph(design.model, design.workload);
        if (!graph.ok())
            throw std::runtime_error(graph.error().text());
        for (const GraphTensor& tensor : graph.value().tensors)
            if (tensor.spec.role != TensorRole::Activation && below(10) < share)
                design.strategies.push_back(specFor(tensor.spec.name, spec(design.mesh, tensor.spec.shape.size())));
    }

    int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

private:
    std::string spec(const Mesh& mesh, std::size_t rank)
    {
        Layout layout = Layout::replicated(rank);
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            if (const auto dim = static_cast<std::size_t>(below(static_cast<int>(rank) + 1)); dim < rank)
                layout.dims[dim].push_back(AxisRef { axis });
        return specText(layout, mesh);
    }

    std::mt19937 m_random;
};

std::string describe(const Design& design)
{
    std::string text = design.model.name + " " + design.mesh.text() + " heads " + std::to_string(design.model.heads) + "/"
        + std::to_string(design.model.kvHeads) + " " + std::to_string(design.workload.batch) + "x"
        + std::to_string(design.workload.sequence) + " in " + std::to_string(design.workload.microBatches) + ", recompute "
        + recomputeName(design.workload.recompute);
    for (const StrategyEntry& entry : design.strategies)
        text += "; " + entry.match + " " + entry.strategy.text();
    return text + ": ";
}

/// Empty when all is well. `kinds` gets what was run.
std::string mistakeOf(const Design& design, std::set<std::string>& kinds)
{
    const auto evaluation = evaluate(design);
    if (!evaluation.ok())
        return describe(design) + evaluation.error().text();
    RunOptions options;
    options.verify = true;
    const RunOutcome outcome = runOnCpu({ { evaluation.value()->graph, evaluation.value()->plan }, options });
    if (const auto* failure = std::get_if<Failure>(&outcome))
        return describe(design) + failure->where + ": " + failure->message;
    const auto& result = std::get<RunResult>(outcome);
    for (const RunOperation& operation : result.operations)
        kinds.insert(operation.kind);
    return result.verified
        ? std::string()
        : describe(design) + result.firstDeviation + ", worst " + result.worstOp + " " + std::to_string(result.maxRelativeError);
}

} // namespace

class TestRandomTraining : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void presets_data()
    {
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QStringList>("meshes");
        QTest::addColumn<int>("tokens"); ///< by which the sequence divides
        QTest::addColumn<QString>("kind"); ///< of an operation or collective that must have been there
        const auto row = [](const char* family, const char* preset, const QStringList& meshes, int tokens, const char* kind) {
            QTest::addRow("%s, %s", family, preset) << QString(family) << QString(preset) << meshes << tokens << QString(kind);
        };
        for (const char* family : { "mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3", "gpt_oss" }) {
            row(family, "ep", { "expert=2", "data=2,expert=2", "fsdp=2,expert=2", "data=2,fsdp=2,expert=2", "expert=4" }, 1,
                "all-to-all");
            row(family, "ep+tp", { "expert=2,model=2", "data=2,expert=2,model=2", "expert=4,model=2" }, 1, "all-to-all");
            row(family, "fsdp", { "fsdp=4", "fsdp=3" }, 1, "all-gather");
        }
        for (const char* family : { "falcon", "falcon-7b", "gemma", "gemma2", "gemma3_text" }) {
            row(family, "megatron-tp", { "model=2", "data=2,model=2" }, 1, "all-reduce");
            row(family, "tp+fsdp", { "fsdp=2,model=2" }, 1, "all-gather");
        }
        for (const char* family : { "llama", "gpt_oss", "gemma2", "deepseek_v3", "falcon" }) {
            row(family, "cp-ring", { "context=2", "context=4", "data=2,context=2", "context=2,model=2", "fsdp=2,context=2" }, 4,
                "send-recv");
            row(family, "cp-all-gather", { "context=2", "data=2,context=2", "context=2,model=2" }, 4, "all-gather");
        }
        for (const char* family : { "llama", "mixtral", "deepseek_v3", "gpt_oss", "gemma2", "falcon" })
            row(family, "pp-1f1b", { "stage=2", "stage=2,model=2", "data=2,stage=2", "fsdp=2,stage=2" }, 1, "send-recv");
        row("gemma3_text", "cp-ulysses", { "context=2", "data=2,context=2" }, 4, "all-to-all");
        row("llama", "cp-ulysses", { "context=2", "data=2,context=2" }, 4, "all-to-all");
        row("llama", "tp-sp", { "model=2", "data=2,model=2" }, 4, "reduce-scatter");
    }
    void presets()
    {
        QFETCH(QString, family);
        QFETCH(QString, preset);
        QFETCH(QStringList, meshes);
        QFETCH(int, tokens);
        QFETCH(QString, kind);
        RandomTraining random(11);
        std::set<std::string> kinds;
        for (int trial = 0; trial < meshes.size() + 1; ++trial) {
            Design design = random.of(family.toStdString(), meshes[trial % meshes.size()].toStdString(), tokens);
            if (preset == "cp-ulysses")
                design.model.heads = design.model.kvHeads = 4;
            if (trial == 0 && kind == "all-to-all") // tokens only travel to experts where every device has some of its own
                design.workload.batch = design.workload.microBatches * design.mesh.deviceCount();
            if (const auto applied = applyPreset(design, preset.toStdString()); !applied.ok())
                QFAIL((describe(design) + applied.error().text()).c_str());
            for (StrategyEntry& entry : design.strategies)
                entry.cut = CutRule::Balanced; // the tiny models divide by little
            if (trial >= meshes.size())
                random.lay(design, 1);
            const std::string mistake = mistakeOf(design, kinds);
            QVERIFY2(mistake.empty(), mistake.c_str());
        }
        QVERIFY2(kinds.contains(kind.toStdString()), kind.toUtf8().constData());
    }

    /// Whatever goes around a ring matters.
    void brokenRingsShow()
    {
        RandomTraining random(1);
        Design design = random.of("gpt_oss", "context=2", 4);
        design.workload.recompute = Recompute::None;
        QVERIFY(applyPreset(design, "cp-ring").ok());
        for (StrategyEntry& entry : design.strategies)
            entry.cut = CutRule::Balanced;
        const auto evaluation = sure(evaluate(design));
        const Program program { evaluation->graph, evaluation->plan };
        RunOptions options;
        options.verify = true;
        options.layers = 1;
        int rings = 0;
        for (const Collective& collective : program.plan.collectives) {
            if (collective.kind != CollectiveKind::SendRecv)
                continue;
            ++rings;
            options.breakCollective = collective.id;
            const RunResult result = resultOf(program, options);
            QVERIFY2(!result.verified, collective.id.c_str());
            const std::string operation = collective.id.substr(0, collective.id.find('/', collective.id.find('/') + 1));
            QCOMPARE(QString::fromStdString(result.firstDeviation), QString::fromStdString(operation));
            QVERIFY(std::any_of(result.operations.begin(), result.operations.end(), [&](const RunOperation& ran) {
                return ran.id == collective.id && ran.bytes == collective.bytes && ran.count == program.plan.microBatches;
            }));
        }
        QCOMPARE(rings, 6); // two operands each: for the result, for the gradients of queries and sinks, of keys and values
    }

    /// The logit of one token's target can come out near 0, of which rounding is a large part; it is as exact as the other
    /// logits are. Some other token's logit instead of it is told.
    void oneTokenMicroBatches()
    {
        Design design;
        design.mesh = Mesh::parse("model=3").value();
        design.model = familyModel("llama");
        design.model.layers = 1;
        design.workload = { WorkloadKind::Train, 4, 1, DType::BF16, 4, Recompute::None };
        QVERIFY(applyPreset(design, "megatron-tp").ok());
        for (StrategyEntry& entry : design.strategies)
            entry.cut = CutRule::Balanced;
        const auto evaluation = evaluate(design).value();
        const Program program { evaluation->graph, evaluation->plan };
        const auto verified = [&](std::uint64_t seed, const std::string& broken) {
            RunOptions options = verifying(broken);
            options.seed = seed;
            const RunResult result = resultOf(program, options);
            return result.verified ? std::string()
                                   : result.firstDeviation + " " + std::to_string(result.maxRelativeError * 1e6) + "e-6";
        };
        for (const unsigned seed : { 15U, 22U, 51U, 118U, 156U, 200U, 241U, 269U }) // the target's logit is small
            QCOMPARE(QString::fromStdString(verified(seed, {})), QString());
        std::string sum;
        for (const Collective& collective : program.plan.collectives)
            if (program.graph.tensor(collective.tensor).name == "target logit")
                sum = collective.id;
        QVERIFY(!sum.empty());
        int told = 0;
        for (std::uint64_t seed = 1; seed <= 20; ++seed)
            told += !verified(seed, sum).empty();
        QVERIFY2(told > 10,
                 std::to_string(told).c_str()); // a third of the targets lies where the sum now forgets it, of 4 in each run
    }

    void anyLayout_data()
    {
        QTest::addColumn<QString>("family");
        for (const std::string& family : familyNames())
            QTest::newRow(family.c_str()) << QString::fromStdString(family);
    }
    void anyLayout()
    {
        QFETCH(QString, family);
        RandomTraining random(3);
        std::set<std::string> kinds;
        for (int trial = 0; trial < 6; ++trial) {
            const char* meshes[] { "a=2,b=2", "a=2,b=3", "a=3", "a=2,b=2,c=2", "a=4,b=1" };
            Design design = random.of(family.toStdString(), meshes[random.below(5)], 1);
            design.picker.allowPartialToSharded = random.below(2) > 0;
            random.lay(design, 6);
            const std::string mistake = mistakeOf(design, kinds);
            QVERIFY2(mistake.empty(), mistake.c_str());
        }
        QVERIFY(kinds.contains("all-reduce") && kinds.contains("adam_step"));
    }
};

SHARDBOARD_TEST(TestRandomTraining)
#include "tst_randomtraining.moc"

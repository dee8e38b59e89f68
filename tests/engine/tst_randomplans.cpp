// SPDX-License-Identifier: Apache-2.0
// Whatever layouts a design asks for, the plan that follows computes what the unsharded model computes. Random meshes,
// layouts with several axes on a dim in any order, sizes that do not divide, both workloads, all profiles.
#include "engine/cpu/backend.h"
#include "model/design/evaluate/evaluate.h"
#include "model/families/buildgraph.h"
#include "tests/engine/testprogram.h"
#include "tests/support/families.h"
#include "tests/support/runner.h"

#include <QTest>

#include <array>
#include <functional>
#include <random>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::test;

namespace {

const std::array kRecomputing { Recompute::None, Recompute::Selective, Recompute::Full, *recomputeFromName("by-op"),
                                *recomputeFromName("norms,attention,qkv,mlp-in") };

class RandomDesigns {
public:
    explicit RandomDesigns(unsigned seed)
        : m_random(seed)
    {
    }

    Design next()
    {
        Design design;
        const char* meshes[] = { "a=2,b=2", "a=2,b=3", "a=3", "a=2,b=2,c=2", "a=4,b=1,c=2" };
        design.mesh = Mesh::parse(meshes[below(5)]).value();
        design.model = tinyModel();
        design.model.layers = 2;
        const int groups[][2] = { { 6, 3 }, { 4, 4 }, { 4, 2 }, { 8, 2 }, { 3, 1 }, { 12, 6 }, { 7, 7 }, { 10, 5 } };
        const auto& heads = groups[below(8)];
        design.model.heads = heads[0];
        design.model.kvHeads = heads[1];
        design.model.tiedEmbeddings = below(2);
        design.model.qkNorm = below(2);
        design.model.mlpBias = below(2);
        design.model.attentionBias = static_cast<AttentionBias>(below(3));
        design.workload = { below(3) ? WorkloadKind::Prefill : WorkloadKind::Decode, 1 + below(5), 1 + below(9), DType::BF16 };
        design.picker.profile = anyProfile();
        design.picker.allowPartialToSharded = below(2);
        const char* matches[] = { "tokens",
                                  "*q_proj.weight",
                                  "*[kv]_proj.weight",
                                  "*o_proj.weight",
                                  "*gate_proj.weight",
                                  "*up_proj.weight",
                                  "*down_proj.weight",
                                  "*embed_tokens.weight",
                                  "*lm_head.weight",
                                  "*norm.weight",
                                  "model.layers.1.*_proj.weight" };
        for (const char* match : matches)
            if (below(3)) {
                design.strategies.push_back(specFor(match, spec(design.mesh, std::string(match) == "*norm.weight" ? 1 : 2)));
                constexpr CutRule rules[] { CutRule::Balanced, CutRule::GrainBalanced, CutRule::CeilFlat, CutRule::CeilNested };
                design.strategies.back().cut = rules[below(3) ? below(2) : below(4)];
            }
        if (!below(4))
            design.strategies.push_back(headAware(design));
        return design;
    }

    /// A model of the family under layouts of any of its weights and inputs.
    Design of(const std::string& family)
    {
        Design design;
        const char* meshes[] = { "a=2,b=2", "a=2,b=3", "a=3", "a=2,b=2,c=2", "a=4,b=1,c=2" };
        design.mesh = Mesh::parse(meshes[below(5)]).value();
        design.model = familyModel(family);
        if (!design.model.mla.present() && !design.model.block.fusedQkv && below(2))
            design.model.heads = design.model.kvHeads = 4;
        design.workload = { below(3) ? WorkloadKind::Prefill : WorkloadKind::Decode, 1 + below(5), 1 + below(9), DType::BF16 };
        design.picker.profile = anyProfile();
        design.picker.allowPartialToSharded = below(2);
        const auto graph = buildGraph(design.model, design.workload);
        if (!graph.ok())
            throw std::runtime_error(graph.error().text());
        for (const GraphTensor& tensor : graph.value().tensors)
            if (tensor.spec.role != TensorRole::Activation && below(3)) {
                design.strategies.push_back(specFor(tensor.spec.name, spec(design.mesh, tensor.spec.shape.size())));
                if (tensor.spec.role == TensorRole::Weight)
                    design.strategies.back().cut = below(3) ? CutRule::Balanced : CutRule::GrainBalanced;
            }
        return design;
    }

    Design nextTraining()
    {
        Design design = next();
        const std::int64_t microBatches = 1 + below(3);
        design.workload = { WorkloadKind::Train, microBatches * (1 + below(3)),
                            1 + below(6),        DType::BF16,
                            microBatches,        kRecomputing[static_cast<std::size_t>(below(std::ssize(kRecomputing)))] };
        design.workload.recomputeEvery = 1 + below(3); // of two layers the second one, or none
        return design;
    }

private:
    int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

    PickerProfile anyProfile()
    {
        constexpr PickerProfile upstream[] { PickerProfile::G0, PickerProfile::G1, PickerProfile::G2, PickerProfile::G3 };
        return below(2) ? PickerProfile::Shardboard : upstream[below(4)];
    }

    StrategyEntry headAware(const Design& design)
    {
        Strategy strategy;
        strategy.kind = StrategyKind::HeadAwareColumnwise;
        strategy.axes = { design.mesh.axis(below(design.mesh.axisCount())).name };
        strategy.numHeads = design.model.heads;
        strategy.headDim = design.model.headDim;
        return { "*o_proj.weight", strategy, std::nullopt };
    }

    std::string spec(const Mesh& mesh, std::size_t rank)
    {
        Layout layout = Layout::replicated(rank);
        std::vector<int> axes;
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            axes.push_back(axis);
        std::shuffle(axes.begin(), axes.end(), m_random);
        for (const int axis : axes)
            if (const auto dim = static_cast<std::size_t>(below(static_cast<int>(rank) + 1)); dim < rank)
                layout.dims[dim].push_back(AxisRef { axis });
        return specText(layout, mesh);
    }

    std::mt19937 m_random;
};

std::string describe(const Design& design)
{
    std::string text = design.model.name + " " + profileName(design.picker.profile) + " " + design.mesh.text() + " "
        + recomputeName(design.workload.recompute) + " 1 in " + std::to_string(design.workload.recomputeEvery) + " "
        + std::to_string(design.workload.microBatches) + " heads " + std::to_string(design.model.heads) + "/"
        + std::to_string(design.model.kvHeads) + " " + workloadName(design.workload.kind) + " "
        + std::to_string(design.workload.batch) + "x" + std::to_string(design.workload.sequence);
    for (const StrategyEntry& entry : design.strategies)
        text += "; " + entry.match + " " + entry.strategy.text() + " " + cutRuleName(entry.cut.value_or(CutRule::Balanced));
    return text;
}

/// More designs of each kind where the environment asks for them: 300 take some minutes.
int cases(int usual) { return std::max(usual, qEnvironmentVariableIntValue("SHARDBOARD_TEST_CASES")); }

/// Runs so many designs and compares them with the unsharded models.
void runMany(unsigned seed, int count, const std::function<Design(RandomDesigns&)>& next, std::size_t leastCollectives)
{
    RandomDesigns designs(seed);
    RunOptions options;
    options.verify = true;
    std::size_t collectives = 0;
    for (int trial = 0; trial < count; ++trial) {
        const Design design = next(designs);
        const auto evaluation = evaluate(design);
        QVERIFY2(evaluation.ok(), (describe(design) + ": " + (evaluation.ok() ? "" : evaluation.error().text())).c_str());
        collectives += evaluation.value()->plan.collectives.size();
        const RunOutcome outcome = runOnCpu({ { evaluation.value()->graph, evaluation.value()->plan }, options });
        if (const auto* failure = std::get_if<Failure>(&outcome))
            QFAIL((describe(design) + ": " + failure->where + ": " + failure->message).c_str());
        const auto& result = std::get<RunResult>(outcome);
        QVERIFY2(result.verified,
                 (describe(design) + ": " + result.worstOp + " " + std::to_string(result.maxRelativeError)).c_str());
    }
    QVERIFY(collectives > leastCollectives);
}

} // namespace

class TestRandomPlans : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyPlanComputesTheModel() { runMany(20, cases(150), &RandomDesigns::next, 500); }
    void everyTrainingStepIsTheUnshardedOne() { runMany(21, cases(80), &RandomDesigns::nextTraining, 1000); }

    void everyFamilyComputesItself_data()
    {
        QTest::addColumn<QString>("family");
        for (const std::string& family : familyNames())
            QTest::newRow(family.c_str()) << QString::fromStdString(family);
    }
    void everyFamilyComputesItself()
    {
        QFETCH(QString, family);
        runMany(
            7, cases(20), [&](RandomDesigns& designs) { return designs.of(family.toStdString()); }, 50);
    }
};

SHARDBOARD_TEST(TestRandomPlans)
#include "tst_randomplans.moc"

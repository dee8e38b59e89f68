// SPDX-License-Identifier: Apache-2.0
// A ColumnParallelLinear alone is run and verified: even and uneven out dims, with a bias, with a tied weight, whatever
// the layouts of input, weight and bias are.
#include "engine/cpu/backend.h"
#include "model/design/evaluate/evaluate.h"
#include "tests/engine/testprogram.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <random>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::test;

namespace {

Design module(const char* mesh, const LinearModule& linear, PickerProfile profile = PickerProfile::Shardboard)
{
    const Workload workload { WorkloadKind::Prefill, 4, 3, DType::BF16 };
    Design design = designOn(mesh, columnParallelModel(linear, DType::BF16), workload, "megatron-tp");
    design.picker.profile = profile;
    return design;
}

struct Ran {
    std::shared_ptr<const Evaluation> evaluation;
    RunResult result;
};

Ran run(const Design& design, RunOptions options = {})
{
    options.verify = true;
    auto evaluation = sure(evaluate(design));
    const RunOutcome outcome = runOnCpu({ { evaluation->graph, evaluation->plan }, options });
    if (const auto* failure = std::get_if<Failure>(&outcome))
        qFatal("%s: %s", failure->where.c_str(), failure->message.c_str());
    return { evaluation, std::get<RunResult>(outcome) };
}

/// Kinds of the collectives that move something, in order.
QStringList kinds(const Evaluation& evaluation)
{
    QStringList out;
    for (const Collective& collective : evaluation.plan.collectives)
        if (collective.kind != CollectiveKind::LocalSlice)
            out << QString::fromStdString(collectiveName(collective.kind) + " " + evaluation.graph.tensor(collective.tensor).name);
    return out;
}

QStringList ops(const Evaluation& evaluation)
{
    QStringList out;
    for (const PlannedOp& planned : evaluation.plan.segments.front().ops)
        out << QString::fromStdString(opKindName(evaluation.graph.op(planned.op).kind) + " "
                                      + specText(planned.result, evaluation.plan.mesh));
    return out;
}

} // namespace

class TestModuleRun : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void matmulBiasAndGatherOfAnUnevenDim()
    {
        for (const PickerProfile profile : { PickerProfile::Shardboard, PickerProfile::G1 }) {
            const Ran ran = run(module("model=3", { 6, 10, true, false }, profile));
            QVERIFY(ran.result.verified);
            QCOMPARE(ops(*ran.evaluation),
                     (QStringList { "matmul P(None, None, 'model')", "add P(None, None, 'model')", "gather_last P()" }));
            QCOMPARE(kinds(*ran.evaluation), (QStringList { "all-gather y" }));
            QCOMPARE(ran.evaluation->plan.collectives[0].bytes, 4 * 3 * 10 * 2);
            QVERIFY(ran.evaluation->plan.collectives[0].reason.find("the module hands all of it to every device")
                    != std::string::npos);
            const ShardMap& shards = ran.evaluation->weights[0].shards;
            QCOMPARE(shards.shardAt(0).shape(), (Shape { 4, 6 }));
            QCOMPARE(shards.shardAt(2).pieces[0][0], (Range { 7, 10 }));
        }
    }

    void batchStaysCutOverData()
    {
        const Ran ran = run(module("data=2,model=4", { 8, 151, true, false }));
        QVERIFY(ran.result.verified);
        QCOMPARE(ops(*ran.evaluation).last(), QString("gather_last P('data')"));
        QCOMPARE(kinds(*ran.evaluation), (QStringList { "all-gather y" }));
        QCOMPARE(ran.evaluation->plan.collectives[0].groupSize, 4);
    }

    /// The table is cut on dim 0 for the embedding and for the layer: one weight, counted once.
    void tiedWeight()
    {
        const Ran ours = run(module("data=2,model=3", { 8, 10, false, true }));
        QVERIFY(ours.result.verified);
        QCOMPARE(ours.evaluation->parameters, 80);
        QCOMPARE(kinds(*ours.evaluation), (QStringList { "all-reduce embedding", "all-gather y" }));
        const Ran max = run(module("data=2,model=3", { 8, 10, false, true }, PickerProfile::G1));
        QVERIFY(max.result.verified);
        QCOMPARE(kinds(*max.evaluation), (QStringList { "all-gather embed_tokens.weight", "all-gather y" }));
    }

    void aBrokenGatherIsCaught()
    {
        RunOptions options;
        options.breakCollective = "any";
        const Ran ran = run(module("model=3", { 6, 10, true, false }), options);
        QVERIFY(!ran.result.verified);
        QCOMPARE(ran.result.worstOp, std::string("linear/gather/y/all-gather"));
    }

    /// What a decoder's run leaves out there is not: the module is all there is.
    void moduleRunsWithoutEnds()
    {
        RunOptions options;
        options.ends = false;
        options.layers = 1;
        QVERIFY(run(module("model=2", { 6, 10, false, false }), options).result.verified);
    }

    void randomLayouts()
    {
        std::mt19937 random(5);
        const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        std::size_t collectives = 0;
        for (int trial = 0; trial < 300; ++trial) {
            const char* meshes[] = { "a=2,b=2", "a=2,b=3", "a=3", "a=2,b=2,c=2", "a=4,b=1,c=2" };
            const bool tied = below(2);
            Design design = module(meshes[below(5)], { 1 + below(9), 1 + below(13), !tied && below(2), tied });
            design.workload = { below(3) ? WorkloadKind::Prefill : WorkloadKind::Decode, 1 + below(5), 1 + below(4), DType::BF16 };
            design.picker = { below(2) ? PickerProfile::Shardboard : PickerProfile::G1, below(2) == 1 };
            const std::pair<const char*, std::size_t> names[] = { { tied ? "tokens" : "x", tied ? 2 : 3 },
                                                                  { "*.weight", 2 },
                                                                  { "*.bias", 1 } };
            for (const auto& [match, rank] : names) {
                Layout layout = Layout::replicated(rank);
                for (int axis = 0; axis < design.mesh.axisCount(); ++axis)
                    if (const auto dim = static_cast<std::size_t>(below(static_cast<int>(rank) + 1)); dim < rank)
                        layout.dims[dim].push_back(AxisRef { axis });
                design.strategies.push_back(specFor(match, specText(layout, design.mesh)));
                constexpr CutRule kRules[] { CutRule::Balanced, CutRule::CeilFlat, CutRule::CeilNested };
                design.strategies.back().cut = kRules[below(3)];
            }
            const Ran ran = run(design);
            QVERIFY2(ran.result.verified, ran.result.worstOp.c_str());
            const Layout& out = ran.evaluation->plan.segments.front().ops.back().result;
            QVERIFY(out.dims.back().empty() && out.partial.empty());
            collectives += ran.evaluation->plan.collectives.size();
        }
        QVERIFY(collectives > 300);
    }
};

SHARDBOARD_TEST(TestModuleRun)
#include "tst_modulerun.moc"

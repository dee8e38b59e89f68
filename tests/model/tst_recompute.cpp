// SPDX-License-Identifier: Apache-2.0
// What the backward pass computes again: names, and bytes that are kept against what the parts' operations need.
#include "model/design/evaluate/evaluate.h"
#include "model/plan/memory/segmentprofile.h"
#include "model/plan/recomputedlayers.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <random>

using namespace shardboard;

namespace {

constexpr std::int64_t kHidden = 1024, kWidth = 4096, kHeads = 16, kKvHeads = 8, kHeadDim = 64, kLayers = 6, kTokens = 2048;

Design llama(Recompute recompute, const char* mesh = "data=1", const char* preset = "replicate", std::int64_t microBatches = 1)
{
    Workload work { WorkloadKind::Train, microBatches, kTokens, DType::BF16, microBatches, recompute };
    return designOn(mesh, denseModel(4096, kHidden, kWidth, kLayers, kHeads, kKvHeads, kHeadDim), work, preset);
}

/// Bytes that a layer keeps of a token.
std::int64_t keptOf(Recompute recompute)
{
    const auto evaluation = evaluate(llama(recompute)).value();
    for (std::size_t i = 0; i < evaluation->plan.segments.size(); ++i) {
        const PlannedSegment& planned = evaluation->plan.segments[i];
        if (planned.phase == Phase::Forward && evaluation->graph.segment(planned.segment).isLayer)
            return segmentProfiles(evaluation->graph, evaluation->plan)[i].keptActivations / kTokens;
    }
    return -1;
}

} // namespace

class TestRecompute : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void names()
    {
        QCOMPARE(recomputeName(Recompute::None), std::string("none"));
        QCOMPARE(recomputeName(Recompute::Selective), std::string("selective"));
        QCOMPARE(recomputeName(Recompute::Full), std::string("full"));
        std::mt19937 random(22);
        for (int i = 0; i < 1000; ++i) {
            Recompute set = Recompute::None;
            for (const RecomputePart part : kRecomputeParts)
                set = set.with(part, part != RecomputePart::Layer && random() % 2 == 0);
            QVERIFY(recomputeFromName(recomputeName(set)) == set);
        }
        for (const RecomputeAlias& alias : kRecomputeAliases)
            QVERIFY2(recomputeFromName(alias.name) == recomputeFromName(alias.parts) && recomputeFromName(alias.name), alias.name);
        for (const char* wrong : { "", ",", "some", "none,norms", "full,norms", "norms,", "Norms", "norms mlp-in" })
            QVERIFY2(!recomputeFromName(wrong), wrong);
    }

    /// In 16 bits: h enters the layer, q, k, v, attention's result o and its log-sum-exp, the sum after attention h, gate and up f.
    void keptBytes()
    {
        constexpr std::int64_t h = 2 * kHidden, q = 2 * kHeads * kHeadDim, k = 2 * kKvHeads * kHeadDim, o = q, f = 2 * kWidth,
                               lse = 4 * kHeads;
        const auto of = [](const char* name) { return keptOf(*recomputeFromName(name)); };
        QCOMPARE(of("full"), h);
        // TorchTitan: the products 1, 3, 5 (q, v, gate) and attention; 7, the last one, is not read backward.
        QCOMPARE(of("by-op"), h + q + k + o + lse + f);
        // MaxText minimal: all products, attention again.
        QCOMPARE(of("minimal"), h + q + 2 * k + h + 2 * f);
        QCOMPARE(of("save_dot_except_mlpwi"), h + q + 2 * k + h);
        QCOMPARE(of("save_qkv_proj"), h + q + 2 * k);
        QCOMPARE(of("none") - of("layernorm"), 2 * h);
    }

    /// More is computed, and the same is kept, in the first layers of every run alone.
    void layers()
    {
        Design design = llama(Recompute::Full, "stage=2", "pp-1f1b", 4);
        design.workload.recomputeLayers = 1;
        const auto ranges = [&] {
            return recomputedLayers(design.workload, design.pipeline, design.mesh, evaluated(design)->graph);
        };
        QCOMPARE(ranges(), (std::vector<Range> { { 0, 1 }, { 3, 4 } }));
        design.pipeline.layers = { 5, 1 };
        QCOMPARE(ranges(), (std::vector<Range> { { 0, 1 }, { 5, 6 } }));
        design.workload.recomputeLayers = 2;
        QCOMPARE(ranges(), (std::vector<Range> { { 0, 2 }, { 5, 6 } }));
        design.pipeline.layers.clear();
        design.pipeline.countEmbedding = true; // as a layer: 4 units and 3
        QCOMPARE(ranges(), (std::vector<Range> { { 0, 2 }, { 3, 5 } }));
        design.pipeline.countEmbedding = false;
        design.workload.recomputeLayers = 1;
        const auto seconds = [&](Recompute recompute, std::int64_t count) {
            Design it = llama(recompute);
            it.workload.recomputeLayers = count;
            return evaluate(it).value()->plan.computeSeconds;
        };
        const double none = seconds(Recompute::None, 0);
        const double all = seconds(Recompute::Full, 0);
        QVERIFY(all > none);
        QCOMPARE(seconds(Recompute::Full, kLayers), all);
        QVERIFY(std::abs(seconds(Recompute::Full, 2) - (none + (all - none) * 2 / kLayers)) < 1e-9 * all);
        const auto peak = [&](std::int64_t count) {
            Design it = llama(Recompute::Full);
            it.workload.recomputeLayers = count;
            return evaluate(it).value()->plan.memory.activations;
        };
        QVERIFY(peak(1) > peak(3) && peak(3) > peak(5));
        QVERIFY(evaluate(design).ok());
    }

    /// Unfused attention keeps its scores in the layers that compute nothing again, and there alone.
    void scoresOfSomeLayers()
    {
        const auto plan = [&](std::int64_t count) {
            Design it = llama(Recompute::Selective);
            it.workload.attention = AttentionKernel::Unfused;
            it.workload.recomputeLayers = count;
            return evaluated(it)->plan;
        };
        const Plan all = plan(0);
        QCOMPARE(plan(kLayers).computeSeconds, all.computeSeconds);
        QVERIFY(plan(kLayers).memory == all.memory);
        // The softmax, 2 bytes of a score, and what norms and the product in the MLP give.
        constexpr std::int64_t layer = kTokens * (kHeads * kTokens * 2 + 4 * kHidden + 2 * kWidth);
        QCOMPARE(plan(kLayers - 1).memory.kept - all.memory.kept, layer);
        QCOMPARE(plan(2).memory.kept - all.memory.kept, 4 * layer);
    }
};

SHARDBOARD_TEST(TestRecompute)
#include "tst_recompute.moc"

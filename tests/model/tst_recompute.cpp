// SPDX-License-Identifier: Apache-2.0
// What the backward pass computes again: names, and bytes that are kept against what the parts' operations need.
#include "model/design/evaluate/evaluate.h"
#include "model/plan/memory/segmentprofile.h"
#include "model/plan/recomputedlayers.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <random>
#include <set>
#include <string>

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
            return recomputedLayers(design.workload, design.pipeline, design.mesh, evaluated(design)->graph).value();
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

    /// One layer in n of a stage, as TorchTitan counts the blocks of a process while it wraps them, over all its runs.
    void everyNth()
    {
        std::mt19937 random(22);
        for (int i = 0; i < 300; ++i) {
            const std::int64_t stages = 1 + static_cast<std::int64_t>(random() % 3);
            const std::int64_t chunks = stages == 1 ? 1 : 1 + static_cast<std::int64_t>(random() % 3);
            const std::int64_t layers = stages * chunks + static_cast<std::int64_t>(random() % 8);
            Design design = designOn(stages == 1 ? "data=1" : ("stage=" + std::to_string(stages)).c_str(),
                                     denseModel(64, 32, 64, layers, 2, 1, 16), { WorkloadKind::Train, 6, 8, DType::BF16, 6 },
                                     stages == 1 ? "replicate" : "pp-1f1b");
            design.pipeline.chunks = chunks;
            design.workload.recompute = Recompute::Full;
            design.workload.recomputeEvery = 1 + static_cast<std::int64_t>(random() % 4);
            design.workload.recomputeLayers = static_cast<std::int64_t>(random() % 3);
            const auto evaluation = evaluated(design);
            const auto ranges = recomputedLayers(design.workload, design.pipeline, design.mesh, evaluation->graph);
            std::set<std::int64_t> wanted;
            for (std::int64_t stage = 0; stage < stages; ++stage) {
                std::int64_t count = 0;
                for (std::int64_t run = stage; run < stages * chunks; run += stages) {
                    const Range part = balancedPart(layers, stages * chunks, run);
                    for (std::int64_t layer = part.lo; layer < part.hi; ++layer)
                        if (design.workload.recomputeLayers == 0 || layer - part.lo < design.workload.recomputeLayers)
                            if (++count % design.workload.recomputeEvery == 0)
                                wanted.insert(layer);
                }
            }
            std::set<std::int64_t> got;
            for (const Range& range : ranges.value_or(std::vector<Range> { { 0, layers } }))
                for (std::int64_t layer = range.lo; layer < range.hi; ++layer)
                    got.insert(layer);
            QVERIFY2(got == wanted, design.mesh.text().c_str());
            std::set<std::int64_t> planned; // those whose backward pass computes something again
            for (const PlannedSegment& segment : evaluation->plan.segments)
                if (segment.phase == Phase::Backward && evaluation->graph.segment(segment.segment).isLayer
                    && !recomputedIn(evaluation->graph, segment).empty())
                    for (std::int64_t layer = segment.firstLayer; layer < segment.firstLayer + segment.count; ++layer)
                        planned.insert(layer);
            // What a kernel makes of the gate is made again in every layer and named in all.
            if (planned.size() < static_cast<std::size_t>(layers))
                QVERIFY(planned == wanted);
        }
    }

    /// The layers that compute again keep what enters them, the others everything; time is in between by their number.
    void keptByEveryNth()
    {
        const auto of = [](std::int64_t every) {
            Design it = llama(Recompute::Full);
            it.workload.recomputeEvery = every;
            return evaluated(it);
        };
        const std::int64_t all = keptOf(Recompute::None);
        const auto none = evaluated(llama(Recompute::None));
        const double full = of(1)->plan.computeSeconds;
        for (const std::int64_t every : { 2, 3, 4, 6, 7 }) {
            const auto evaluation = of(every);
            const std::int64_t again = kLayers / every; // layers
            std::int64_t kept = 0;
            const auto profiles = segmentProfiles(evaluation->graph, evaluation->plan);
            for (std::size_t i = 0; i < profiles.size(); ++i) {
                const PlannedSegment& planned = evaluation->plan.segments[i];
                if (planned.phase == Phase::Forward && evaluation->graph.segment(planned.segment).isLayer)
                    kept += planned.count * profiles[i].keptActivations;
            }
            QCOMPARE(kept, kTokens * (again * 2 * kHidden + (kLayers - again) * all));
            const double seconds = none->plan.computeSeconds
                + (full - none->plan.computeSeconds) * static_cast<double>(again) / static_cast<double>(kLayers);
            QVERIFY(std::abs(evaluation->plan.computeSeconds - seconds) < 1e-9 * seconds);
            QVERIFY(again > 0 || evaluation->plan.memory == none->plan.memory);
        }
    }

    /// Unfused attention keeps its scores in the layers that compute nothing again, and there alone.
    void scoresOfSomeLayers()
    {
        const auto of = [&](std::int64_t count) {
            Design it = llama(Recompute::Selective);
            it.workload.attention = AttentionKernel::Unfused;
            it.workload.recomputeLayers = count;
            return evaluated(it);
        };
        const auto kept = [&](std::int64_t count) { // by all layers
            const auto evaluation = of(count);
            const auto profiles = segmentProfiles(evaluation->graph, evaluation->plan);
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < profiles.size(); ++i) {
                const PlannedSegment& planned = evaluation->plan.segments[i];
                if (planned.phase == Phase::Forward && evaluation->graph.segment(planned.segment).isLayer)
                    sum += planned.count * profiles[i].keptActivations;
            }
            return sum;
        };
        QCOMPARE(of(kLayers)->plan.computeSeconds, of(0)->plan.computeSeconds);
        QVERIFY(of(kLayers)->plan.memory == of(0)->plan.memory);
        // The softmax, 2 bytes of a score, and what norms and the product in the MLP give.
        constexpr std::int64_t layer = kTokens * (kHeads * kTokens * 2 + 4 * kHidden + 2 * kWidth);
        QCOMPARE(kept(kLayers - 1) - kept(0), layer);
        QCOMPARE(kept(2) - kept(0), 4 * layer);
    }
};

SHARDBOARD_TEST(TestRecompute)
#include "tst_recompute.moc"

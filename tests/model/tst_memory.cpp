// SPDX-License-Identifier: Apache-2.0
// Memory of a device over a step, by cause: against the closed forms, and against a measured peak.
#include "model/cost/closedforms/activationbytes.h"
#include "model/cost/closedforms/adambytes.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/plan/memory/stagelayers.h"
#include "model/plan/memory/timeline.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <algorithm>
#include <set>

using namespace shardboard;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr std::int64_t kLayerParameters = 218112000; // of Llama 3 8B

Design training(const char* mesh, const char* preset, std::int64_t batch, std::int64_t sequence,
                Recompute recompute = Recompute::None, std::int64_t microBatches = 1)
{
    return designOn(mesh, llama3Model(), { WorkloadKind::Train, batch, sequence, DType::BF16, microBatches, recompute }, preset);
}

/// The bytes at an operation of the first such layer that runs.
MemoryBytes at(const Evaluation& evaluation, Phase phase, const char* op, std::int64_t stage = 0)
{
    for (const MemoryMoment& moment : memoryTimeline(evaluation.graph, evaluation.plan, stage).moments)
        if (evaluation.plan.segment(moment.plannedSegment).phase == phase && evaluation.graph.op(moment.op).name == op)
            return moment.bytes;
    qFatal("no operation %s", op);
}

} // namespace

class TestMemory : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// A cache that one token is added to stays where it is.
    void theCacheIsThereOnce()
    {
        Design design = training("data=2,model=4", "megatron-tp", 8, 8192);
        design.workload.kind = WorkloadKind::Decode;
        QVERIFY(applyPreset(design, "megatron-tp").ok());
        const auto evaluation = evaluated(design);
        const std::int64_t layer = std::int64_t { 2 } * 8 / 2 * 8192 * 8 / 4 * 128 * 2; // keys and values
        for (const MemoryMoment& moment : memoryTimeline(evaluation->graph, evaluation->plan).moments) {
            QCOMPARE(moment.bytes.kvCache, 32 * layer);
            QVERIFY(moment.bytes.activations < layer / 8);
        }
    }

    /// Gemma 3 27B: of 62 layers every sixth attends to all tokens, the others to 1024. Gemma 2 and gpt-oss have every second one.
    void windowsLeaveLess()
    {
        Design design;
        design.mesh = Mesh::parse("data=1").value();
        design.model = denseModel(262208, 5376, 21504, 62, 32, 16, 128);
        design.model.windowPeriod = 6;
        design.workload = { WorkloadKind::Decode, 1, 131072, DType::BF16 };
        QVERIFY(applyPreset(design, "replicate").ok());
        const auto attention = [](const Evaluation& it) {
            double flops = 0;
            for (const PlannedSegment& segment : it.plan.segments)
                for (const PlannedOp& op : segment.ops)
                    if (it.graph.op(op.op).kind == OpKind::Attention)
                        flops += static_cast<double>(op.count) * op.work.flops;
            return flops;
        };
        const std::int64_t token = 2 * 16 * 128 * 2; // bytes of a key and a value
        for (const WorkloadKind kind : { WorkloadKind::Decode, WorkloadKind::Prefill }) {
            design.workload.kind = kind;
            design.model.slidingWindow = 0;
            const auto whole = evaluated(design);
            QCOMPARE(whole->plan.memory.kvCache, 62 * 131072 * token);
            design.model.slidingWindow = 131072;
            QCOMPARE(evaluated(design)->plan.memory.kvCache, whole->plan.memory.kvCache);
            QCOMPARE(attention(*evaluated(design)), attention(*whole));
            design.model.slidingWindow = 1024;
            const auto windows = evaluated(design);
            const std::int64_t left = (10 * std::int64_t { 131072 } + 52 * 1024) * token;
            QVERIFY(std::abs(windows->plan.memory.kvCache - left) <= 2 * 62); // layers are rounded up
            double seen = 0;
            double all = 0;
            for (int layer = 0; layer < 62; ++layer)
                for (int query = kind == WorkloadKind::Decode ? 131071 : 0; query < 131072; ++query) {
                    all += query + 1;
                    seen += (layer + 1) % 6 == 0 ? query + 1 : std::min(query + 1, 1024);
                }
            const double share = attention(*windows) / attention(*whole);
            QVERIFY2(std::abs(share - seen / all) < 1e-9, qPrintable(QString::number(share)));
            QVERIFY(windows->plan.seconds() < whole->plan.seconds());
        }
        for (const auto& [period, full] : { std::pair { 2, 31 }, { 0, 0 }, { -1, 62 } }) {
            design.workload.kind = WorkloadKind::Decode;
            design.model.windowPeriod = period;
            const std::int64_t left = (full * std::int64_t { 131072 } + (62 - full) * 1024) * token;
            QVERIFY2(std::abs(evaluated(design)->plan.memory.kvCache - left) <= 2 * 62, qPrintable(QString::number(period)));
        }
    }

    /// The plan's peak is the largest moment of the timeline, and every moment is the sum of its causes.
    void thePeakIsOneMoment()
    {
        for (const char* preset : { "fsdp", "replicate" })
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train }) {
                Design design = training("fsdp=8", preset, 8, 2048);
                design.workload.kind = kind;
                QVERIFY(applyPreset(design, preset).ok());
                const auto evaluation = evaluated(design);
                const MemoryTimeline timeline = memoryTimeline(evaluation->graph, evaluation->plan);
                const MemoryMoment& peak = timeline.moments[static_cast<std::size_t>(timeline.peak())];
                const MemoryByCause& memory = evaluation->plan.memory;
                QCOMPARE(static_cast<const MemoryBytes&>(memory), peak.bytes);
                QCOMPARE(memory.peak, memory.total());
                QVERIFY(memory.peakAt.ends_with("/" + evaluation->graph.op(peak.op).name));
                for (const MemoryMoment& moment : timeline.moments) {
                    QVERIFY(moment.bytes.total() <= memory.peak);
                    QVERIFY(moment.bytes.kept <= moment.bytes.activations);
                    for (const MemoryCause& cause : memoryCauses())
                        QVERIFY(moment.bytes.*cause.bytes >= 0);
                }
                std::size_t operations = 0;
                std::size_t layers = 0;
                for (const PlannedSegment& segment : evaluation->plan.segments) {
                    operations += segment.ops.size() * static_cast<std::size_t>(segment.count);
                    layers += static_cast<std::size_t>(segment.count);
                }
                QCOMPARE(timeline.moments.size(), operations);
                const MemoryTimeline folded = layerByLayer(timeline);
                QCOMPARE(folded.moments.size(), layers);
                QCOMPARE(folded.moments[static_cast<std::size_t>(folded.peak())].bytes, peak.bytes);
            }
        QVERIFY(memoryTimeline(evaluated(training("fsdp=8", "fsdp", 8, 512))->graph, Plan {}, 1).moments.empty());
    }

    void causesHaveNamesOfTheirOwn()
    {
        std::set<std::string> keys, names;
        MemoryBytes bytes;
        std::int64_t next = 1;
        std::int64_t sum = 0;
        for (const MemoryCause& cause : memoryCauses()) {
            QVERIFY(keys.insert(cause.key).second && names.insert(cause.name).second);
            QCOMPARE(bytes.*cause.bytes, 0);
            bytes.*cause.bytes = next;
            sum += next;
            next *= 2;
        }
        QCOMPARE(bytes.total(), sum);
    }

    /// Weights, gradients and states of the closed form, when all are there.
    void statesFollowTheStages()
    {
        const double parameters = 8030261248.0;
        OptimizerSharding sharding;
        const auto states = [&](const char* mesh, const char* preset) {
            Design design = training(mesh, preset, 64, 512);
            design.workload.optimizer = sharding;
            const auto evaluation = evaluated(design);
            const auto timeline = memoryTimeline(evaluation->graph, evaluation->plan);
            const MemoryBytes& m = timeline.moments.back().bytes;
            return static_cast<double>(m.weights + m.masterWeights + m.optimizer + m.gradients);
        };
        QCOMPARE(states("data=64", "replicate"), parameters * zeroBytesPerParameter(ZeroStage::None, 64));
        sharding.axes = { "data" };
        QCOMPARE(states("data=64", "replicate"), parameters * zeroBytesPerParameter(ZeroStage::Optimizer, 64));
        sharding.gradients = true;
        QCOMPARE(states("data=64", "replicate"), parameters * zeroBytesPerParameter(ZeroStage::Gradients, 64));
        sharding = {};
        QCOMPARE(states("fsdp=64", "fsdp"), parameters * zeroBytesPerParameter(ZeroStage::Weights, 64));
        QCOMPARE(states("data=4,fsdp=16", "hsdp"), parameters * zeroBytesPerParameter(ZeroStage::Weights, 16));
    }

    /// Instead of an all-reduce of every gradient a reduce-scatter, and an all-gather of every weight after its step.
    void theOptimizersPartsAreSummedAndGathered()
    {
        for (const std::int64_t microBatches : { 1, 2 })
            for (const bool gradients : { false, true }) {
                Design design = training("data=8", "replicate", 16, 512, Recompute::None, microBatches);
                design.workload.optimizer = { { "data" }, gradients };
                const auto evaluation = evaluated(design);
                for (const Collective& collective : evaluation->plan.collectives) {
                    const PlannedSegment& segment = evaluation->plan.segment(collective.plannedSegment);
                    if (collective.kind == CollectiveKind::LocalSlice)
                        continue;
                    const bool sums = collective.kind == CollectiveKind::ReduceScatter;
                    QVERIFY(sums || collective.kind == CollectiveKind::AllGather);
                    QCOMPARE(segment.phase == Phase::Update, !sums || !gradients);
                    QCOMPARE(collective.count, segment.count * (segment.phase == Phase::Update ? 1 : microBatches));
                }
                QCOMPARE(std::ranges::count_if(evaluation->plan.collectives,
                                               [](const Collective& c) { return c.kind == CollectiveKind::ReduceScatter; }),
                         12);
            }
        Design design = training("data=8", "replicate", 16, 512);
        design.workload.optimizer.axes = { "fsdp" };
        QVERIFY(!evaluate(design).ok());
    }

    /// Gradients come layer by layer while what was kept goes; over several micro-batches they are there all the time, in f32.
    void gradientsGrow()
    {
        const auto one = evaluated(training("fsdp=8", "fsdp", 8, 2048));
        QCOMPARE(at(*one, Phase::Forward, "mlp.down_proj").gradients, 0);
        const MemoryTimeline timeline = memoryTimeline(one->graph, one->plan);
        std::vector<MemoryBytes> layers;
        for (const MemoryMoment& moment : timeline.moments)
            if (one->plan.segment(moment.plannedSegment).phase == Phase::Backward
                && one->graph.op(moment.op).name == "mlp.down_proj.grad_w")
                layers.push_back(moment.bytes);
        QCOMPARE(layers.size(), std::size_t { 32 });
        for (std::size_t i = 1; i < layers.size(); ++i)
            QCOMPARE(layers[i].gradients - layers[i - 1].gradients, kLayerParameters * 2 / 8);
        QVERIFY(layers.front().kept > 0);
        QCOMPARE(layers.back().kept, 0);

        const auto four = evaluated(training("fsdp=8", "fsdp", 32, 2048, Recompute::None, 4));
        QCOMPARE(at(*four, Phase::Forward, "mlp.down_proj").gradients, 8030261248 * 4 / 8);
    }

    /// Full recompute keeps what enters the layers: 2h bytes a token and layer.
    void recomputeKeepsTheClosedForm()
    {
        const auto full = evaluated(training("fsdp=8", "fsdp", 8, 8192, Recompute::Full));
        const double kept = static_cast<double>(at(*full, Phase::Backward, "loss.grad").kept);
        QCOMPARE(kept, 32 * 8192 * llamaFullRecomputeBytesPerToken({ .hidden = 4096 }));
    }

    /// Logits, their copy in f32, their gradient in f32 and as it goes on: 12 bytes for each.
    void logitsOfTheLoss()
    {
        const auto evaluation = evaluated(training("fsdp=8", "fsdp", 16, 8192));
        const double logits = logitBytes(128256, 8192, 2);
        QCOMPARE(static_cast<double>(at(*evaluation, Phase::Forward, "lm_head").logits), logits / 2);
        QCOMPARE(static_cast<double>(at(*evaluation, Phase::Forward, "loss.max").logits), logits * 3 / 2);
        QCOMPARE(static_cast<double>(at(*evaluation, Phase::Backward, "loss.grad").logits), 3 * logits);
        Design fused = training("fsdp=8", "fsdp", 16, 8192);
        fused.memory.logitsInF32 = false;
        QCOMPARE(static_cast<double>(at(*evaluated(fused), Phase::Backward, "loss.grad").logits), logits);
    }

    /// The weights of the layer that works, and of the one that comes next.
    void gatheredWeights()
    {
        Design design = training("fsdp=8", "fsdp", 8, 2048);
        QCOMPARE(at(*evaluated(design), Phase::Forward, "mlp.down_proj").gathered, 2 * kLayerParameters * 2);
        design.memory.prefetchedLayers = 0;
        QCOMPARE(at(*evaluated(design), Phase::Forward, "mlp.down_proj").gathered, kLayerParameters * 2);
        QCOMPARE(at(*evaluated(training("data=8", "replicate", 8, 2048)), Phase::Forward, "mlp.down_proj").gathered, 0);
    }

    void reserveAndRuntimeAreSettings()
    {
        Design design = training("fsdp=8", "fsdp", 8, 2048);
        const auto usual = evaluated(design);
        const auto kept = static_cast<std::int64_t>(hardwareOf(design).value().reservedBytes());
        QVERIFY(kept > 0);
        QCOMPARE(usual->plan.memory.runtime, kept + design.memory.contextBytes + design.memory.communicatorBytes);
        design.memory.reserveShare = 0;
        design.memory.contextBytes = design.memory.communicatorBytes = 0;
        const auto bare = evaluated(design);
        QCOMPARE(bare->plan.memory.reserve, 0);
        QCOMPARE(bare->plan.memory.runtime, kept);
        QCOMPARE(bare->plan.memory.peak, usual->plan.memory.peak - usual->plan.memory.reserve - usual->plan.memory.runtime + kept);
        design.memory.reserveShare = 1.5;
        QVERIFY(!verifyMemorySettings(design.memory, "memory").ok());
    }

    void keysAndValues()
    {
        Design design = training("data=1", "replicate", 2, 1024);
        design.workload.kind = WorkloadKind::Decode;
        QCOMPARE(static_cast<double>(evaluated(design)->plan.memory.kvCache), kvCacheBytesPerToken(32, 8, 128, 2) * 1024 * 2);
    }

    /// The first stage of 1F1B holds as many micro-batches as there are stages, the last one; interleaved the first holds the
    /// closed form's layers.
    void stagesOfAPipeline()
    {
        const auto kept = [](const Evaluation& evaluation, std::int64_t stage) {
            std::int64_t most = 0;
            for (const MemoryMoment& moment : memoryTimeline(evaluation.graph, evaluation.plan, stage).moments)
                if (evaluation.plan.segment(moment.plannedSegment).phase == Phase::Backward && moment.layer >= 0)
                    most = std::max(most, moment.bytes.kept);
            return static_cast<double>(most);
        };
        const double layer = 2048 * llamaFullRecomputeBytesPerToken({ .hidden = 4096 });
        const auto plain = evaluated(training("stage=4", "pp-1f1b", 8, 2048, Recompute::Full, 8));
        // The layer that works is not among those that are kept.
        for (std::int64_t stage = 0; stage < 4; ++stage)
            QCOMPARE(kept(*plain, stage), layer * static_cast<double>(8 * (4 - stage) - 1));
        QCOMPARE(plain->plan.pipeline->memory.size(), std::size_t { 4 });
        for (const MemoryByCause& stage : plain->plan.pipeline->memory)
            QVERIFY(stage.peak <= plain->plan.memory.peak);
        QCOMPARE(plain->plan.pipeline->memory[static_cast<std::size_t>(plain->plan.pipeline->fullestStage)].peak,
                 plain->plan.memory.peak);

        const auto interleaved = evaluated(training("stage=4", "pp-interleaved", 8, 2048, Recompute::Full, 8));
        QCOMPARE(kept(*interleaved, 0), layer * (megatronLayersKept(32, 4, 2) - 1));
        QCOMPARE(microBatchesHeld(interleaved->plan, 3), (0 + 4 + 1) / 2.0);

        // Fewer micro-batches than stages: no more are held than there are.
        const auto few = evaluated(training("stage=4", "pp-1f1b", 2, 2048, Recompute::Full, 2));
        QCOMPARE(kept(*few, 0), layer * (8 * 2 - 1));
    }

    /// Every layer lies on one stage.
    void layersOfStages()
    {
        for (const char* preset : { "pp-1f1b", "pp-interleaved" }) {
            Design design = training("stage=4", preset, 8, 512, Recompute::Full, 8);
            design.model.layers = 30;
            const auto evaluation = evaluated(design);
            std::int64_t layers = 0;
            for (std::int64_t stage = 0; stage < stageCount(evaluation->plan); ++stage)
                for (const StagePart& part : stageParts(evaluation->graph, evaluation->plan, stage)) {
                    const PlannedSegment& planned = evaluation->plan.segment(part.plannedSegment);
                    if (planned.phase == Phase::Forward && evaluation->graph.segment(planned.segment).isLayer)
                        layers += part.layers;
                }
            QCOMPARE(layers, 30);
        }
    }

    /// TorchTitan's docs/performance.md: Llama 3.1 8B on 8 H100, FSDP 8, local batch 2, sequence 8192, selective activation
    /// checkpointing: 82.4 GiB. What it reports is the most that PyTorch's allocator reserved, so that context and communicators
    /// (`runtime` here) are not in it. Counted here: bf16 weights with f32 copies and moments, 14 bytes a parameter (there f32
    /// weights and moments, 12; gradients do not exist yet at the peak in either); all results of matrix products and of attention
    /// (its selective mode computes every second product again, and keeps some products' results that no gradient reads); logits
    /// with what cross_entropy makes of them, 12 bytes each in both; gathered weights; and the allocator's reserve. The two differ
    /// in what is kept, so that the model is held to 15 %, and not to more.
    void measuredPeakOfTorchTitan()
    {
        const auto evaluation = evaluated(training("fsdp=8", "fsdp", 16, 8192, Recompute::Selective));
        const MemoryByCause& memory = evaluation->plan.memory;
        const double reserved = static_cast<double>(memory.peak - memory.runtime) / kGiB;
        QVERIFY2(std::abs(reserved / 82.4 - 1) < 0.15, qPrintable(QString::number(reserved)));
    }

    /// TorchTitan ran Llama 3.1 405B on 128 H100 (FSDP 16, tensor and sequence parallel 8, full recompute, local batch 2).
    void the405BFits()
    {
        Design design = training("fsdp=16,model=8", "tp-sp+fsdp", 32, 8192, Recompute::Full);
        design.model = denseModel(128256, 16384, 53248, 126, 128, 8, 128);
        QVERIFY(applyPreset(design, "tp-sp+fsdp").ok());
        const MemoryByCause& memory = evaluated(design)->plan.memory;
        QVERIFY2(static_cast<double>(memory.peak) < 80e9, qPrintable(QString::number(static_cast<double>(memory.peak) / kGiB)));
        QVERIFY(static_cast<double>(memory.peak) > 45e9); // 14 bytes a parameter alone are 44 GB
    }
};

SHARDBOARD_TEST(TestMemory)
#include "tst_memory.moc"

// SPDX-License-Identifier: Apache-2.0
// Predicted times of whole training steps against published measurements. One set of constants for all, none of them fitted
// to these points: kernels as H100 matrix products measure (performance 2.1), links as NCCL's own tuner has them.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "tests/support/models.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

#include <cmath>

using namespace shardboard;

namespace {

/// A GPT of arXiv 2205.05198, table 3, in the run of its table 5: tensor parallel over a node of 8 A100, the rest pipeline.
struct MegatronRun {
    const char* name;
    std::int64_t hidden, heads, layers, stages, chunks, batch, microBatches;
    double fullSeconds; ///< everything computed again, no sequence parallelism
    double selectiveSeconds; ///< attention core computed again, with sequence parallelism
};
constexpr MegatronRun kMegatron[] {
    { "22B", 6144, 64, 48, 1, 1, 4, 1, 1.42, 1.10 },
    { "175B", 12288, 96, 96, 8, 3, 64, 64, 18.13, 13.75 },
    { "530B", 20480, 128, 105, 35, 3, 280, 280, 49.05, 37.83 },
    { "1T", 25600, 160, 128, 64, 1, 512, 512, 94.42, 71.49 },
};

Design megatron(const MegatronRun& run, bool full)
{
    Design design;
    design.hardware = "dgx-a100";
    design.mesh = Mesh::parse(run.stages > 1 ? "stage=" + std::to_string(run.stages) + ",model=8" : "model=8").value();
    ModelSpec& model = design.model;
    model.name = run.name;
    model.vocabSize = 51200;
    model.hiddenSize = run.hidden;
    model.intermediateSize = 4 * run.hidden;
    model.layers = run.layers;
    model.heads = run.heads;
    model.kvHeads = run.heads;
    model.headDim = run.hidden / run.heads;
    model.tiedEmbeddings = true;
    model.attentionBias = AttentionBias::Qkvo;
    model.mlpBias = true;
    model.activation = "gelu";
    model.norm.kind = NormKind::LayerNorm;
    model.ropeTheta = 0; // learned positions, a small table
    model.block.gatedMlp = false;
    model.block.fusedQkv = true;
    design.workload = { WorkloadKind::Train, run.batch,        2048,
                        DType::BF16,         run.microBatches, full ? Recompute::Full : Recompute::Selective };
    design.workload.attention = AttentionKernel::Unfused;
    design.memory.framework = Framework::Megatron;
    const auto applied = applyPreset(design, full ? "megatron-tp" : "tp-sp");
    if (!applied.ok())
        qFatal("%s", applied.error().text().c_str());
    if (run.stages > 1)
        design.pipeline = { "stage", run.chunks };
    return design;
}

/// A run of TorchTitan: docs/performance.md of 2024-04 (A100), benchmarks/llama3_h100_202412_torchtitan.md (H100).
struct TitanRun {
    const char* name;
    const char* hardware;
    const char* mesh;
    const char* preset;
    std::int64_t layers; ///< 32: the 8B model, 80: the 70B one
    std::int64_t batch, sequence;
    Recompute recompute;
    Software software;
    DType dtype;
    double tokens; ///< measured, a second and device
};
constexpr TitanRun kTitan[] {
    { "8B, 64 A100, eager", "dgx-a100", "fsdp=64", "fsdp", 32, 64, 8192, Recompute::Selective, Software::Eager, DType::BF16, 2973 },
    { "70B, 64 A100, eager", "dgx-a100", "fsdp=64", "fsdp", 80, 64, 8192, Recompute::Full, Software::Eager, DType::BF16, 331 },
    { "8B, 8 H100, eager", "dgx-h100", "fsdp=8", "fsdp", 32, 16, 8192, Recompute::Selective, Software::Eager, DType::BF16, 5762 },
    { "8B, 8 H100, compiled", "dgx-h100", "fsdp=8", "fsdp", 32, 16, 8192, Recompute::Selective, Software::Compiled, DType::BF16,
      6667 },
    { "8B, 8 H100, compiled, fp8", "dgx-h100", "fsdp=8", "fsdp", 32, 16, 8192, Recompute::Selective, Software::Compiled,
      DType::F8E4M3, 8532 },
    { "8B, 128 H100, eager", "dgx-h100", "fsdp=128", "fsdp", 32, 256, 8192, Recompute::Selective, Software::Eager, DType::BF16,
      5605 },
    { "8B, 128 H100, compiled", "dgx-h100", "fsdp=128", "fsdp", 32, 256, 8192, Recompute::Selective, Software::Compiled,
      DType::BF16, 6514 },
    { "8B, 128 H100, compiled, fp8", "dgx-h100", "fsdp=128", "fsdp", 32, 256, 8192, Recompute::Selective, Software::Compiled,
      DType::F8E4M3, 8380 },
};

/// Its H100 are no usual ones: 96 GB at 2.4 TB/s, held at 500 W, "the actual peak TFLOPs number is between SXM and NVL, and we
/// don't know its exact value". Taken is that of the NVL (835 TFLOP/s, NVIDIA's data sheet), whose 400 W are nearer.
Design titan(const TitanRun& run, Software software)
{
    Design design;
    Hardware hardware = findHardware(run.hardware).value();
    if (hardware.device.id == "h100-sxm") {
        hardware.id = "grand-teton";
        hardware.device.memoryBytes = 96e9;
        hardware.device.memoryBytesPerSecond = 2.4e12;
        hardware.device.peak.bf16 = 835e12;
        hardware.device.peak.fp8 = 1671e12;
    }
    setHardware(design, std::move(hardware));
    design.mesh = Mesh::parse(run.mesh).value();
    design.model = run.layers == 32 ? llama3Model() : denseModel(128256, 8192, 28672, 80, 64, 8, 128);
    design.workload = { WorkloadKind::Train, run.batch, run.sequence, run.dtype, 1, run.recompute };
    design.workload.overlap = Overlap::Weights;
    design.workload.software = software;
    sure(applyPreset(design, run.preset));
    return design;
}

/// Its selective mode keeps the results of products but of every second one, in the order of a layer: wk, wo and w3 run again
/// (torchtitan/parallelisms/parallelize_llama.py). A plan's selective mode repeats no product.
double tokensOfTitan(const TitanRun& run, Software software)
{
    const auto evaluation = sure(evaluate(titan(run, software)));
    const Plan& plan = evaluation->plan;
    double again = 0;
    for (const PlannedSegment& segment : plan.segments)
        for (const PlannedOp& op : segment.ops) {
            const std::string& name = evaluation->graph.op(op.op).name;
            if (run.recompute == Recompute::Selective && segment.phase == Phase::Forward
                && (name == "self_attn.k_proj" || name == "self_attn.o_proj" || name == "mlp.up_proj"))
                again += static_cast<double>(op.count) * op.seconds;
        }
    return plan.performance.tokensPerSecondPerDevice * plan.seconds() / (plan.seconds() + again);
}

} // namespace

class TestPublishedTimes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// What grows with the square of the sequence: 5 bytes for each score of a head (arXiv 2205.05198), which selective recompute
    /// drops.
    void scoresAreKept()
    {
        Design design = megatron(kMegatron[0], true);
        design.workload.recompute = Recompute::None;
        const auto keptOf = [](const Design& d) { return evaluate(d).value()->plan.memory.kept; };
        const std::int64_t unfused = keptOf(design);
        design.workload.attention = AttentionKernel::Flash;
        const std::int64_t rows = 64 / 8 * 4 * 2048; // heads of a device, batch, queries
        QCOMPARE(unfused - keptOf(design), 48 * (5 * rows * 2048 - 4 * rows));
        design.workload.recompute = Recompute::Selective;
        const std::int64_t selective = keptOf(design);
        design.workload.attention = AttentionKernel::Unfused;
        QCOMPARE(keptOf(design), selective - 48 * 4 * rows);
    }

    /// Megatron's checkpoints run a layer again to its end, whose last product and sum no gradient needs; others leave them out.
    void layersToTheirEnd()
    {
        const auto againOf = [](const Design& design) {
            const auto evaluation = sure(evaluate(design));
            std::int64_t count = 0;
            double collectives = 0;
            for (const PlannedSegment& segment : evaluation->plan.segments)
                for (const PlannedOp& op : segment.ops)
                    count += evaluation->graph.op(op.op).name == "mlp.down_proj.again" ? op.count : 0;
            for (const Collective& collective : evaluation->plan.collectives)
                collectives += static_cast<double>(collective.count * collective.bytes);
            return std::pair(count, collectives);
        };
        Design design = megatron(kMegatron[0], true);
        const auto toEnd = againOf(design);
        design.memory.framework = Framework::None;
        const auto needed = againOf(design);
        QCOMPARE(toEnd.first, std::int64_t { 48 }); // layers
        QCOMPARE(needed.first, std::int64_t { 0 });
        QCOMPARE(toEnd.second - needed.second, 48.0 * 4 * 2048 * 6144 * 2); // an all-reduce of the layer's output each
        design.memory.framework = Framework::Megatron;
        design.workload.recompute = Recompute::Selective;
        QCOMPARE(againOf(design).first, std::int64_t { 0 });
    }

    /// Calculon, the best published predictor, reaches 3.65 % mean and 8.87 % worst here.
    void megatronTable5()
    {
        double sum = 0;
        double worst = 0;
        for (const MegatronRun& run : kMegatron) {
            for (const bool full : { true, false }) {
                const auto evaluation = sure(evaluate(megatron(run, full)));
                const double measured = full ? run.fullSeconds : run.selectiveSeconds;
                const double predicted = evaluation->plan.seconds();
                const double error = predicted / measured - 1;
                qInfo("%s %s: %.2f s, measured %.2f s, %+.1f %%", run.name, full ? "full" : "sequence parallel, selective",
                      predicted, measured, 100 * error);
                sum += std::abs(error);
                worst = std::max(worst, std::abs(error));
            }
        }
        qInfo("mean error %.2f %%, worst %.2f %%", 100 * sum / 8, 100 * worst);
        QVERIFY(sum / 8 < 0.03);
        QVERIFY(worst < 0.0887);
    }

    /// Nothing is fitted: kernels as PyTorch's source has them, attention as its authors publish it, products as for everybody.
    /// What is left (all predictions are too fast) is what the model does not know: collectives that take multiprocessors and power
    /// from the products beside them, the clock under a power limit, the host.
    void torchTitan()
    {
        double sum = 0;
        for (const TitanRun& run : kTitan) {
            const double fused = tokensOfTitan(run, Software::Fused) / run.tokens - 1;
            const double error = tokensOfTitan(run, run.software) / run.tokens - 1;
            qInfo("%s: %.0f tokens/s, measured %.0f, %+.1f %% (fused kernels %+.1f %%)", run.name, (1 + error) * run.tokens,
                  run.tokens, 100 * error, 100 * fused);
            sum += std::abs(error);
            QVERIFY(std::abs(error) < std::abs(fused)); // software is what it is about
            QVERIFY2(std::abs(error) < 0.28, run.name);
            if (QByteArray(run.hardware) == "dgx-a100") // known hardware
                QVERIFY2(std::abs(error) < 0.17, run.name);
        }
        qInfo("mean error %.1f %%", 100 * sum / std::size(kTitan));
        QVERIFY(sum / std::size(kTitan) < 0.20);
    }
};

SHARDBOARD_TEST(TestPublishedTimes)
#include "tst_publishedtimes.moc"

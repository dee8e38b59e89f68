// SPDX-License-Identifier: Apache-2.0
// What frameworks hold: bytes by hand from their sources (model/plan/framework.cpp names them).
#include "model/io/checkpoint/openmodel.h"
#include "model/plan/framework.h"
#include "model/plan/memory/timeline.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <utility>

using namespace shardboard;

namespace {

constexpr std::int64_t kParameters = 8'030'261'248; // Llama 3 8B
constexpr std::int64_t kLayer = 218'112'000;
constexpr std::int64_t kTable = 128'256 * 4'096; // embedding; the head is as large

Design training(const char* mesh, const char* preset, Recompute recompute = Recompute::Full, std::int64_t microBatches = 1)
{
    return designOn(mesh, llama3Model(), { WorkloadKind::Train, 16, 8192, DType::BF16, microBatches, recompute }, preset);
}

std::shared_ptr<const Evaluation> by(Framework framework, Design design)
{
    design.memory.choose(framework);
    return evaluated(design);
}

/// How often weights that fit are gathered in a step.
std::int64_t gathers(const Evaluation& evaluation, const char* name)
{
    std::int64_t sum = 0;
    for (const Collective& collective : evaluation.plan.collectives)
        if (collective.kind == CollectiveKind::AllGather && evaluation.graph.tensor(collective.tensor).name.ends_with(name))
            sum += collective.count;
    return sum;
}

} // namespace

class TestFramework : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void namesAreTheirs()
    {
        for (const FrameworkFacts& facts : frameworks()) {
            QVERIFY(frameworkFromName(facts.name) == facts.framework);
            QCOMPARE(&factsOf(facts.framework), &facts);
        }
        QVERIFY(!frameworkFromName("fairscale"));
    }

    /// The reserve goes with the framework unless somebody has set it.
    void theReserveGoesWithIt()
    {
        MemorySettings settings;
        settings.choose(Framework::TorchTitan);
        QCOMPARE(settings.reserveShare, 0.176);
        settings.choose(Framework::None);
        QVERIFY(settings == MemorySettings {});
        settings.reserveShare = 0.1;
        settings.choose(Framework::Megatron);
        QCOMPARE(settings.reserveShare, 0.1);
        settings = {};
        settings.chooseReserve(0.05); // which is usual without a framework
        settings.choose(Framework::TorchTitan);
        QCOMPARE(settings.reserveShare, 0.05);
    }

    /// What trains does not serve.
    void noneWhileServing()
    {
        Design design = designOn("data=2,model=4", llama3Model(), { WorkloadKind::Decode, 32, 4096, DType::BF16 }, "megatron-tp");
        const auto plain = evaluated(design);
        for (const FrameworkFacts& facts : frameworks())
            QVERIFY(by(facts.framework, design)->plan.memory == plain->plan.memory);
    }

    /// FSDP2: 4 bytes of weight, 8 of moments; embedding, norm and head are gathered once and stay, a layer's weights twice.
    void torchTitanOnFsdp()
    {
        const auto plain = evaluated(training("fsdp=8", "fsdp"));
        const auto titan = by(Framework::TorchTitan, training("fsdp=8", "fsdp"));
        const MemoryByCause& memory = titan->plan.memory;
        QCOMPARE(memory.weights, kParameters / 8 * 4);
        QCOMPARE(memory.masterWeights, 0);
        QCOMPARE(memory.optimizer, kParameters / 8 * 8);
        QCOMPARE(gathers(*plain, "lm_head.weight"), 2);
        QCOMPARE(gathers(*titan, "lm_head.weight"), 1);
        QCOMPARE(gathers(*titan, "embed_tokens.weight"), 1);
        QCOMPARE(gathers(*titan, "q_proj.weight"), 64);
        // At the loss the root is gathered, and the next layer is gathered ahead.
        QVERIFY(memory.gathered >= (2 * kTable + 4096) * 2);
        QVERIFY(memory.gathered <= (2 * kTable + 4096) * 2 + 2 * kLayer * 2);
        // Logits, their gradient, and 8 bytes of f32 beside: 12 for each of 2 x 8192 tokens.
        QCOMPARE(memory.logits, std::int64_t { 12 } * 2 * 8192 * 128'256);
        QVERIFY(memory.least < memory.peak && memory.peak < memory.most);
    }

    /// Head and final norm are used twice in a row; a tied table comes first, too. XLA finds these gathers equal, FSDP2 keeps the
    /// root.
    void endsThatAreGatheredOnce()
    {
        const Design tied = designOn("fsdp=8", sure(builtinModel("gemma-2b")),
                                     { WorkloadKind::Train, 16, 2048, DType::BF16, 1, Recompute::Full }, "fsdp");
        QCOMPARE(gathers(*evaluated(tied), "embed_tokens.weight"), 3);
        for (const Framework framework : { Framework::TorchTitan, Framework::MaxText }) {
            const auto once = by(framework, tied);
            QCOMPARE(gathers(*once, "embed_tokens.weight"), 1);
            QCOMPARE(gathers(*once, "model.norm.weight"), 1);
        }
    }

    /// Gradients are reduced in f32 by FSDP2 and Megatron-LM, in the computing type by the two others.
    void typesOfReductions()
    {
        for (const auto& [framework, bytes] : { std::pair { Framework::None, 2 },
                                                { Framework::TorchTitan, 4 },
                                                { Framework::Megatron, 4 },
                                                { Framework::MaxText, 2 },
                                                { Framework::DeepSpeed, 2 } }) {
            const auto evaluation = by(framework, training("data=8", "replicate"));
            std::int64_t reduced = 0;
            for (const Collective& collective : evaluation->plan.collectives)
                if (collective.kind == CollectiveKind::AllReduce
                    && evaluation->graph.tensor(collective.tensor).name.find("q_proj.weight") != std::string::npos)
                    reduced += collective.bytes;
            QCOMPARE(reduced, bytes * std::int64_t { 4096 } * 4096);
        }
    }

    /// Of a sequence-parallel layer going backward: two all-gathers and two reduce-scatters where products keep what was gathered,
    /// else the inputs once more; what is kept is so much larger.
    void gatheredInputsOfSequenceParallelism()
    {
        Design design = training("model=4", "tp-sp", Recompute::None);
        const auto titan = by(Framework::TorchTitan, design);
        const auto megatron = by(Framework::Megatron, design);
        const auto backward = [](const Evaluation& evaluation, CollectiveKind kind) {
            std::int64_t count = 0;
            for (const Collective& collective : evaluation.plan.collectives) {
                const PlannedSegment& planned = evaluation.plan.segment(collective.plannedSegment);
                if (planned.phase == Phase::Backward && evaluation.graph.segment(planned.segment).isLayer
                    && collective.kind == kind)
                    count += collective.count;
            }
            return count;
        };
        QCOMPARE(backward(*titan, CollectiveKind::AllGather), 2 * 32);
        QCOMPARE(backward(*titan, CollectiveKind::ReduceScatter), 2 * 32);
        QCOMPARE(backward(*megatron, CollectiveKind::AllGather), 4 * 32);
        QCOMPARE(backward(*megatron, CollectiveKind::ReduceScatter), 2 * 32);
        const std::int64_t input = std::int64_t { 16 } * 8192 * 4096 * 2;
        QCOMPARE(titan->plan.memory.kept - megatron->plan.memory.kept, 32 * 2 * (input - input / 4));
    }

    /// What other streams hold, beside the share: the buffers of the root and of a layer, and the reduced gradients of all weights,
    /// which are in use when they have been made. They do not count where the allocator does well.
    void streamsOfFsdp2()
    {
        const auto titan = by(Framework::TorchTitan, training("fsdp=8", "fsdp"));
        const MemoryByCause& memory = titan->plan.memory;
        const std::int64_t root = (2 * kTable + 4096) * 2;
        const std::int64_t asked = memory.weights + memory.optimizer + memory.gradients + memory.activations + memory.logits
            + memory.gathered + memory.reshard;
        QCOMPARE(memory.gradients, 0); // at the loss
        const std::int64_t share = static_cast<std::int64_t>(0.176 * static_cast<double>(asked));
        QVERIFY(qAbs(memory.reserve - share - root - 2 * kLayer - kParameters / 8 * 4) < 4096);
        QCOMPARE(memory.least, memory.peak - memory.reserve);
        const MemoryTimeline timeline = memoryTimeline(titan->graph, titan->plan);
        const MemoryBytes& last = timeline.moments.back().bytes;
        QVERIFY(last.gradients >= kParameters / 8 * 4);
        const std::int64_t asked2 = last.total() - last.runtime - last.reserve;
        QVERIFY(qAbs(last.reserve - static_cast<std::int64_t>(0.176 * static_cast<double>(asked2)) - root - 2 * kLayer) < 4096);
    }

    /// A product in fp8 has casts of what it takes: of one activation forward, of two, and both ways round, for a weight's
    /// gradient.
    void castsOfProducts()
    {
        Design design = training("fsdp=8", "fsdp");
        const auto wide = by(Framework::TorchTitan, design);
        design.workload.dtype = DType::F8E4M3;
        design.workload.fp8.recipe = Fp8Recipe::Tensorwise;
        const auto narrow = by(Framework::TorchTitan, design);
        const std::int64_t tokens = std::int64_t { 2 } * 8192;
        const auto activations = [](const Evaluation& evaluation, const char* op) {
            for (const MemoryMoment& moment : memoryTimeline(evaluation.graph, evaluation.plan).moments)
                if (evaluation.graph.op(moment.op).name == op)
                    return moment.bytes.activations;
            return std::int64_t { -1 };
        };
        for (const auto& [op, casts] : { std::pair { "mlp.gate_proj", tokens * 4096 },
                                         { "mlp.down_proj", tokens * 14336 },
                                         { "mlp.gate_proj.grad_x", tokens * 14336 },
                                         { "mlp.gate_proj.grad_w", tokens * 2 * (4096 + 14336) },
                                         { "input_layernorm", std::int64_t { 0 } },
                                         { "lm_head", std::int64_t { 0 } } })
            QCOMPARE(activations(*narrow, op) - activations(*wide, op), casts);
    }

    /// What the layers keep by operation: input, q, v, attention and its log-sum-exp, gate.
    void keptByOperation()
    {
        const auto titan = by(Framework::TorchTitan, training("fsdp=8", "fsdp", Recompute::ByOp));
        const std::int64_t tokens = std::int64_t { 2 } * 8192;
        const std::int64_t token = 2 * (4096 + 4096 + 1024 + 4096 + 14336) + 4 * 32;
        QCOMPARE(titan->plan.memory.kept, 32 * tokens * token);
        // Without a compiler what the down projection gave stays, too.
        Design eager = training("fsdp=8", "fsdp", Recompute::ByOp);
        eager.workload.software = Software::Eager;
        QCOMPARE(by(Framework::TorchTitan, eager)->plan.memory.kept, 32 * tokens * (token + 2 * 4096));
    }

    void weightsThatStay()
    {
        Design design = training("fsdp=8", "fsdp");
        design.memory.reshardAfterForward = false;
        const auto kept = evaluated(design);
        QCOMPARE(gathers(*kept, "q_proj.weight"), 32);
        QCOMPARE(kept->plan.memory.gathered, kParameters * 2);
        design.memory.reshardAfterForward = true;
        const auto given = evaluated(design);
        QCOMPARE(gathers(*given, "q_proj.weight"), 64);
        QVERIFY(given->plan.seconds() > kept->plan.seconds());
        QVERIFY(given->plan.memory.peak < kept->plan.memory.peak);
    }

    /// In a pipeline a stage's bf16 weights and f32 gradients are whole, and both move once a step.
    void torchTitanInPipelines()
    {
        Design design = training("stage=2,fsdp=4", "fsdp", Recompute::Full, 4);
        design.pipeline.axis = "stage";
        const auto titan = by(Framework::TorchTitan, design);
        const std::int64_t stage = 16 * kLayer + kTable;
        const std::int64_t waiting = 14336 * 4096 * 2; // bf16, of one product
        QCOMPARE(titan->plan.pipeline->memory.front().gradients, stage * 4 + waiting);
        QVERIFY(titan->plan.pipeline->memory.front().gathered >= stage * 2);
        QCOMPARE(gathers(*titan, "q_proj.weight"), 32);
        std::int64_t reduced = 0;
        for (const Collective& collective : titan->plan.collectives)
            if (collective.kind == CollectiveKind::ReduceScatter
                && titan->graph.tensor(collective.tensor).name.find("q_proj") != std::string::npos)
                reduced += collective.count;
        QCOMPARE(reduced, 32);
    }

    /// 2 bytes of weight, 4 of gradient, 12 of states that the distributed optimizer cuts.
    void megatron()
    {
        Design design = training("data=8", "replicate", Recompute::Full, 2);
        design.workload.optimizer.axes = { "data" };
        const MemoryByCause memory = by(Framework::Megatron, design)->plan.memory;
        QCOMPARE(memory.weights, kParameters * 2);
        QCOMPARE(memory.gradients, kParameters * 4);
        QCOMPARE(memory.optimizer + memory.masterWeights, kParameters / 8 * 12);
    }

    /// Transformer Engine keeps the cast of what products take: of norms' outputs and the product in the MLP alone, of attention's
    /// result beside the value, which attention's gradient takes.
    void savedInFp8()
    {
        Design design = training("data=8", "replicate", Recompute::None);
        design.workload.dtype = DType::F8E4M3;
        const auto usual = by(Framework::Megatron, design);
        design.workload.fp8.recipe = Fp8Recipe::Tensorwise;
        const auto cast = by(Framework::Megatron, design);
        const std::int64_t tokens = std::int64_t { 2 } * 8192;
        QCOMPARE(usual->plan.memory.kept - cast->plan.memory.kept, 32 * tokens * (2 * 4096 + 14336 - 4096));
        const auto hp = by(Framework::TorchTitan, design); // torchao keeps the values
        QCOMPARE(hp->plan.memory.kept, usual->plan.memory.kept);
    }

    /// Half the bytes of the layers' weights, and no cast of them behind.
    void gatheredInFp8()
    {
        Design design = training("fsdp=8", "fsdp");
        design.workload.dtype = DType::F8E4M3;
        design.workload.software = Software::Compiled;
        design.workload.fp8.recipe = Fp8Recipe::Tensorwise;
        const auto wide = by(Framework::TorchTitan, design);
        design.workload.fp8.gather = true;
        const auto narrow = by(Framework::TorchTitan, design);
        const auto bytes = [](const Evaluation& evaluation) {
            std::int64_t sum = 0;
            for (const Collective& collective : evaluation.plan.collectives)
                if (collective.kind == CollectiveKind::AllGather)
                    sum += collective.bytes * collective.count;
            return sum;
        };
        const std::int64_t products = 32 * (kLayer - 2 * 4096);
        QCOMPARE(bytes(*wide) - bytes(*narrow), 2 * products); // forward and backward, a byte less of each
        QVERIFY(narrow->plan.computeSeconds < wide->plan.computeSeconds);
    }

    /// Rows and columns of the layers' products are kept as casts with their scales, beside weights that are updated themselves.
    void heldInFp8()
    {
        Design design = training("fsdp=8", "fsdp");
        design.workload.dtype = DType::F8E4M3;
        const std::int64_t products = 32 * (kLayer - 2 * 4096) / 8;
        const std::int64_t others = kParameters / 8 - products;
        const std::pair<Fp8Recipe, double> recipes[] { { Fp8Recipe::Rowwise, 2.0 },
                                                       { Fp8Recipe::Blockwise, 2 * (1 + 4.0 / 128) },
                                                       { Fp8Recipe::Mxfp8, 2 * (1 + 1.0 / 32) },
                                                       { Fp8Recipe::Nvfp4, 2 * (0.5 + 1.0 / 16) } };
        for (const auto& [recipe, bytes] : recipes) {
            design.workload.fp8 = { recipe, true };
            QCOMPARE(evaluated(design)->plan.memory.weights, 2 * others + std::llround(bytes * static_cast<double>(products)));
        }
        design.workload.fp8 = { Fp8Recipe::Rowwise, true };
        const auto f32 = by(Framework::MaxText, design);
        QCOMPARE(f32->plan.memory.weights, 4 * (products + others) + 2 * products);
        QCOMPARE(f32->plan.memory.masterWeights, 0);
        design.workload.microBatches = 2;
        design.workload.fp8.gather = false;
        QCOMPARE(evaluated(design)->plan.memory.weights, 2 * (products + others) + 2 * products);
    }

    /// Scales are gathered with the elements, and four bits are half of eight.
    void gatheredWithScales()
    {
        Design design = training("fsdp=8", "fsdp");
        design.workload.dtype = DType::F8E4M3;
        const auto gathered = [&](Fp8Recipe recipe) {
            design.workload.fp8 = { recipe, true };
            const auto evaluation = evaluated(design);
            for (const Collective& it : evaluation->plan.collectives)
                if (it.kind == CollectiveKind::AllGather
                    && evaluation->graph.tensor(it.tensor).name.ends_with("mlp.up_proj.weight"))
                    return static_cast<double>(it.bytes);
            return 0.0;
        };
        QCOMPARE(gathered(Fp8Recipe::Rowwise), 4096.0 * 14336);
        QCOMPARE(gathered(Fp8Recipe::Mxfp8), 4096.0 * 14336 * (1 + 1.0 / 32));
        QCOMPARE(gathered(Fp8Recipe::Nvfp4), 4096.0 * 14336 * (0.5 + 1.0 / 16));
    }

    /// A device without units for fp8 does everything as in bf16: nothing is cast, kept or gathered in 8 bits.
    void withoutFp8()
    {
        for (const char* hardware : { "dgx-a100", "tpu-v5e-4x4" }) {
            Design design = training("fsdp=8", "fsdp");
            design.hardware = hardware;
            const auto plain = evaluated(design);
            design.workload.dtype = DType::F8E4M3;
            design.workload.fp8 = { Fp8Recipe::Rowwise, true };
            const auto fp8 = evaluated(design);
            QVERIFY(fp8->plan.memory == plain->plan.memory);
            QCOMPARE(fp8->plan.seconds(), plain->plan.seconds());
            QCOMPARE(fp8->plan.collectiveBytes(), plain->plan.collectiveBytes());
        }
    }

    /// Scores of Llama pass no dropout: 2 bytes each. GPT's do: with a mask and a result, 5.
    void dropoutOfGptAlone()
    {
        Design design = designOn("model=8", llama3Model(), { WorkloadKind::Train, 4, 2048, DType::BF16 }, "megatron-tp");
        const std::int64_t flash = evaluated(design)->plan.memory.kept;
        design.workload.attention = AttentionKernel::Unfused;
        const std::int64_t rows = std::int64_t { 4 } * 2048 * 32 / 8;
        QCOMPARE(evaluated(design)->plan.memory.kept - flash, 32 * rows * (2 * 2048 - 4));
    }

    void verdicts()
    {
        QVERIFY(fitOf(70, 80, 80) == Fit::Fits);
        QVERIFY(fitOf(70, 81, 80) == Fit::Tight);
        QVERIFY(fitOf(80, 90, 80) == Fit::Tight);
        QVERIFY(fitOf(81, 90, 80) == Fit::DoesNotFit);
        Design design = training("fsdp=8", "fsdp");
        for (const Framework framework : { Framework::None, Framework::TorchTitan, Framework::MaxText }) {
            const MemoryByCause memory = by(framework, design)->plan.memory;
            QVERIFY(memory.least == memory.peak - memory.reserve);
            QVERIFY(memory.most > memory.peak);
        }
    }
};

SHARDBOARD_TEST(TestFramework)
#include "tst_framework.moc"

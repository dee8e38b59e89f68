// SPDX-License-Identifier: Apache-2.0
// What each planned operation says of its kernel: class, FLOPs, bytes and the sizes of matrix products.
#include "model/cost/closedforms/modelflops.h"
#include "model/cost/kerneltime.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/ops/opdefinition.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;

namespace {

std::shared_ptr<const Evaluation> evaluated(const ModelSpec& model, const char* mesh, const char* preset,
                                            std::int64_t microBatches = 1, DType dtype = DType::BF16,
                                            Software software = Software::Fused, WorkloadKind kind = WorkloadKind::Train)
{
    Workload workload { kind, 8, 4096, dtype, microBatches };
    workload.software = software;
    return evaluated(designOn(mesh, model, workload, preset));
}

const PlannedOp& find(const Evaluation& evaluation, Phase phase, const char* name)
{
    for (const PlannedSegment& segment : evaluation.plan.segments)
        for (const PlannedOp& op : segment.ops)
            if (segment.phase == phase && evaluation.graph.op(op.op).name == name)
                return op;
    qFatal("no operation %s", name);
}

} // namespace

class TestKernelWork : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void names()
    {
        for (const KernelClass kernel : { KernelClass::None, KernelClass::Gemm, KernelClass::Attention, KernelClass::Memory,
                                          KernelClass::Optimizer, KernelClass::Lookup })
            QCOMPARE(kernelClassFromName(kernelClassName(kernel)), std::optional(kernel));
        QVERIFY(!kernelClassFromName("nonsense"));
    }

    /// One more token is written to the cache, which is read once a step: keys and values, or the latents that are both.
    void theCacheIsReadOnce()
    {
        const auto evaluation =
            evaluated(llama3Model(), "data=2,model=4", "megatron-tp", 1, DType::BF16, Software::Fused, WorkloadKind::Decode);
        const double sequences = 8 / 2;
        const double token = 8 / 4 * 128 * 2; // bytes of its keys
        QCOMPARE(find(*evaluation, Phase::Forward, "self_attn.k_cache").work.bytes, 2 * sequences * token);
        const double queries = sequences * 32 / 4 * 128 * 2;
        QCOMPARE(find(*evaluation, Phase::Forward, "self_attn.attention").work.bytes, sequences * 4096 * 2 * token + 2 * queries);

        const auto latent = evaluated(builtinModel("deepseek3-671b").value(), "data=8", "replicate", 1, DType::BF16,
                                      Software::Fused, WorkloadKind::Decode);
        const double row = (512 + 64) * 2; // latent and rotated key
        QCOMPARE(find(*latent, Phase::Forward, "self_attn.kv_cache").work.bytes, 2 * row);
        QCOMPARE(find(*latent, Phase::Forward, "self_attn.attention").work.bytes,
                 4096 * row + 128 * (row + 512 * 2)); // heads give values of 512
    }

    void sizesAreThoseOfTheShards()
    {
        const auto evaluation = evaluated(llama3Model(), "data=2,model=4", "megatron-tp");
        const KernelWork& up = find(*evaluation, Phase::Forward, "mlp.up_proj").work;
        QCOMPARE(up.kernel, KernelClass::Gemm);
        QCOMPARE(up.dtype, DType::BF16);
        QCOMPARE(up.gemm, (GemmDims { 1, 4 * 4096, 14336 / 4, 4096 }));
        QCOMPARE(up.bytes, 2.0 * (16384 * 4096 + 3584 * 4096 + 16384 * 3584));
        QCOMPARE(find(*evaluation, Phase::Backward, "mlp.up_proj.grad_x").work.gemm, (GemmDims { 1, 4 * 4096, 4096, 14336 / 4 }));
        QCOMPARE(find(*evaluation, Phase::Backward, "mlp.up_proj.grad_w").work.gemm, (GemmDims { 1, 14336 / 4, 4096, 4 * 4096 }));
        QCOMPARE(find(*evaluation, Phase::Forward, "self_attn.attention").work.kernel, KernelClass::Attention);
        QCOMPARE(find(*evaluation, Phase::Forward, "input_layernorm").work.kernel, KernelClass::Memory);
        QCOMPARE(find(*evaluation, Phase::Forward, "embed_tokens").work.kernel, KernelClass::Lookup);
    }

    void everyProductHasItsSizes()
    {
        for (const auto& [model, mesh, preset] :
             { std::tuple { "llama3-8b", "fsdp=2,model=4", "tp+fsdp" }, std::tuple { "mixtral-8x7b", "data=2,expert=4", "ep" },
               std::tuple { "deepseek3-671b", "data=2,expert=4", "ep" } }) {
            auto spec = sure(builtinModel(model));
            const auto evaluation = evaluated(spec, mesh, preset);
            int products = 0;
            for (const PlannedSegment& segment : evaluation->plan.segments)
                for (const PlannedOp& op : segment.ops) {
                    const KernelWork& work = op.work;
                    const std::string& name = evaluation->graph.op(op.op).name;
                    const OpDefinition& definition = definitionOf(evaluation->graph.op(op.op).kind);
                    const bool bias = QString::fromStdString(name).endsWith(".bias");
                    QVERIFY2((work.kernel == KernelClass::None) == (definition.view || definition.fused || bias), name.c_str());
                    QCOMPARE(op.seconds > 0, work.kernel != KernelClass::None);
                    QCOMPARE(work.bytes > 0, work.kernel != KernelClass::None);
                    if (work.kernel != KernelClass::Gemm)
                        continue;
                    ++products;
                    const double flops = 2 * work.gemm.b * work.gemm.m * work.gemm.n * work.gemm.k;
                    QVERIFY2(std::abs(flops - work.flops) <= 1e-9 * flops && flops > 0, name.c_str());
                }
            QVERIFY(products > 20);
        }
    }

    /// On one device: 3 x (2 x parameters of matrix products + causal attention) for every token; attention's backward pass
    /// makes the scores again, so that it takes 2.5 times its forward pass.
    void allTogether()
    {
        const auto evaluation = evaluated(llama3Model(), "data=1", "replicate");
        double flops = 0;
        for (const PlannedSegment& segment : evaluation->plan.segments)
            for (const PlannedOp& op : segment.ops)
                flops += static_cast<double>(op.count) * op.work.flops;
        const double products = 8030261248.0 - 128256.0 * 4096 - 65 * 4096.0;
        const double perToken = 3 * linearFlopsPerToken(products) + 3.5 * attentionFlopsPerToken(4096, 4096, 32, true);
        QCOMPARE(flops / (8 * 4096), perToken);
    }

    /// Counted kernel by kernel, for a value of 16 bits: a norm 36 bytes forward and 92 backward, where a fused one takes 4 and 6;
    /// a rotation 20; the loss 6 for the cast, 8 for log_softmax, 22 backward. What is one kernel in PyTorch, too, stays.
    void eagerKernelsPassOften()
    {
        const auto eager = evaluated(llama3Model(), "data=8", "replicate", 1, DType::BF16, Software::Eager);
        const auto fused = evaluated(llama3Model(), "data=8", "replicate");
        const double values = 4096.0 * 4096; // one sequence a device
        const auto bytes = [](const Evaluation& e, Phase phase, const char* name) { return find(e, phase, name).work.bytes; };
        const double weight = 2.0 * 4096;
        QCOMPARE(bytes(*fused, Phase::Forward, "input_layernorm"), 4 * values + weight);
        QCOMPARE(bytes(*eager, Phase::Forward, "input_layernorm"), 36 * values);
        QCOMPARE(bytes(*fused, Phase::Backward, "input_layernorm.grad_x"), 6 * values + weight);
        QCOMPARE(bytes(*eager, Phase::Backward, "input_layernorm.grad_x"), 92 * values);
        QCOMPARE(find(*eager, Phase::Forward, "input_layernorm").work.launches, 6.0);
        double rotations = 0;
        double loss = 0;
        for (const PlannedSegment& segment : eager->plan.segments)
            for (const PlannedOp& op : segment.ops) {
                const OpKind kind = eager->graph.op(op.op).kind;
                if (segment.phase == Phase::Forward && kind == OpKind::Rope)
                    rotations += op.work.bytes;
                if (kind == OpKind::LogitMax || kind == OpKind::SumExp || kind == OpKind::LogitGrad)
                    loss += op.work.bytes;
            }
        QCOMPARE(rotations, 20 * (values + values / 4));
        QCOMPARE(loss, 36.0 * 4096 * 128256);
        for (const char* name : { "mlp.up_proj", "mlp.act", "mlp.mul", "embed_tokens" })
            QVERIFY2(find(*eager, Phase::Forward, name).work == find(*fused, Phase::Forward, name).work, name);
        QVERIFY(find(*eager, Phase::Forward, "self_attn.attention").work.flash2);
        QVERIFY(!find(*fused, Phase::Forward, "self_attn.attention").work.flash2);
        // On the H100 that is 36 % of the peak in place of 62 %.
        const double ratio = (find(*eager, Phase::Forward, "self_attn.attention").seconds - 5.5e-6)
            / (find(*fused, Phase::Forward, "self_attn.attention").seconds - 5.5e-6);
        QVERIFY(std::abs(ratio - 0.62 / 0.36) < 1e-9);
        // What torch.compile makes of it is as good but for attention.
        const auto compiled = evaluated(llama3Model(), "data=8", "replicate", 1, DType::BF16, Software::Compiled);
        QCOMPARE(bytes(*compiled, Phase::Forward, "input_layernorm"), 4 * values + weight);
        QVERIFY(find(*compiled, Phase::Forward, "self_attn.attention").work.flash2);
    }

    /// Training: the layers' products in fp8, everything kept as in bf16. Inference: one byte for all.
    void productsInFp8()
    {
        const auto plain = evaluated(llama3Model(), "data=8", "replicate");
        const auto training = evaluated(llama3Model(), "data=8", "replicate", 1, DType::F8E4M3);
        for (const char* name : { "self_attn.q_proj", "mlp.up_proj", "mlp.down_proj" })
            QCOMPARE(find(*training, Phase::Forward, name).work.dtype, DType::F8E4M3);
        for (const char* name : { "mlp.up_proj.grad_x", "mlp.up_proj.grad_w" })
            QCOMPARE(find(*training, Phase::Backward, name).work.dtype, DType::F8E4M3);
        for (const char* name : { "lm_head", "self_attn.attention", "input_layernorm", "embed_tokens" })
            QVERIFY2(find(*training, Phase::Forward, name).work == find(*plain, Phase::Forward, name).work, name);
        QCOMPARE(training->plan.memory.peak, plain->plan.memory.peak);
        QCOMPARE(training->weightBytes, plain->weightBytes);
        // Twice the peak: these products take half as long but for the launch, what is left of their last wave, how near they come
        // to the peak, and the start and end of a tile.
        const double up = find(*plain, Phase::Forward, "mlp.up_proj").seconds - 5.5e-6;
        const double fp8 = find(*training, Phase::Forward, "mlp.up_proj").seconds - 5.5e-6;
        const double peaks = 1978.9 / 989.4;
        QVERIFY(std::abs(fp8 / up - 0.858 / 0.75 / peaks * (4096 + 172 * peaks) / (4096 + 172)) < 1e-9);
        // Dynamic scaling: 2 bytes for the largest value and 2 + 1 for the cast of each element, in four kernels more.
        const KernelWork cast = find(*evaluated(llama3Model(), "data=8", "replicate", 1, DType::F8E4M3, Software::Compiled),
                                     Phase::Forward, "mlp.up_proj")
                                    .work;
        const double operands = 4096.0 * 4096 + 14336.0 * 4096;
        QCOMPARE(cast.between, 5 * operands);
        QCOMPARE(cast.bytes, operands + 2 * 4096.0 * 14336);
        QCOMPARE(cast.launches, 5.0);

        const auto wide = evaluated(llama3Model(), "data=8", "replicate", 1, DType::BF16, Software::Fused, WorkloadKind::Decode);
        const auto narrow =
            evaluated(llama3Model(), "data=8", "replicate", 1, DType::F8E4M3, Software::Fused, WorkloadKind::Decode);
        QCOMPARE(2 * narrow->weightBytes, wide->weightBytes);
        QCOMPARE(2 * narrow->plan.memory.kvCache, wide->plan.memory.kvCache);
        QCOMPARE(2 * find(*narrow, Phase::Forward, "mlp.up_proj").work.bytes,
                 find(*wide, Phase::Forward, "mlp.up_proj").work.bytes);
    }

    /// A device without units for it computes in the next wider type.
    void devicesWithoutFp8ComputeInBf16()
    {
        const DeviceSpec a100 = *findDevice("a100-sxm-80");
        QVERIFY(!a100.peak.fp8);
        QCOMPARE(a100.peakFlops(DType::F8E4M3), a100.peakFlops(DType::BF16));
        const DeviceSpec h100 = *findDevice("h100-sxm");
        QCOMPARE(h100.peakFlops(DType::F8E4M3), 1978.9e12);
    }

    /// CUDA graphs are CUDA's.
    void graphsOnGpusAlone()
    {
        for (const char* id : { "dgx-h100", "tpu-v5p-4x4x4", "cpu-virtual" }) {
            const Hardware hardware = findHardware(id).value();
            KernelWork work;
            work.kernel = KernelClass::Memory;
            const double launched = kernelSeconds(work, hardware);
            work.inGraph = true;
            QCOMPARE(kernelSeconds(work, hardware) < launched, hardware.device.kind == DeviceKind::Gpu);
        }
    }

    /// Adam reads gradient (2 or 4 bytes) and 12 bytes of states, and writes states and weight.
    void theOptimizerMovesItsStates()
    {
        for (const std::int64_t microBatches : { 1, 2 }) {
            const auto evaluation = evaluated(llama3Model(), "fsdp=4", "fsdp", microBatches);
            const PlannedOp& step = find(*evaluation, Phase::Update, "model.layers.*.mlp.up_proj.weight.update");
            QCOMPARE(step.work.kernel, KernelClass::Optimizer);
            QCOMPARE(step.work.bytes, 14336.0 * 1024 * (microBatches > 1 ? 30 : 28));
        }
    }
};

SHARDBOARD_TEST(TestKernelWork)
#include "tst_kernelwork.moc"

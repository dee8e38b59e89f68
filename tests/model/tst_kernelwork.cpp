// SPDX-License-Identifier: Apache-2.0
// What each planned operation says of its kernel: class, FLOPs, bytes and the sizes of matrix products.
#include "model/cost/closedforms/modelflops.h"
#include "model/design/evaluate.h"
#include "model/design/presets.h"
#include "model/formats/openmodel.h"
#include "model/ops/opdefinition.h"
#include "tests/support/models.h"

#include <QtTest>

using namespace shardboard;

namespace {

std::shared_ptr<const Evaluation> evaluated(const ModelSpec& model, const char* mesh, const char* preset, std::int64_t microBatches = 1)
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model = model;
    design.workload = { WorkloadKind::Train, 8, 4096, DType::BF16, microBatches };
    if (const auto applied = applyPreset(design, preset); !applied.ok())
        qFatal("%s", applied.error().text().c_str());
    auto evaluation = evaluate(design);
    if (!evaluation.ok())
        qFatal("%s", evaluation.error().text().c_str());
    return std::move(evaluation).value();
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
        for (const auto& [model, mesh, preset] : { std::tuple { "llama3-8b", "fsdp=2,model=4", "tp+fsdp" },
                                                   std::tuple { "mixtral-8x7b", "data=2,expert=4", "ep" },
                                                   std::tuple { "deepseek3-671b", "data=2,expert=4", "ep" } }) {
            auto spec = builtinModel(model);
            QVERIFY(spec.ok());
            const auto evaluation = evaluated(spec.value(), mesh, preset);
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

QTEST_APPLESS_MAIN(TestKernelWork)
#include "tst_kernelwork.moc"

// SPDX-License-Identifier: Apache-2.0
#include "model/families/moduleblock.h"

#include "model/core/checked.h"
#include "model/families/buildgraph.h"
#include "model/families/decoder.h"
#include "model/families/graphbuilder.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

Result<Graph> buildLinear(const ModelSpec& model, const Workload& workload)
{
    using Labels = GraphBuilder::Labels;
    const LinearModule& linear = model.linear;
    GraphBuilder builder(model, workload);
    builder.begin("linear", {}, kNoTensor);
    const auto input = [&](Shape shape, const Labels& labels, DType dtype, const Labels& logical) {
        shape.insert(shape.begin(), { builder.batch(), builder.newTokens() });
        const TensorId id = builder.add(inputName(model), TensorRole::Input, std::move(shape), labels, dtype);
        builder.entry(id).spec.logicalNames = logical;
        return id;
    };
    TensorId x = kNoTensor;
    TensorId weight = kNoTensor;
    if (linear.tiedWeight) {
        const TensorId tokens =
            input({}, { "batch", "sequence" }, DType::I32, { "activation_embed_and_logits_batch", "activation_norm_length" });
        weight = builder.weight("embed_tokens.weight", { linear.outDim, linear.inDim }, { "out (vocabulary)", "in (hidden)" },
                                { 0.0, 1.0 }, { "vocab", "embed_vocab" });
        const TensorId rows = builder.op("embed_tokens", OpKind::Embedding, { tokens, weight }, { "embedding", { "in" } });
        x = builder.op("embedded", OpKind::Output, { rows }, { "x" });
    } else {
        x = input({ linear.inDim }, { "batch", "sequence", "in" }, storageType(workload),
                  { "activation_batch", "activation_norm_length", "activation_embed" });
        weight = builder.weight("linear.weight", { linear.outDim, linear.inDim }, { "out", "in" },
                                { 0.0, 1.0 / std::sqrt(static_cast<double>(linear.inDim)) }, { "mlp", "embed" });
    }
    TensorId y = builder.op("linear", OpKind::Linear, { x, weight }, { linear.hasBias ? "y before bias" : "y", { "out" } });
    if (linear.hasBias) {
        const TensorId bias = builder.weight("linear.bias", { linear.outDim }, { "out" }, { 0.0, 0.1 }, { "mlp" });
        y = builder.op("bias", OpKind::Add, { y, bias }, { "y" });
    }
    builder.segment().carryOut = builder.op("gather", OpKind::GatherLast, { y }, { "module output" });
    return std::move(builder).finish();
}

/// Every size that the graph multiplies stays below 2^62 when these do.
Status checkSizes(const LinearModule& linear, const Workload& workload)
{
    const std::int64_t widest = std::max(linear.inDim, linear.outDim);
    if (!checkedProduct(std::vector<std::int64_t> { workload.batch, workload.sequence, widest, 16 }))
        return inputError("workload",
                          "batch " + std::to_string(workload.batch) + " times sequence " + std::to_string(workload.sequence)
                              + " makes tensors too large to count",
                          "use a smaller batch or sequence");
    if (!checkedProduct(std::vector<std::int64_t> { linear.inDim, linear.outDim, 16 }))
        return inputError(kModelPlace + std::string(linear.inDim > linear.outDim ? "in_dim" : "out_dim"),
                          "the weight is too large to count", "use a smaller size");
    return done();
}

} // namespace

Result<Graph> buildColumnParallelLinear(const ModelSpec& model, const Workload& workload)
{
    const std::string where = model.source.empty() ? model.name : model.source;
    if (auto status = verifyModel(model, where); !status.ok())
        return status.error();
    if (auto status = verifyWorkload(workload, "workload"); !status.ok())
        return status.error();
    if (auto status = checkSizes(model.linear, workload); !status.ok())
        return status.error();
    Workload whole = workload;
    whole.microBatches = 1; // only a step of training has them
    return buildLinear(model, whole);
}

} // namespace shardboard

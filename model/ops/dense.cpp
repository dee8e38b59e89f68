// SPDX-License-Identifier: Apache-2.0
// Embedding and matrix products.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

/// Every element of the result is a sum of as many products as the last dim of the first operand has elements.
double productFlops(const LocalShapes& local)
{
    return 2 * volume(local.result) * static_cast<double>(local.operands.front().back());
}

/// As many products for every element of a weight's gradient as there are rows.
double weightGradientFlops(const LocalShapes& local)
{
    const Shape& dy = local.operands.front();
    return 2 * volume(local.result) * volume(dy) / static_cast<double>(dy.back());
}

void linearGradient(GradientBuilder& builder, const Op& op)
{
    const TensorId x = op.operands[0];
    const TensorId weight = op.operands[1];
    if (builder.wants(0))
        builder.give(0, OpKind::LinearGradX, "grad_x", { builder.dy(), weight });
    builder.give(1, OpKind::LinearGradW, "grad_w", { builder.dy(), x });
}

/// Of y = x W with W [in,out]: the gradients are the same products with their parts in turn.
void turnedGradient(GradientBuilder& builder, const Op& op)
{
    const TensorId x = op.operands[0];
    const TensorId weight = op.operands[1];
    if (builder.wants(0))
        builder.give(0, OpKind::Linear, "grad_x", { builder.dy(), weight });
    builder.give(1, OpKind::LinearGradW, "grad_w", { x, builder.dy() });
}

void positionsGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(1, OpKind::AddPositionsGrad, "grad_w", { builder.dy() }, op.attributes);
}

void embeddingGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(1, OpKind::EmbeddingGrad, "grad_w", { builder.dy(), op.operands[0] });
}

const std::array kDenseOps {
    // Tokens of other devices' rows give zeros where the table is cut by vocabulary. MAX has no such row.
    OpDefinition { .kind = OpKind::Embedding,
                   .name = "embedding",
                   .rule = "tokens [...], table [v! h] -> [... h] ; first h ; R S0 -> P ours ; R P -> P",
                   .where = "v <= 16777216",
                   .gradient = embeddingGradient,
                   .lookedUp = 1,
                   .streamed = 1 },
    OpDefinition { .kind = OpKind::Linear,
                   .name = "matmul",
                   .rule = "x [... in], weight [out in] -> [... out] ; P R -> P ; R P -> P",
                   .group = OpGroup::Projection,
                   .flops = productFlops,
                   .gemm = rowsTimesWeight,
                   .gradient = linearGradient,
                   .contracts = true,
                   .streamed = 1 },
    OpDefinition { .kind = OpKind::LinearGradX,
                   .name = "matmul_grad_x",
                   .rule = "dy [... out], weight [out in] -> [... in] ; P R -> P ; R P -> P",
                   .group = OpGroup::Gradient,
                   .flops = productFlops,
                   .gemm = rowsTimesWeight,
                   .contracts = true,
                   .streamed = 1 },
    OpDefinition { .kind = OpKind::LinearGradW,
                   .name = "matmul_grad_w",
                   .rule = "dy [... out], x [... in] -> [out in] ; P R -> P ; R P -> P",
                   .group = OpGroup::Gradient,
                   .flops = weightGradientFlops,
                   .gemm = weightGradient,
                   .sumsRows = true,
                   .contracts = true },
    // Weights as GPT-2 stores them. Its body is that of matmul_grad_x.
    OpDefinition { .kind = OpKind::LinearT,
                   .name = "matmul_t",
                   .rule = "x [... in], weight [in out] -> [... out] ; P R -> P ; R P -> P",
                   .group = OpGroup::Projection,
                   .flops = productFlops,
                   .gemm = rowsTimesWeight,
                   .gradient = turnedGradient,
                   .contracts = true,
                   .streamed = 1 },
    // Learned positions: to token i row first + i of the table, which every device has whole or cut as the hidden dim.
    OpDefinition { .kind = OpKind::AddPositions,
                   .name = "add_positions",
                   .rule = "x [b s h], table [p! h] -> [b s h]",
                   .where = "0 <= @first, @first + s <= p",
                   .gradient = positionsGradient,
                   .passes = true,
                   .onGpus = false,
                   .between = true },
    OpDefinition { .kind = OpKind::AddPositionsGrad,
                   .name = "add_positions_grad",
                   .rule = "dy [b s h] -> [p! h] ; P -> P",
                   .where = "0 <= @first, @first + s <= p",
                   .group = OpGroup::Gradient,
                   .contracts = true,
                   .onGpus = false },
    // Every device can make the rows of its part of the vocabulary.
    OpDefinition { .kind = OpKind::EmbeddingGrad,
                   .name = "embedding_grad",
                   .rule = "dy [... h], tokens [...] -> [v! h] ; R R -> S0 ours ; P R -> P",
                   .where = "v <= 16777216",
                   .contracts = true,
                   .kernel = KernelClass::Lookup },
};

} // namespace

std::span<const OpDefinition> denseDefinitions() { return kDenseOps; }

} // namespace shardboard

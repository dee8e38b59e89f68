// SPDX-License-Identifier: Apache-2.0
// Norms over the last dim.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

void rmsNormGradient(GradientBuilder& builder, const Op& op)
{
    const TensorId x = op.operands[0];
    const TensorId weight = op.operands[1];
    builder.give(0, OpKind::RmsNormGradX, "grad_x", { builder.dy(), x, weight }, op.attributes);
    builder.give(1, OpKind::RmsNormGradW, "grad_w", { builder.dy(), x }, op.attributes);
}

void layerNormGradient(GradientBuilder& builder, const Op& op)
{
    const TensorId x = op.operands[0];
    builder.give(0, OpKind::LayerNormGradX, "grad_x", { builder.dy(), x, op.operands[1] }, op.attributes);
    builder.give(1, OpKind::LayerNormGradW, "grad_w", { builder.dy(), x }, op.attributes);
    builder.give(2, OpKind::SumLeading, "grad_b", { builder.dy() });
}

void unitNormGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::UnitNormGrad, "grad_x", { builder.dy(), op.operands[0] }, op.attributes);
}

/// Off the residual stream of a layer it is of queries, keys or latent vectors, and part of attention.
OpGroup groupOfNorm(const Graph& graph, const Op& op)
{
    const bool inLayer = graph.segment(graph.entry(op.result).segment).isLayer;
    return inLayer && !graph.isStream(op.result) ? OpGroup::Attention : OpGroup::Single;
}

// As x.float(), pow(2), mean, rsqrt, times x, type_as, times weight (torch.nn.RMSNorm without a fused kernel; TorchTitan's own):
// 6 kernels. Its gradient by autograd: of the product with the weight, of the cast, of the product with the factor, of mean and
// pow, their sum, and the cast back; that of the weight is in it.
constexpr EagerPasses kEagerNorm { 4, 7, 6 };
constexpr EagerPasses kEagerNormGrad { 8, 19, 14 };

// The gradients of partial dy are partial: of norms inside of a block (of heads, of latent vectors), whose gradients are
// reduced where the block's input gets them. That of the residual stream's norms is whole before.
const std::array kNormOps {
    OpDefinition { .kind = OpKind::RmsNorm,
                   .name = "rms_norm",
                   .rule = "x [... n!], weight [n!] -> [... n!]",
                   .where = "0 <= @epsilon, @offset, @centred",
                   .groupOf = groupOfNorm,
                   .gradient = rmsNormGradient,
                   .cheap = true,
                   .between = true,
                   .eager = kEagerNorm },
    OpDefinition { .kind = OpKind::RmsNormGradX,
                   .name = "rms_norm_grad_x",
                   .rule = "dy [... n!], x [... n!], weight [n!] -> [... n!] ; P R R -> P",
                   .where = "0 <= @epsilon, @offset, @centred",
                   .group = OpGroup::Gradient,
                   .eager = kEagerNormGrad },
    OpDefinition { .kind = OpKind::RmsNormGradW,
                   .name = "rms_norm_grad_w",
                   .rule = "dy [... n!], x [... n!] -> [n!] ; P R -> P",
                   .where = "0 <= @epsilon, @centred",
                   .group = OpGroup::Gradient,
                   .contracts = true,
                   .fused = true },
    OpDefinition { .kind = OpKind::LayerNorm,
                   .name = "layer_norm",
                   .rule = "x [... n!], weight [n!], bias [n!] -> [... n!]",
                   .where = "0 <= @epsilon",
                   .gradient = layerNormGradient,
                   .cheap = true,
                   .between = true },
    OpDefinition { .kind = OpKind::LayerNormGradX,
                   .name = "layer_norm_grad_x",
                   .rule = "dy [... n!], x [... n!], weight [n!] -> [... n!] ; P R R -> P",
                   .where = "0 <= @epsilon",
                   .group = OpGroup::Gradient },
    OpDefinition { .kind = OpKind::LayerNormGradW,
                   .name = "layer_norm_grad_w",
                   .rule = "dy [... n!], x [... n!] -> [n!] ; P R -> P",
                   .where = "0 <= @epsilon",
                   .group = OpGroup::Gradient,
                   .contracts = true,
                   .fused = true },
    // Without a weight: (x - mean) / deviation, or x / its root mean square. Times 1 / sqrt(n) that is x / |x|.
    OpDefinition { .kind = OpKind::UnitNorm,
                   .name = "unit_norm",
                   .rule = "x [... n!] -> [... n!]",
                   .where = "0 <= @epsilon, @centred",
                   .groupOf = groupOfNorm,
                   .gradient = unitNormGradient,
                   .cheap = true },
    OpDefinition { .kind = OpKind::UnitNormGrad,
                   .name = "unit_norm_grad",
                   .rule = "dy [... n!], x [... n!] -> [... n!] ; P R -> P",
                   .where = "0 <= @epsilon, @centred",
                   .group = OpGroup::Gradient },
};

} // namespace

std::span<const OpDefinition> normDefinitions() { return kNormOps; }

} // namespace shardboard

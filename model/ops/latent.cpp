// SPDX-License-Identifier: Apache-2.0
// Parts of the last dim and what they are joined to again: fused projections, latent attention.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

/// Every element of the result is a sum of as many products as the last dim of the first operand has elements.
double headFlops(const LocalShapes& local) { return 2 * volume(local.result) * static_cast<double>(local.operands.front().back()); }

/// One product for each head, of [B,S,h,n] -> [B,S,h,r].
GemmDims headProduct(const LocalShapes& local)
{
    const Shape& out = local.result;
    return { static_cast<double>(out[2]), static_cast<double>(out[0]) * static_cast<double>(out[1]), static_cast<double>(out[3]),
             static_cast<double>(local.operands.front().back()) };
}

template <OpKind Kind>
void backGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, builder.add(Kind, "grad", { builder.dy() }, op.operands[0], op.attributes));
}

OpAttributes from(const Op& op, std::int64_t first)
{
    OpAttributes attributes = op.attributes;
    attributes.first = first;
    return attributes;
}

/// Each part of a joined dim gets its range of dy.
void joinLastGradient(GradientBuilder& builder, const Op& op)
{
    const std::int64_t width = builder.graph().tensor(op.operands[0]).shape.back();
    builder.give(0, builder.add(OpKind::SliceLast, "grad_a", { builder.dy() }, op.operands[0], from(op, 0)));
    builder.give(1, builder.add(OpKind::SliceLast, "grad_b", { builder.dy() }, op.operands[1], from(op, width)));
}

/// The part that went to every head gets the sum over the heads.
void joinKeysGradient(GradientBuilder& builder, const Op& op)
{
    const std::int64_t width = builder.graph().tensor(op.operands[0]).shape.back();
    builder.give(0, builder.add(OpKind::SliceLast, "grad_a", { builder.dy() }, op.operands[0], from(op, 0)));
    builder.give(1, builder.add(OpKind::SumHeads, "grad_b", { builder.dy() }, op.operands[1], from(op, width)));
}

const std::array kLatentOps {
    OpDefinition { .kind = OpKind::SliceLast,
                   .name = "slice_last",
                   .rule = "... n! -> ... m! ; P -> P",
                   .gradient = backGradient<OpKind::PadLast>,
                   .fused = true },
    OpDefinition { .kind = OpKind::EveryOther,
                   .name = "every_other",
                   .rule = "... pairs*p! -> ... pairs ; P -> P",
                   .gradient = backGradient<OpKind::SpreadOther> },
    OpDefinition { .kind = OpKind::SplitGroups,
                   .name = "split_groups",
                   .rule = "b s groups n! -> b s groups*g! d! ; P -> P",
                   .gradient = backGradient<OpKind::MergeGroups>,
                   .view = true },
    OpDefinition { .kind = OpKind::PadLast, .name = "pad_last", .rule = "... m! -> ... n! ; P -> P", .fused = true },
    OpDefinition { .kind = OpKind::SpreadOther, .name = "spread_other", .rule = "... pairs -> ... pairs*p! ; P -> P" },
    OpDefinition {
        .kind = OpKind::MergeGroups, .name = "merge_groups", .rule = "b s groups*g! d! -> b s groups n! ; P -> P", .view = true },
    // Of a range of the last dim, as many elements from `first` on as the result has.
    OpDefinition { .kind = OpKind::SumHeads, .name = "sum_heads", .rule = "b s h n! -> b s one! m! ; P -> P", .contracts = true },
    OpDefinition { .kind = OpKind::JoinLast,
                   .name = "join_last",
                   .operands = 2,
                   .rule = "... n!, ... m! -> ... d! ; P P -> P",
                   .gradient = joinLastGradient },
    OpDefinition { .kind = OpKind::JoinKeys,
                   .name = "join_keys",
                   .operands = 2,
                   .rule = "b s h n!, b s one! m! -> b s h d! ; P P -> P",
                   .gradient = joinKeysGradient },
    OpDefinition { .kind = OpKind::AbsorbKeys,
                   .name = "absorb_keys",
                   .operands = 2,
                   .rule = "b s heads n!, heads*u! r -> b s heads r ; P R -> P",
                   .flops = headFlops,
                   .gemm = headProduct },
    OpDefinition { .kind = OpKind::AbsorbValues,
                   .name = "absorb_values",
                   .operands = 2,
                   .rule = "b s heads r, heads*u! r -> b s heads e! ; P R -> P",
                   .flops = headFlops,
                   .gemm = headProduct },
};

} // namespace

std::span<const OpDefinition> latentDefinitions() { return kLatentOps; }

} // namespace shardboard

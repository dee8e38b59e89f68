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
    builder.give(0, Kind, "grad", { builder.dy() }, op.attributes);
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
    builder.give(0, OpKind::SliceLast, "grad_a", { builder.dy() }, from(op, 0));
    builder.give(1, OpKind::SliceLast, "grad_b", { builder.dy() }, from(op, width));
}

/// The part that went to every head gets the sum over the heads.
void joinKeysGradient(GradientBuilder& builder, const Op& op)
{
    const std::int64_t width = builder.graph().tensor(op.operands[0]).shape.back();
    builder.give(0, OpKind::SliceLast, "grad_a", { builder.dy() }, from(op, 0));
    builder.give(1, OpKind::SumHeads, "grad_b", { builder.dy() }, from(op, width));
}

// m of n elements, from `first` on.
constexpr const char* kRange = "0 <= @first, @first + m <= n";
constexpr const char* kTurn = "0 <= @first, @first <= 1";

const std::array kLatentOps {
    OpDefinition { .kind = OpKind::SliceLast,
                   .name = "slice_last",
                   .rule = "x [... n!] -> [... m!] ; P -> P",
                   .where = kRange,
                   .gradient = backGradient<OpKind::PadLast>,
                   .fused = true },
    // The last token of every sequence. Of a cut sequence one device has it, and the others have zeros: what is summed then is one
    // token and not the sequence.
    OpDefinition { .kind = OpKind::LastToken,
                   .name = "last_token",
                   .rule = "x [b s! h] -> [b 1! h] ; S1 -> P ours ; P -> P",
                   .group = OpGroup::Small,
                   .fused = true },
    // Elements first, first + 2, …
    OpDefinition { .kind = OpKind::EveryOther,
                   .name = "every_other",
                   .rule = "x [... pairs*2!] -> [... pairs] ; P -> P",
                   .where = kTurn,
                   .group = OpGroup::Activation,
                   .gradient = backGradient<OpKind::SpreadOther> },
    OpDefinition { .kind = OpKind::SplitGroups,
                   .name = "split_groups",
                   .rule = "x [b s groups n!] -> [b s groups*g! d!] ; P -> P",
                   .where = "n = g*d, groups*g = @heads",
                   .gradient = backGradient<OpKind::MergeGroups>,
                   .view = true },
    OpDefinition {
        .kind = OpKind::PadLast, .name = "pad_last", .rule = "dy [... m!] -> [... n!] ; P -> P", .where = kRange, .fused = true },
    OpDefinition {
        .kind = OpKind::SpreadOther, .name = "spread_other", .rule = "dy [... pairs] -> [... pairs*2!] ; P -> P", .where = kTurn },
    OpDefinition { .kind = OpKind::MergeGroups,
                   .name = "merge_groups",
                   .rule = "dy [b s groups*g! d!] -> [b s groups n!] ; P -> P",
                   .where = "n = g*d, groups*g = @heads",
                   .view = true },
    // Of a range of the last dim, as many elements from `first` on as the result has.
    OpDefinition { .kind = OpKind::SumHeads,
                   .name = "sum_heads",
                   .rule = "dy [b s h n!] -> [b s 1! m!] ; P -> P",
                   .where = kRange,
                   .contracts = true },
    OpDefinition { .kind = OpKind::JoinLast,
                   .name = "join_last",
                   .rule = "a [... n!], b [... m!] -> [... d!] ; P P -> P",
                   .where = "d = n + m",
                   .gradient = joinLastGradient },
    // b goes to every head.
    OpDefinition { .kind = OpKind::JoinKeys,
                   .name = "join_keys",
                   .rule = "a [b s h n!], b [b s 1! m!] -> [b s h d!] ; P P -> P",
                   .where = "d = n + m",
                   .gradient = joinKeysGradient },
    // Times the first n of the u rows of its head.
    OpDefinition { .kind = OpKind::AbsorbKeys,
                   .name = "absorb_keys",
                   .rule = "q [b s heads n!], weight [heads*u! r] -> [b s heads r] ; P R -> P",
                   .where = "n <= u",
                   .flops = headFlops,
                   .gemm = headProduct },
    // Times the last e of the u rows of its head.
    OpDefinition { .kind = OpKind::AbsorbValues,
                   .name = "absorb_values",
                   .rule = "y [b s heads r], weight [heads*u! r] -> [b s heads e!] ; P R -> P",
                   .where = "e <= u",
                   .flops = headFlops,
                   .gemm = headProduct },
};

} // namespace

std::span<const OpDefinition> latentDefinitions() { return kLatentOps; }

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Sparse attention with an indexer (DeepSeek-V3.2, arXiv 2512.02556, section 2.1): small heads score every key for a query, and
// attention reads only the keys with the highest scores. Plans and prices have it; backends do not.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

/// Scores of all keys for every head of the indexer; of a square the causal half. Choosing is left out.
double indexFlops(const LocalShapes& local)
{
    const Shape& queries = (*local.globalOperands)[0];
    const Shape& keys = (*local.globalOperands)[1];
    return (keys[1] == queries[1] ? 1.0 : 2.0) * volume(local.operands.front()) * static_cast<double>(keys[1]);
}

/// Two products, as of attention to all keys: `attended` is the share of them that was chosen.
double selectedFlops(const LocalShapes& local)
{
    const Shape& queries = (*local.globalOperands)[0];
    const Shape& keys = (*local.globalOperands)[1];
    const double products = volume(local.operands.front()) + volume(local.result);
    return (keys[1] == queries[1] ? 1.0 : 2.0) * products * static_cast<double>(keys[1]);
}

/// The same three operations as of attention to all keys.
void selectedGradient(GradientBuilder& builder, const Op& op)
{
    const std::vector<TensorId> all { builder.dy(), op.operands[0], op.operands[1], op.operands[2] };
    builder.give(0, OpKind::AttentionGradQ, "grad_q", all, op.attributes);
    builder.give(1, OpKind::AttentionGradK, "grad_k", all, op.attributes);
    builder.give(2, OpKind::AttentionGradV, "grad_v", all, op.attributes);
}

std::int64_t keptSum(const OpAttributes&, const Shape& result, std::int64_t, DType)
{
    return 4 * result[0] * result[1] * result[2];
}

const std::array kSelectionOps {
    // The numbers of the m keys that a query reads. All heads of the indexer have a say, so that they are not cut; it is trained
    // apart, so that it has no gradient here.
    OpDefinition { .kind = OpKind::SelectKeys,
                   .name = "select_keys",
                   .rule = "q [b s! h! d!], k [b c! d!], weights [b s! h!] -> [b s! m!] ; S1 R S1 -> S1 ours",
                   .where = "s <= c, m <= c",
                   .group = OpGroup::Attention,
                   .flops = indexFlops,
                   .runs = false },
    OpDefinition { .kind = OpKind::SelectedAttention,
                   .name = "selected_attention",
                   .rule = "q [b s! h! d!], k [b c! k! d!], v [b c! k! w!], chosen [b s! m!] -> [b s! h! e!]"
                           " ; S2 S2 S2 R -> S2 needs even(0,2):heads even(1,2):KV_heads ; S2 R R R -> S2"
                           " ; S1 R R S1 -> S1 ours",
                   .where = "s <= c, m <= c, k | h, e <= w, 0 <= @scale, 0 <= @cap",
                   .group = OpGroup::Attention,
                   .flops = selectedFlops,
                   .gradient = selectedGradient,
                   .statistics = keptSum,
                   .runs = false },
};

} // namespace

std::span<const OpDefinition> selectionDefinitions() { return kSelectionOps; }

} // namespace shardboard

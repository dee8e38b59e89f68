// SPDX-License-Identifier: Apache-2.0
// Heads, their rotation, the KV cache, and attention: by batch, by heads, or by sequence, where the keys and values of the
// other devices are gathered, or come around a ring. MAX has no attention rule: its kernels run per device on whatever is
// there. Around the ring go keys and values for the result and the gradient of the queries; for the gradients of keys and
// values the queries and what came with them, so that the sums stay where their keys are.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

/// Two products over all keys, of queries and of probabilities; of a square (as many queries as keys) only the causal half.
double attentionFlops(const LocalShapes& local)
{
    const Shape& queries = (*local.globalOperands)[0];
    const Shape& keys = (*local.globalOperands)[1];
    const double products = volume(local.operands.front()) + volume(local.result);
    return (keys[1] == queries[1] ? 1.0 : 2.0) * products * static_cast<double>(keys[1]);
}

/// dq, dk and dv take five products together, of which each gets its share; the forward pass takes two.
double attentionGradientFlops(const LocalShapes& local)
{
    const Shape& queries = (*local.globalOperands)[1];
    const Shape& keys = (*local.globalOperands)[2];
    return 5.0 / 3.0 * (keys[1] == queries[1] ? 1.0 : 2.0) * volume(local.operands[0]) * static_cast<double>(keys[1]);
}

/// Of flash attention the log-sum-exp of every query and head, f32 (performance 2.3). Else for every score the softmax, 2 bytes in
/// 16 bits, and with a dropout its mask of a byte and its result: 5 bytes (arXiv 2205.05198).
std::int64_t keptScores(const OpAttributes& attributes, const Shape& result, std::int64_t keys, DType dtype)
{
    if (attributes.scoresAgain)
        return 0;
    const std::int64_t rows = result[0] * result[1] * result[2];
    const std::int64_t score = static_cast<std::int64_t>(bitsOf(dtype)) / 8;
    return attributes.unfused ? rows * keys * (attributes.dropout ? 2 * score + 1 : score) : 4 * rows;
}

template <OpKind Kind>
void reshapeGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, Kind, "grad", { builder.dy() }, op.attributes);
}

void attentionGradient(GradientBuilder& builder, const Op& op)
{
    const std::vector<TensorId> all { builder.dy(), op.operands[0], op.operands[1], op.operands[2] };
    builder.give(0, OpKind::AttentionGradQ, "grad_q", all, op.attributes);
    builder.give(1, OpKind::AttentionGradK, "grad_k", all, op.attributes);
    builder.give(2, OpKind::AttentionGradV, "grad_v", all, op.attributes);
}

void sinkAttentionGradient(GradientBuilder& builder, const Op& op)
{
    const std::vector<TensorId> all { builder.dy(), op.operands[0], op.operands[1], op.operands[2], op.operands[3] };
    builder.give(0, OpKind::SinkAttentionGradQ, "grad_q", all, op.attributes);
    builder.give(1, OpKind::SinkAttentionGradK, "grad_k", all, op.attributes);
    builder.give(2, OpKind::SinkAttentionGradV, "grad_v", all, op.attributes);
    builder.give(3, OpKind::SinkAttentionGradS, "grad_sinks", all, op.attributes);
}

// Rotation as a product of complex numbers: x.float(), times, type_as (Meta's Llama, TorchTitan).
constexpr EagerPasses kEagerRotation { 2, 4, 3 };

// Causal unless it goes both ways: query s sees keys 0 … c - s' + s of c keys, s' being the new tokens; head i uses KV head i / (h
// / k); the first e elements of a value count.
constexpr const char* kAttended = "s <= c, k | h, e <= w, 0 <= @scale, 0 <= @cap, @both_ways, @alibi";
// Of the elements [first, first + count) of a head (all where count is 0, and first then is 0), those half of count apart are a
// pair.
constexpr const char* kRotation =
    "2 | d, 2 | @count, 0 <= @first, @first <= @first*@count, @first + @count <= d, 0 < @rope_theta, @position";

const std::array kAttentionOps {
    OpDefinition { .kind = OpKind::SplitHeads,
                   .name = "split_heads",
                   .rule = "x [b s heads*d!] -> [b s heads d!] ; P -> P",
                   .where = "heads = @heads",
                   .group = OpGroup::Attention,
                   .gradient = reshapeGradient<OpKind::MergeHeads>,
                   .view = true },
    OpDefinition { .kind = OpKind::MergeHeads,
                   .name = "merge_heads",
                   .rule = "x [b s heads d!] -> [b s heads*d!] ; P -> P",
                   .where = "heads = @heads",
                   .group = OpGroup::Attention,
                   .gradient = reshapeGradient<OpKind::SplitHeads>,
                   .view = true },
    // Pairs along the head dim are rotated together.
    OpDefinition { .kind = OpKind::Rope,
                   .name = "rope",
                   .rule = "x [b s h d!] -> [b s h d!]",
                   .where = kRotation,
                   .group = OpGroup::Attention,
                   .gradient = reshapeGradient<OpKind::RopeGrad>,
                   .eager = kEagerRotation },
    // The rotation backwards.
    OpDefinition { .kind = OpKind::RopeGrad,
                   .name = "rope_grad",
                   .rule = "dy [b s h d!] -> [b s h d!] ; P -> P",
                   .where = kRotation,
                   .group = OpGroup::Attention,
                   .eager = kEagerRotation },
    // The cache with x as its last tokens, which are not a cut of it.
    OpDefinition { .kind = OpKind::KvAppend,
                   .name = "kv_append",
                   .rule = "x [b s! heads d!] -> [b c! heads d!]",
                   .where = "s <= c",
                   .group = OpGroup::Attention,
                   .appends = true },
    // Where there are fewer KV heads than devices every device has all of them.
    OpDefinition { .kind = OpKind::Attention,
                   .name = "attention",
                   .rule = "q [b s! h! d!], k [b c! k! d!], v [b c! k! w!] -> [b s! h! e!]"
                           " ; S2 S2 S2 -> S2 needs even(0,2):heads even(1,2):KV_heads ; S2 R R -> S2"
                           " ; S1 R R -> S1 ours ; S1 S1 S1 -> S1 ours ring 1 2",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionFlops,
                   .gradient = attentionGradient,
                   .statistics = keptScores },
    OpDefinition { .kind = OpKind::AttentionGradQ,
                   .name = "attention_grad_q",
                   .rule = "dy [b s! h! e!], q [b s! h! d!], k [b c! k! d!], v [b c! k! w!] -> [b s! h! d!]"
                           " ; S2 S2 S2 S2 -> S2 needs even(1,2):heads even(2,2):KV_heads ; S2 S2 R R -> S2"
                           " ; S1 S1 R R -> S1 ours ; S1 S1 S1 S1 -> S1 ours ring 2 3",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionGradientFlops,
                   .makesScoresAgain = true },
    // Where every device has all KV heads, its query heads give a part of the sum.
    OpDefinition { .kind = OpKind::AttentionGradK,
                   .name = "attention_grad_k",
                   .rule = "dy [b s! h! e!], q [b s! h! d!], k [b c! k! d!], v [b c! k! w!] -> [b c! k! d!]"
                           " ; S2 S2 S2 S2 -> S2 needs even(1,2):heads even(2,2):KV_heads ; S2 S2 R R -> P"
                           " ; S1 S1 R R -> P ours ; S1 S1 S1 S1 -> S1 ours ring 0 1",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionGradientFlops },
    OpDefinition { .kind = OpKind::AttentionGradV,
                   .name = "attention_grad_v",
                   .rule = "dy [b s! h! e!], q [b s! h! d!], k [b c! k! d!], v [b c! k! w!] -> [b c! k! w!]"
                           " ; S2 S2 S2 S2 -> S2 needs even(1,2):heads even(2,2):KV_heads ; S2 S2 R R -> P"
                           " ; S1 S1 R R -> P ours ; S1 S1 S1 S1 -> S1 ours ring 0 1",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionGradientFlops },
    // One more logit for each head, which has no value.
    OpDefinition { .kind = OpKind::SinkAttention,
                   .name = "sink_attention",
                   .rule = "q [b s! h! d!], k [b c! k! d!], v [b c! k! w!], sinks [h!] -> [b s! h! e!]"
                           " ; S2 S2 S2 S0 -> S2 needs even(0,2):heads even(1,2):KV_heads ; S2 R R S0 -> S2"
                           " ; S1 R R R -> S1 ours ; S1 S1 S1 R -> S1 ours ring 1 2",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionFlops,
                   .gradient = sinkAttentionGradient,
                   .statistics = keptScores },
    OpDefinition { .kind = OpKind::SinkAttentionGradQ,
                   .name = "sink_attention_grad_q",
                   .rule = "dy [b s! h! e!], q [b s! h! d!], k [b c! k! d!], v [b c! k! w!], sinks [h!] -> [b s! h! d!]"
                           " ; S2 S2 S2 S2 S0 -> S2 needs even(1,2):heads even(2,2):KV_heads ; S2 S2 R R S0 -> S2"
                           " ; S1 S1 R R R -> S1 ours ; S1 S1 S1 S1 R -> S1 ours ring 2 3",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionGradientFlops,
                   .makesScoresAgain = true },
    OpDefinition { .kind = OpKind::SinkAttentionGradK,
                   .name = "sink_attention_grad_k",
                   .rule = "dy [b s! h! e!], q [b s! h! d!], k [b c! k! d!], v [b c! k! w!], sinks [h!] -> [b c! k! d!]"
                           " ; S2 S2 S2 S2 S0 -> S2 needs even(1,2):heads even(2,2):KV_heads ; S2 S2 R R S0 -> P"
                           " ; S1 S1 R R R -> P ours ; S1 S1 S1 S1 R -> S1 ours ring 0 1",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionGradientFlops },
    OpDefinition { .kind = OpKind::SinkAttentionGradV,
                   .name = "sink_attention_grad_v",
                   .rule = "dy [b s! h! e!], q [b s! h! d!], k [b c! k! d!], v [b c! k! w!], sinks [h!] -> [b c! k! w!]"
                           " ; S2 S2 S2 S2 S0 -> S2 needs even(1,2):heads even(2,2):KV_heads ; S2 S2 R R S0 -> P"
                           " ; S1 S1 R R R -> P ours ; S1 S1 S1 S1 R -> S1 ours ring 0 1",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionGradientFlops },
    OpDefinition { .kind = OpKind::SinkAttentionGradS,
                   .name = "sink_attention_grad_sinks",
                   .rule = "dy [b s! h! e!], q [b s! h! d!], k [b c! k! d!], v [b c! k! w!], sinks [h!] -> [h!]"
                           " ; S2 S2 S2 S2 S0 -> S0 needs even(1,2):heads even(2,2):KV_heads ; S2 S2 R R S0 -> S0"
                           " ; S1 S1 R R R -> P ours ; S1 S1 S1 S1 R -> P ours ring 2 3",
                   .where = kAttended,
                   .group = OpGroup::Attention,
                   .flops = attentionGradientFlops,
                   .contracts = true },
};

} // namespace

std::span<const OpDefinition> attentionDefinitions() { return kAttentionOps; }

} // namespace shardboard

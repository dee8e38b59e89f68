// SPDX-License-Identifier: Apache-2.0
// Short causal convolutions, and layers whose memory is a state of fixed size in place of keys and values: linear attention with a
// gated delta rule, and state spaces of Mamba-2. One operation is both of them: with a state S [n,p] for each head,
//
//     S_t = exp(decay_t) S_(t-1) + rate_t k_t (v_t - [delta] k_t exp(decay_t) S_(t-1))        y_t = scale q_t S_t
//
// Gated delta rule (arXiv 2412.06464): q, k, v of linear attention, rate the write strength. Mamba-2 (arXiv 2405.21060, its
// duality): q = C, k = B, v = x, rate = dt, decay = dt A. Heads are independent, and so are the columns of a head's values. A
// sequence is not cut: every token needs the state of the one before.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

constexpr double kChunk = 64; ///< tokens that kernels work on at once (flash-linear-attention's chunk_size)

/// Of a row of n by a column of p, for each token and head, chunk by chunk: inside of a chunk the products with its own keys
/// (queries by keys, and the result by values), and with the state in and out. A delta rule has the inverse of its keys' products
/// to make and to apply beside (arXiv 2406.06484, section 3): as much again but for the state.
/// `rows` are the tokens times heads, in all sequences.
double scanFlops(double rows, double n, double p)
{
    const double inside = 2 * kChunk * (n + p);
    const double state = 2 * 2 * n * p;
    return rows * (inside + state);
}

/// Sizes of the values [B,S,h,p] and the keys [B,S,k,n] among the operands.
template <std::size_t Keys, std::size_t Values>
double scanFlopsOf(const LocalShapes& local)
{
    const Shape& values = local.operands[Values];
    return scanFlops(volume(values) / std::max<double>(1, static_cast<double>(values.back())),
                     static_cast<double>(local.operands[Keys].back()), static_cast<double>(values.back()));
}

/// The backward pass is about twice the forward pass; its five results share it.
double scanGradientFlops(const LocalShapes& local) { return 2.0 / 5.0 * scanFlopsOf<2, 3>(local); }

double stateReadFlops(const LocalShapes& local) { return 2 * volume(local.operands[1]); }
double stateAppendFlops(const LocalShapes& local) { return 4 * volume(local.result); }

void headScaleGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::HeadScale, "grad_x", { builder.dy(), op.operands[1] });
    builder.give(1, OpKind::HeadScaleGradW, "grad_w", { builder.dy(), op.operands[0] });
}

void headGateGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::HeadGate, "grad_x", { builder.dy(), op.operands[1] });
    builder.give(1, OpKind::HeadGateGrad, "grad_gate", { builder.dy(), op.operands[0] });
}

void headOuterGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::HeadOuterGradX, "grad_x", { builder.dy(), op.operands[1] });
    builder.give(1, OpKind::HeadOuterGradW, "grad_w", { builder.dy(), op.operands[0] });
}

void convolutionGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::CausalConvGradX, "grad_x", { builder.dy(), op.operands[1] }, op.attributes);
    builder.give(1, OpKind::CausalConvGradW, "grad_w", { builder.dy(), op.operands[0] }, op.attributes);
}

void scanGradient(GradientBuilder& builder, const Op& op)
{
    std::vector<TensorId> all { builder.dy() };
    all.insert(all.end(), op.operands.begin(), op.operands.end());
    builder.give(0, OpKind::StateScanGradQ, "grad_q", all, op.attributes);
    builder.give(1, OpKind::StateScanGradK, "grad_k", all, op.attributes);
    builder.give(2, OpKind::StateScanGradV, "grad_v", all, op.attributes);
    builder.give(3, OpKind::StateScanGradDecay, "grad_decay", all, op.attributes);
    builder.give(4, OpKind::StateScanGradRate, "grad_rate", all, op.attributes);
}

/// For the gradients the states at the beginning of every chunk are kept, f32.
std::int64_t keptStates(const OpAttributes& attributes, const Shape& result, std::int64_t, DType)
{
    constexpr auto kTokens = static_cast<std::int64_t>(kChunk);
    return 4 * result[0] * ((result[1] + kTokens - 1) / kTokens) * result[2] * result[3] * attributes.count;
}

// k key heads serve h heads; r decays are for n / r elements of a key each. `count` is the length of a key.
constexpr const char* kScanned = "k | h, r | n, n = @count, @delta, @scale";

/// One of the five gradients: its rows where heads are cut, with the key heads cut alike or whole on every device.
#define SCAN_GRADIENT(result, cutAlike, keysWhole)                                                                                 \
    "dy [b s! h! p], q [b s! k! n!], k [b s! k! n!], v [b s! h! p], decay [b s! h! r!], rate [b s! h!] -> " result                 \
    " ; S2 S2 S2 S2 S2 S2 -> " cutAlike " needs even(1,2):key_heads even(3,2):heads ; S2 R R S2 S2 S2 -> " keysWhole

constexpr OpDefinition scanSlope(OpKind kind, const char* name, const char* rule)
{
    return { .kind = kind,
             .name = name,
             .rule = rule,
             .where = kScanned,
             .group = OpGroup::Gradient,
             .flops = scanGradientFlops,
             .contracts = true,
             .onGpus = false };
}

const std::array kRecurrentOps {
    // A factor for each head.
    OpDefinition { .kind = OpKind::HeadScale,
                   .name = "head_scale",
                   .rule = "x [b s h d], weight [h] -> [b s h d] ; P R -> P",
                   .group = OpGroup::Attention,
                   .gradient = headScaleGradient,
                   .cheap = true,
                   .onGpus = false },
    OpDefinition { .kind = OpKind::HeadScaleGradW,
                   .name = "head_scale_grad_w",
                   .rule = "dy [b s h d], x [b s h d] -> [h] ; P R -> P",
                   .group = OpGroup::Gradient,
                   .contracts = true,
                   .onGpus = false },
    // A factor for each head of each token.
    OpDefinition { .kind = OpKind::HeadGate,
                   .name = "head_gate",
                   .rule = "x [b s h d], gate [b s h] -> [b s h d] ; P R -> P",
                   .group = OpGroup::Attention,
                   .gradient = headGateGradient,
                   .cheap = true,
                   .onGpus = false },
    OpDefinition { .kind = OpKind::HeadGateGrad,
                   .name = "head_gate_grad",
                   .rule = "dy [b s h d], x [b s h d] -> [b s h] ; P R -> P",
                   .group = OpGroup::Gradient,
                   .contracts = true,
                   .onGpus = false },
    // A number for each head of each token, times a row of the head.
    OpDefinition { .kind = OpKind::HeadOuter,
                   .name = "head_outer",
                   .rule = "x [b s h], weight [h n] -> [b s h n] ; P R -> P",
                   .group = OpGroup::Attention,
                   .gradient = headOuterGradient,
                   .cheap = true,
                   .onGpus = false },
    OpDefinition { .kind = OpKind::HeadOuterGradX,
                   .name = "head_outer_grad_x",
                   .rule = "dy [b s h n], weight [h n] -> [b s h] ; P R -> P",
                   .group = OpGroup::Gradient,
                   .contracts = true,
                   .onGpus = false },
    OpDefinition { .kind = OpKind::HeadOuterGradW,
                   .name = "head_outer_grad_w",
                   .rule = "dy [b s h n], x [b s h] -> [h n] ; P R -> P",
                   .group = OpGroup::Gradient,
                   .contracts = true,
                   .onGpus = false },
    // Each channel with w taps of its own over the token and those before; the last of t tokens are the s new ones. Channels take
    // rows of the weight from `first` on, so that parts of a joined projection share one weight, which every device has whole.
    OpDefinition { .kind = OpKind::CausalConv,
                   .name = "causal_conv",
                   .rule = "x [b t! c], weight [m! 1! w!] -> [b s! c]",
                   .where = "s <= t, 0 <= @first, @first + c <= m",
                   .group = OpGroup::Attention,
                   .gradient = convolutionGradient,
                   .onGpus = false },
    OpDefinition { .kind = OpKind::CausalConvGradX,
                   .name = "causal_conv_grad_x",
                   .rule = "dy [b s! c], weight [m! 1! w!] -> [b t! c] ; P R -> P",
                   .where = "s <= t, 0 <= @first, @first + c <= m",
                   .group = OpGroup::Gradient,
                   .onGpus = false },
    OpDefinition { .kind = OpKind::CausalConvGradW,
                   .name = "causal_conv_grad_w",
                   .rule = "dy [b s! c], x [b t! c] -> [m! 1! w!] ; P R -> P",
                   .where = "s <= t, 0 <= @first, @first + c <= m",
                   .group = OpGroup::Gradient,
                   .contracts = true,
                   .onGpus = false },
    OpDefinition { .kind = OpKind::StateScan,
                   .name = "state_scan",
                   .rule = "q [b s! k! n!], k [b s! k! n!], v [b s! h! p], decay [b s! h! r!], rate [b s! h!] -> [b s! h! p]"
                           " ; S2 S2 S2 S2 S2 -> S2 needs even(0,2):key_heads even(2,2):heads ; R R S2 S2 S2 -> S2",
                   .where = kScanned,
                   .group = OpGroup::Attention,
                   .flops = scanFlopsOf<1, 2>,
                   .gradient = scanGradient,
                   .statistics = keptStates,
                   .onGpus = false },
    scanSlope(OpKind::StateScanGradQ, "state_scan_grad_q", SCAN_GRADIENT("[b s! k! n!]", "S2", "P")),
    scanSlope(OpKind::StateScanGradK, "state_scan_grad_k", SCAN_GRADIENT("[b s! k! n!]", "S2", "P")),
    scanSlope(OpKind::StateScanGradV, "state_scan_grad_v", SCAN_GRADIENT("[b s! h! p]", "S2", "S2")),
    scanSlope(OpKind::StateScanGradDecay, "state_scan_grad_decay", SCAN_GRADIENT("[b s! h! r!]", "S2", "S2")),
    scanSlope(OpKind::StateScanGradRate, "state_scan_grad_rate", SCAN_GRADIENT("[b s! h!]", "S2", "S2")),
    // The state after one token more; the one before lies there already.
    OpDefinition { .kind = OpKind::StateAppend,
                   .name = "state_append",
                   .rule = "k [b 1! k! n!], v [b 1! h! p], decay [b 1! h! r!], rate [b 1! h!] -> [b h! n! p]"
                           " ; S2 S2 S2 S2 -> S1 needs even(0,2):key_heads even(1,2):heads ; R S2 S2 S2 -> S1",
                   .where = "k | h, r | n, @delta",
                   .group = OpGroup::Attention,
                   .flops = stateAppendFlops,
                   .onGpus = false,
                   .appends = true },
    OpDefinition { .kind = OpKind::StateRead,
                   .name = "state_read",
                   .rule = "q [b 1! k! n!], state [b h! n! p] -> [b 1! h! p]"
                           " ; S2 S1 -> S2 needs even(0,2):key_heads even(1,1):heads ; R S1 -> S2",
                   .where = "k | h, @scale",
                   .group = OpGroup::Attention,
                   .flops = stateReadFlops,
                   .onGpus = false },
};

#undef SCAN_GRADIENT

} // namespace

std::span<const OpDefinition> recurrentDefinitions() { return kRecurrentOps; }

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Operations over tensors. Layers that repeat are stored once, in a segment with a count. A value type.
#pragma once

#include "model/core/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

using TensorId = int; ///< index into Graph::tensors
using OpId = int; ///< index into Graph::ops
inline constexpr TensorId kNoTensor = -1;

/// Operand lists, with shapes (B batch, S sequence of new tokens, C cached tokens, H hidden, h heads, k KV heads, d head dim):
///   Embedding   tokens [B,S], table [V,H]            -> [B,S,H]
///   RmsNorm     x [...,n], weight [n]                -> as x
///   Linear      x [...,in], weight [out,in]          -> [...,out]      y = x Wt
///   Add, Mul    a, b (b broadcast from the right)    -> as a
///   Silu, Gelu  x                                    -> as x
///   SplitHeads  x [B,S,h*d]                          -> [B,S,h,d]
///   MergeHeads  x [B,S,h,d]                          -> [B,S,h*d]
///   Rope        x [B,S,h,d]                          -> as x           rotates pairs (i, i+d/2), positions from `position`
///   KvAppend    x [B,S,k,d]                          -> [B,C,k,d]      the cache with x as its last S tokens
///   Attention   q [B,S,h,d], k, v [B,C,k,d]          -> [B,S,h,d]      causal; query s sees keys 0 … C-S+s; head i uses
///                                                                      KV head i / (h/k)
///   Output      x                                    -> as x           what goes on to the layers or out of the model: never partial
///   GatherLast  x                                    -> as x           every device holds the last dim whole, and nothing partial
/// The loss (V vocabulary, cut or not; all in float32 but the logits):
///   LogitMax    logits [B,S,V]                       -> [B,S]          partial maxima where V is cut
///   SumExp      logits [B,S,V], max [B,S]            -> [B,S]          sum of exp(logit - max)
///   TargetLogit logits [B,S,V], targets [B,S]        -> [B,S]
///   TokenLoss   max, sum, target logit [B,S]         -> [B,S]          log(sum) + max - target logit, over the number of tokens
/// Gradients, of which the first operand (dy) is that of the result:
///   LinearGradX dy [...,out], weight [out,in]        -> [...,in]
///   LinearGradW dy [...,out], x [...,in]             -> [out,in]
///   EmbeddingGrad dy [...,H], tokens [...]           -> [V,H]
///   RmsNormGradX dy, x [...,n], weight [n]           -> [...,n]
///   RmsNormGradW dy, x [...,n]                       -> [n]
///   SumLeading  dy [...,n]                           -> [n]            of a bias
///   SiluGrad, GeluGrad dy, x                         -> as x
///   RopeGrad    dy                                   -> as dy          the rotation backwards
///   AttentionGradQ, -K, -V dy [B,S,h,e], q, k, v     -> as q, k, v     probabilities are computed again
///   LogitGrad   logits, max, sum, targets            -> as logits      (softmax - onehot) over the number of tokens
///   ReduceGrad  gradient of a weight                 -> as it          as the weight is laid out: where its sum is made
///   AdamStep    weight, gradient                     -> as weight
enum class OpKind {
    Embedding, RmsNorm, Linear, Add, Mul, Silu, Gelu, SplitHeads, MergeHeads, Rope, KvAppend, Attention, Output, GatherLast,
    LogitMax, SumExp, TargetLogit, TokenLoss,
    LinearGradX, LinearGradW, EmbeddingGrad, RmsNormGradX, RmsNormGradW, SumLeading, SiluGrad, GeluGrad, RopeGrad,
    AttentionGradQ, AttentionGradK, AttentionGradV, LogitGrad, ReduceGrad, AdamStep
};

/// Names in plans and views, as in the tables of model/ops: embedding, rms_norm, matmul, add, mul, silu, gelu, split_heads, merge_heads, rope,
/// kv_append, attention, output, gather_last, …
std::string opKindName(OpKind kind);
std::optional<OpKind> opKindFromName(std::string_view name);

struct OpAttributes {
    double epsilon = 0; ///< RmsNorm
    double ropeTheta = 0; ///< Rope
    std::int64_t position = 0; ///< Rope: position of the first new token
    std::int64_t heads = 0; ///< SplitHeads, MergeHeads
    friend bool operator==(const OpAttributes&, const OpAttributes&) = default;
};

struct Op {
    std::string name; ///< `self_attn.o_proj`, unique in its segment
    OpKind kind = OpKind::Add;
    std::vector<TensorId> operands;
    TensorId result = kNoTensor;
    OpAttributes attributes;
};

/// Which part of a step. Inference has the forward phase only.
enum class Phase { Forward, Backward, Update };
std::string phaseName(Phase phase); ///< forward, backward, update
std::optional<Phase> phaseFromName(std::string_view name);

/// A run of operations that happens `count` times, one layer after the other.
struct Segment {
    std::string name; ///< embed, block, head
    std::int64_t firstLayer = 0; ///< number of the first layer (block segments)
    std::int64_t count = 1;
    bool isLayer = false; ///< weights' names hold a layer number
    TensorId carryIn = kNoTensor; ///< the residual stream that comes in; for count > 1 the carryOut of the layer before
    TensorId carryOut = kNoTensor; ///< what goes to the next layer or segment
    std::vector<OpId> ops; ///< in program order
    Phase phase = Phase::Forward;
    int of = -1; ///< Backward, Update: index of the forward segment that it belongs to; its layers run from the last to the first
};

/// How a tensor is filled when a layout is run with made-up data: uniform values of this mean and standard deviation.
struct Fill {
    double mean = 0;
    double deviation = 1;
    friend bool operator==(const Fill&, const Fill&) = default;
};

struct GraphTensor {
    TensorSpec spec;
    Fill fill;
    int segment = 0; ///< segment it belongs to; a weight used by several belongs to the first
    std::int64_t copies = 1; ///< how many of it the model has (layers of its segment), for weights
    TensorId gradientOf = kNoTensor; ///< the tensor whose gradient, all of it, this is
    TensorId addendOf = kNoTensor; ///< the tensor of whose gradient this is a part
    TensorId again = kNoTensor; ///< the activation that this one is computed again for
};

struct Graph {
    std::vector<GraphTensor> tensors;
    std::vector<Op> ops;
    std::vector<Segment> segments;

    const TensorSpec& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)].spec; }
    const Op& op(OpId id) const { return ops[static_cast<std::size_t>(id)]; }
    /// Parameters of the model: elements of all weights, each repeated layer counted, a tied weight once.
    std::int64_t parameterCount() const;
    /// Number of weight tensors in a checkpoint of this model.
    std::int64_t weightCount() const;
};

/// The name of a weight with the layer number put in: `model.layers.*.mlp.up_proj.weight` -> `model.layers.3.…`.
std::string concreteName(const std::string& name, std::int64_t layer);

} // namespace shardboard

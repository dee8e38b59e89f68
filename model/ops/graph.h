// SPDX-License-Identifier: Apache-2.0
// Operations over tensors. Layers that repeat are stored once, in a segment with a count. A value type.
#pragma once

#include "model/core/id.h"
#include "model/core/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct GraphTensor;
struct Op;
struct Segment;
using TensorId = Id<GraphTensor>; ///< index into Graph::tensors
using OpId = Id<Op>; ///< index into Graph::ops
using SegmentId = Id<Segment>; ///< index into Graph::segments
inline constexpr TensorId kNoTensor {};

/// Operand lists, with shapes (B batch, S sequence of new tokens, C cached tokens, H hidden, h heads, k KV heads, d head dim,
/// e the width of a value's head, E experts):
///   Embedding   tokens [B,S], table [V,H]            -> [B,S,H]
///   RmsNorm     x [...,n], weight [n]                -> as x
///   Linear      x [...,in], weight [out,in]          -> [...,out]      y = x Wt
///   Add, Mul    a, b (b broadcast from the right)    -> as a
///   Silu, Gelu  x                                    -> as x
///   SplitHeads  x [B,S,h*d]                          -> [B,S,h,d]
///   MergeHeads  x [B,S,h,d]                          -> [B,S,h*d]
///   Rope        x [B,S,h,d]                          -> as x           rotates pairs (i, i+d/2) of the elements [first, first +
///   d')
///                                                                      (d' = `count`, 0: all), positions from `position`
///   KvAppend    x [B,S,k,d]                          -> [B,C,k,d]      the cache with x as its last S tokens
///   Attention   q [B,S,h,d], k [B,C,k,d], v [B,C,k,·] -> [B,S,h,e]     causal; query s sees keys 0 … C-S+s; head i uses
///                                                                      KV head i / (h/k); the first e elements of a value
///                                                                      count
///   SinkAttention q, k, v, sinks [h]                 -> [B,S,h,e]      one more logit for each head, which has no value
///   Output      x                                    -> as x           what goes on to the layers or out of the model: never
///   partial GatherLast  x                                    -> as x           every device holds the last dim whole, and nothing
///   partial LayerNorm   x [...,n], weight [n], bias [n]      -> as x Scale       x                                    -> as x
///   times `scale` SoftCap     x                                    -> as x           c tanh(x / c), c = `cap` GeluTanh    x -> as
///   x ClampedSwiglu gate, up                           -> as gate        g sigmoid(1.702 g) (u + 1), g = min(gate, c), u = up
///                                                                      clamped to [-c, c], c = `cap`
///   SliceLast   x [...,n]                            -> [...,m]        elements [first, first + m)
///   EveryOther  x [...,2n]                           -> [...,n]        elements first, first + 2, …
///   SplitGroups x [B,S,k,g*d]                        -> [B,S,k*g,d]
///   JoinLast    a [...,n], b [...,m]                 -> [...,n+m]
///   JoinKeys    a [B,S,h,n], b [B,S,1,m]             -> [B,S,h,n+m]    b goes to every head
///   AbsorbKeys  q [B,S,h,n], weight [h*(n+e),r]      -> [B,S,h,r]      q times the first n rows of its head
///   AbsorbValues y [B,S,h,r], weight [h*(n+e),r]     -> [B,S,h,e]      y times the last e rows of its head
///   TopKGates   logits [B,S,E]                       -> as logits      a gate for each chosen expert, else 0
///   BiasedTopKGates logits [B,S,E], bias [E]         -> as logits      scores plus bias choose, scores alone are the gates
///   Dispatch    x [B,S,H], gates [B,S,E]             -> [E,B,S,H]      x where the expert's gate is not 0, else 0
///   ExpertLinear x [E,B,S,in], weight [E,out,in]     -> [E,B,S,out]
///   ExpertLinearT x [E,B,S,in], weight [E,in,out]    -> [E,B,S,out]
///   ExpertBias  x [E,B,S,n], bias [E,n]              -> as x
///   Combine     y [E,B,S,H], gates [B,S,E]           -> [B,S,H]        sum over the experts of gate times y
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
///   LayerNormGradX, -W as those of RmsNorm (the bias's is SumLeading)
///   GeluTanhGrad, SoftCapGrad dy, x                  -> as x
///   ClampedSwigluGradGate, -Up dy, gate, up          -> as gate
///   PadLast     dy [...,m]                           -> [...,n]        at elements [first, first + m), zeros elsewhere
///   SpreadOther dy [...,n]                           -> [...,2n]       at elements first, first + 2, …, zeros elsewhere
///   MergeGroups dy [B,S,k*g,d]                       -> [B,S,k,g*d]
///   SumHeads    dy [B,S,h,n]                         -> [B,S,1,m]      elements [first, first + m), summed over the heads
///   SinkAttentionGradQ, -K, -V dy, q, k, v, sinks    -> as q, k, v
///   SinkAttentionGradS dy, q, k, v, sinks            -> as sinks
///   TopKGatesGrad dy, logits; BiasedTopKGatesGrad dy, logits, bias -> as logits
///   DispatchGrad dy [E,B,S,H], gates [B,S,E]         -> [B,S,H]        sum over the chosen experts
///   ExpertLinearGradW dy [E,B,S,o], x [E,B,S,i]      -> [E,o,i]        (of ExpertLinearT: x, dy)
///   ExpertBiasGrad dy [E,B,S,n]                      -> [E,n]
///   CombineGradY dy [B,S,H], gates [B,S,E]           -> [E,B,S,H]      gate times dy
///   CombineGradGates dy [B,S,H], y [E,B,S,H]         -> [B,S,E]        sum over H
///   LogitGrad   logits, max, sum, targets            -> as logits      (softmax - onehot) over the number of tokens
///   ReduceGrad  gradient of a weight                 -> as it          as the weight is laid out: where its sum is made
///   AdamStep    weight, gradient                     -> as weight
enum class OpKind {
    Embedding,
    RmsNorm,
    Linear,
    Add,
    Mul,
    Silu,
    Gelu,
    SplitHeads,
    MergeHeads,
    Rope,
    KvAppend,
    Attention,
    Output,
    GatherLast,
    LayerNorm,
    Scale,
    SoftCap,
    GeluTanh,
    ClampedSwiglu,
    SliceLast,
    EveryOther,
    SplitGroups,
    JoinLast,
    JoinKeys,
    AbsorbKeys,
    AbsorbValues,
    SinkAttention,
    TopKGates,
    BiasedTopKGates,
    Dispatch,
    ExpertLinear,
    ExpertLinearT,
    ExpertBias,
    Combine,
    LogitMax,
    SumExp,
    TargetLogit,
    TokenLoss,
    LinearGradX,
    LinearGradW,
    EmbeddingGrad,
    RmsNormGradX,
    RmsNormGradW,
    SumLeading,
    SiluGrad,
    GeluGrad,
    RopeGrad,
    AttentionGradQ,
    AttentionGradK,
    AttentionGradV,
    LogitGrad,
    ReduceGrad,
    AdamStep,
    LayerNormGradX,
    LayerNormGradW,
    GeluTanhGrad,
    SoftCapGrad,
    ClampedSwigluGradGate,
    ClampedSwigluGradUp,
    PadLast,
    SpreadOther,
    MergeGroups,
    SumHeads,
    SinkAttentionGradQ,
    SinkAttentionGradK,
    SinkAttentionGradV,
    SinkAttentionGradS,
    TopKGatesGrad,
    BiasedTopKGatesGrad,
    DispatchGrad,
    ExpertLinearGradW,
    ExpertBiasGrad,
    CombineGradY,
    CombineGradGates
};

/// Names in plans and views, as in the tables of model/ops: embedding, rms_norm, matmul, add, mul, silu, gelu, split_heads,
/// merge_heads, rope, kv_append, attention, output, gather_last, …
std::string opKindName(OpKind kind);
std::optional<OpKind> opKindFromName(std::string_view name);

struct OpAttributes {
    double epsilon = 0; ///< norms
    double ropeTheta = 0; ///< Rope
    std::int64_t position = 0; ///< Rope: position of the first new token
    std::int64_t heads = 0; ///< SplitHeads, MergeHeads, SplitGroups
    std::int64_t first = 0; ///< SliceLast, EveryOther, Rope
    std::int64_t count = 0; ///< Rope
    double offset = 0; ///< RmsNorm: added to the weight
    double scale = 0; ///< Scale; factor of attention's scores (0: 1 / sqrt(d)); gates
    /// Attention: share of the scores that sliding windows leave, on the mean of all layers. Time counts by it; values are of all
    /// scores.
    double attended = 1;
    double cap = 0; ///< SoftCap, ClampedSwiglu; of attention's scores (0: none)
    std::int64_t chosen = 0; ///< gates: experts of a token
    std::int64_t groups = 0; ///< gates: experts are chosen from the best `chosenGroups` groups of that many
    std::int64_t chosenGroups = 0;
    bool sigmoid = false; ///< gates: scores are sigmoids; else a softmax over all experts
    bool unfused = false; ///< attention and its gradients: the scores are written to memory
    bool scoresAgain = false; ///< unfused attention: scores are not kept for the gradients but made again
    bool normalized = false; ///< gates: the chosen ones sum to `scale`
    friend bool operator==(const OpAttributes&, const OpAttributes&) = default;
};

/// Calls `each(name, value, usual value)` for every attribute, in order: for files and messages.
template <class Attributes, class Each>
void visitAttributes(Attributes& attributes, Each each)
{
    constexpr OpAttributes usual;
    each("epsilon", attributes.epsilon, usual.epsilon);
    each("rope_theta", attributes.ropeTheta, usual.ropeTheta);
    each("position", attributes.position, usual.position);
    each("heads", attributes.heads, usual.heads);
    each("first", attributes.first, usual.first);
    each("count", attributes.count, usual.count);
    each("offset", attributes.offset, usual.offset);
    each("scale", attributes.scale, usual.scale);
    each("attended", attributes.attended, usual.attended);
    each("cap", attributes.cap, usual.cap);
    each("chosen", attributes.chosen, usual.chosen);
    each("groups", attributes.groups, usual.groups);
    each("chosen_groups", attributes.chosenGroups, usual.chosenGroups);
    each("unfused", attributes.unfused, usual.unfused);
    each("scores_again", attributes.scoresAgain, usual.scoresAgain);
    each("sigmoid", attributes.sigmoid, usual.sigmoid);
    each("normalized", attributes.normalized, usual.normalized);
}

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
    SegmentId of; ///< Backward, Update: the forward segment that it belongs to; its layers run from the last to the first
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
    SegmentId segment {0}; ///< segment it belongs to; a weight used by several belongs to the first
    std::int64_t copies = 1; ///< how many of it the model has (layers of its segment), for weights
    /// Tensors of a checkpoint that it is made of, one for each index of dim 0 (the experts); their number takes the place of
    /// the last `*` of its name.
    std::int64_t pieces = 1;
    /// Share of its rows that hold data: of activations of experts, [E,B,S,·], the chosen k of E; of a cache what sliding windows
    /// leave on the mean of all layers. Bytes and operations count by it.
    double density = 1;
    bool cached = false; ///< stays for the tokens to come, as keys and values do
    double cachedShare = 1; ///< share of it that stays: of layers with a sliding window only the last tokens
    TensorId gradientOf = kNoTensor; ///< the tensor whose gradient, all of it, this is
    TensorId addendOf = kNoTensor; ///< the tensor of whose gradient this is a part
    TensorId again = kNoTensor; ///< the activation that this one is computed again for
};

struct Graph {
    std::vector<GraphTensor> tensors;
    std::vector<Op> ops;
    std::vector<Segment> segments;

    const GraphTensor& entry(TensorId id) const { return tensors[id]; }
    GraphTensor& entry(TensorId id) { return tensors[id]; }
    const TensorSpec& tensor(TensorId id) const { return entry(id).spec; }
    const Op& op(OpId id) const { return ops[id]; }
    const Segment& segment(SegmentId id) const { return segments[id]; }
    Segment& segment(SegmentId id) { return segments[id]; }
    /// Parameters of the model: elements of all weights, each repeated layer counted, a tied weight once.
    std::int64_t parameterCount() const;
    /// Number of weight tensors in a checkpoint of this model.
    std::int64_t weightCount() const;
};

/// The bytes of a tensor of which only that share holds data, rounded up.
std::int64_t scaledBytes(std::int64_t bytes, double density);

/// The name of a weight with the layer number put in: `model.layers.*.mlp.up_proj.weight` -> `model.layers.3.…`.
std::string concreteName(const std::string& name, std::int64_t layer);

} // namespace shardboard

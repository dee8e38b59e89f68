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

/// Each has its definition (model/ops/opdefinition.h), which says what it is and what shapes it has. The first operand of a
/// gradient is the gradient of the result, dy.
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
    CombineGradGates,
    SquaredRelu,
    SquaredReluGrad,
    LastToken,
    Relu,
    ReluGrad,
    MuonStep,
    SgdStep,
    LinearT,
    Sigmoid,
    SigmoidGrad,
    Softplus,
    SoftplusGrad,
    NegativeExp,
    UnitNorm,
    UnitNormGrad,
    HeadScale,
    HeadScaleGradW,
    HeadGate,
    HeadGateGrad,
    HeadOuter,
    HeadOuterGradX,
    HeadOuterGradW,
    AddPositions,
    AddPositionsGrad,
    CausalConv,
    CausalConvGradX,
    CausalConvGradW,
    StateScan,
    StateScanGradQ,
    StateScanGradK,
    StateScanGradV,
    StateScanGradDecay,
    StateScanGradRate,
    StateAppend,
    StateRead,
    SelectKeys,
    SelectedAttention
};

/// The name in plans and views: `rms_norm`.
std::string opKindName(OpKind kind);
std::optional<OpKind> opKindFromName(std::string_view name);

struct OpAttributes {
    double epsilon = 0; ///< norms
    double ropeTheta = 0; ///< Rope
    std::int64_t position = 0; ///< Rope: position of the first new token
    std::int64_t heads = 0; ///< SplitHeads, MergeHeads, SplitGroups
    std::int64_t first = 0; ///< SliceLast, EveryOther, Rope; CausalConv, AddPositions: row of the weight that is taken first
    std::int64_t count = 0; ///< Rope; StateScan: elements of a key
    double offset = 0; ///< RmsNorm: added to the weight
    bool centred = false; ///< RmsNorm: the mean is taken off before, which makes it a layer norm without a bias
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
    bool dropout = false; ///< unfused attention: what the softmax gives goes through a dropout, whose mask and result are kept
    bool normalized = false; ///< gates: the chosen ones sum to `scale`
    bool delta = false; ///< StateScan: what the state has under a key is taken off before the value is added
    bool bothWays = false; ///< Attention: a query sees later keys as well
    bool alibi = false; ///< Attention: scores fall with the distance of the key, by a slope for each head (arXiv 2108.12409)
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
    each("centred", attributes.centred, usual.centred);
    each("scale", attributes.scale, usual.scale);
    each("attended", attributes.attended, usual.attended);
    each("cap", attributes.cap, usual.cap);
    each("chosen", attributes.chosen, usual.chosen);
    each("groups", attributes.groups, usual.groups);
    each("chosen_groups", attributes.chosenGroups, usual.chosenGroups);
    each("unfused", attributes.unfused, usual.unfused);
    each("dropout", attributes.dropout, usual.dropout);
    each("scores_again", attributes.scoresAgain, usual.scoresAgain);
    each("sigmoid", attributes.sigmoid, usual.sigmoid);
    each("normalized", attributes.normalized, usual.normalized);
    each("delta", attributes.delta, usual.delta);
    each("both_ways", attributes.bothWays, usual.bothWays);
    each("alibi", attributes.alibi, usual.alibi);
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
    SegmentId of {}; ///< Backward, Update: the forward segment that it belongs to; its layers run from the last to the first
};

/// How a tensor is filled when a layout is run with made-up data: uniform values of this mean and standard deviation.
struct Fill {
    double mean = 0;
    double deviation = 1;
    friend bool operator==(const Fill&, const Fill&) = default;
};

/// Where a weight lies that the checkpoint has as a part of another one: behind the first `first` elements of dim `dim` of it. Of a
/// whole that all layers share (ofAllLayers), behind those of the layers before.
struct WeightPart {
    std::string whole; ///< name of that weight; empty: it is one by itself
    std::size_t dim = 0;
    std::int64_t first = 0;

    bool present() const { return !whole.empty(); }
    friend bool operator==(const WeightPart&, const WeightPart&) = default;
};

struct GraphTensor {
    TensorSpec spec;
    Fill fill;
    SegmentId segment { 0 }; ///< segment it belongs to; a weight used by several belongs to the first
    std::int64_t copies = 1; ///< how many of it the model has (layers of its segment), for weights
    /// Tensors of a checkpoint that it is made of, one for each index of dim 0 (the experts); their number takes the place of
    /// the last `*` of its name.
    std::int64_t pieces = 1;
    WeightPart part {}; ///< of a weight
    /// Share of its rows that hold data: of activations of experts, [E,B,S,·], the chosen k of E; of a cache what sliding windows
    /// leave on the mean of all layers. Bytes and operations count by it.
    double density = 1;
    bool cached = false; ///< stays for the tokens to come, as keys and values do
    /// Weights of a block within its segment that is gathered for itself, as layers are: the number, from 1 on, of the module that
    /// predicts a further token. 0: of the segment.
    int block = 0;
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
    /// Whether a tensor is laid out as the residual stream is, which is where partial sums meet whole values.
    bool isStream(TensorId tensor) const;
    /// Parameters of the model: elements of all weights, each repeated layer counted, a tied weight once.
    std::int64_t parameterCount() const;
    /// The weights as a checkpoint has them: parts of one are joined.
    std::vector<GraphTensor> storedWeights() const;
    /// Number of weight tensors in a checkpoint of this model.
    std::int64_t weightCount() const;
};

/// Whether a weight of a layer is a part of one that the checkpoint has once for all layers.
bool ofAllLayers(const GraphTensor& weight);
/// Elements of the whole before a part, in that layer.
std::int64_t firstOfPart(const GraphTensor& weight, std::int64_t layer);

/// The bytes of a tensor of which that share holds data, rounded up; more than one where more is stored than its elements.
std::int64_t scaledBytes(std::int64_t bytes, double density);

/// The name of a weight with the layer number put in: `model.layers.*.mlp.up_proj.weight` -> `model.layers.3.…`.
std::string concreteName(const std::string& name, std::int64_t layer);

} // namespace shardboard

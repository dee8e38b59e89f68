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
enum class OpKind { Embedding, RmsNorm, Linear, Add, Mul, Silu, Gelu, SplitHeads, MergeHeads, Rope, KvAppend, Attention, Output, GatherLast };

/// Names in plans and views: embedding, rms_norm, matmul, add, mul, silu, gelu, split_heads, merge_heads, rope,
/// kv_append, attention, output, gather_last.
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

/// A run of operations that happens `count` times, one layer after the other.
struct Segment {
    std::string name; ///< embed, block, head
    std::int64_t firstLayer = 0; ///< number of the first layer (block segments)
    std::int64_t count = 1;
    bool isLayer = false; ///< weights' names hold a layer number
    TensorId carryIn = kNoTensor; ///< the residual stream that comes in; for count > 1 the carryOut of the layer before
    TensorId carryOut = kNoTensor; ///< what goes to the next layer or segment
    std::vector<OpId> ops; ///< in program order
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

// SPDX-License-Identifier: Apache-2.0
// A strategy is a named way to get a weight's layout and its shards: MAX's kinds, or a spec written out. A value type.
// Source of the cuts: max.graph.ShardingStrategy.
#pragma once

#include "model/core/layout.h"
#include "model/core/shards.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// Kinds of MAX's ShardingStrategy, and `spec` for a written layout. MAX's `rowwise` cuts dim 0, which everyone else
/// calls column-parallel: views always show the dim number beside the word. The last two are of modules: a weight
/// refuses them.
enum class StrategyKind {
    Replicate,
    Rowwise, ///< dim 0
    Columnwise, ///< dim 1
    Axiswise, ///< dim `dim`
    HeadAwareColumnwise, ///< dim 1 in whole heads; packed columns (FP4 1/2, MXFP6 3/4 of heads x head dim) are told by their number
    StackedQkv, ///< dim 0 of [3 x heads x head dim, …]: Q, K and V each by heads, joined again
    GateUp, ///< the two halves of dim `dim`, each cut, joined again
    Segmented, ///< the segments of dim `dim`, each cut, joined again
    Spec,
    TensorParallel,
    ExpertParallel,
};
/// replicate, rowwise, columnwise, axiswise, head-aware-columnwise, stacked-qkv, gate-up, segmented, spec, tensor-parallel,
/// expert-parallel
std::string strategyKindName(StrategyKind kind);
/// Takes `_` for `-` too, as MAX writes its kinds.
std::optional<StrategyKind> strategyKindFromName(std::string_view name);

/// What a kind is made of, so that editors and readers need no list of their own.
struct StrategyParameters {
    bool axes = false;
    bool dim = false;
    bool heads = false; ///< number of heads and head dim
    bool segments = false;
    bool spec = false;
};
StrategyParameters parametersOf(StrategyKind kind);
/// The dim that a kind cuts when nothing is said: 2 for gate-up (experts come first), else 0.
int defaultDim(StrategyKind kind);

/// A part of a fused dim: `size` elements cut evenly, or heads of `headDim` elements that stay whole.
struct StrategySegment {
    std::int64_t size = 0; ///< even segment
    std::int64_t numHeads = 0; ///< 0: an even segment
    std::int64_t headDim = 0;
    std::int64_t elements() const { return numHeads > 0 ? numHeads * headDim : size; }
    std::string text() const; ///< even:768, heads:32:128
    friend bool operator==(const StrategySegment&, const StrategySegment&) = default;
};
/// Parses `even:768` or `heads:32:128`. Sizes are below 2^40.
Result<StrategySegment> parseSegment(std::string_view text, const std::string& where);

struct Strategy {
    StrategyKind kind = StrategyKind::Replicate;
    std::vector<std::string> axes {}; ///< mesh axes to cut over, major first (not for replicate and spec)
    int dim = 0; ///< axiswise, gate-up, segmented: the tensor dim, negative counts from the end
    std::string spec {}; ///< spec: JAX notation
    std::int64_t numHeads = 0; ///< head-aware-columnwise, stacked-qkv
    std::int64_t headDim = 0;
    std::vector<StrategySegment> segments {}; ///< segmented

    /// How an indivisible dim is cut: balanced as MAX does, strict for a written spec.
    CutRule defaultCut() const { return kind == StrategyKind::Spec ? CutRule::Strict : CutRule::Balanced; }
    /// `rowwise (dim 0) over model`, `stacked-qkv (dim 0, 32 heads x 128) over model`, `P(None, 'model')`, `replicate`
    std::string text() const;
    friend bool operator==(const Strategy&, const Strategy&) = default;
};

/// Layout of a tensor of this rank under a strategy: which dim is cut over which mesh axes. Errors: unknown mesh axis, dim
/// out of range for the rank (rowwise needs rank 1, columnwise rank 2), a wrong spec, a kind that is of modules. `where`
/// names the tensor.
Result<Layout> layoutOf(const Strategy& strategy, const Mesh& mesh, std::size_t rank, const std::string& where);

/// Shards of a tensor under a strategy. Errors: those of layoutOf; a strict cut that does not divide; rows that are not
/// Q, K and V of that many heads; an odd dim for gate-up; segments that do not add up to the dim (or to twice of it,
/// packed); columns that are not heads x head dim, a half or three quarters of it (where MAX does not check).
/// `grains` as in shardsOf of a layout.
Result<ShardMap> shardsOf(const Strategy& strategy, const Shape& shape, const Mesh& mesh, CutRule rule, const std::string& where,
                          const std::vector<std::int64_t>& grains = {});

} // namespace shardboard

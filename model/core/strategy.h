// SPDX-License-Identifier: Apache-2.0
// A strategy is a named way to get a weight's layout: MAX's kinds, or a spec written out. A value type.
#pragma once

#include "model/core/layout.h"
#include "model/core/shards.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// Kinds of MAX's ShardingStrategy, and `spec` for a written layout. MAX's `rowwise` cuts dim 0, which everyone else
/// calls column-parallel: views always show the dim number beside the word.
enum class StrategyKind { Replicate, Rowwise, Columnwise, Axiswise, Spec };
std::string strategyKindName(StrategyKind kind); ///< replicate, rowwise, columnwise, axiswise, spec
std::optional<StrategyKind> strategyKindFromName(std::string_view name);

struct Strategy {
    StrategyKind kind = StrategyKind::Replicate;
    std::vector<std::string> axes; ///< mesh axes to cut over, major first (not for replicate and spec)
    int dim = 0; ///< axiswise: the tensor dim, negative counts from the end
    std::string spec; ///< spec: JAX notation

    /// How an indivisible dim is cut: balanced as MAX does, strict for a written spec.
    CutRule defaultCut() const { return kind == StrategyKind::Spec ? CutRule::Strict : CutRule::Balanced; }
    /// `rowwise (dim 0) over model`, `P(None, 'model')`, `replicate`
    std::string text() const;
    friend bool operator==(const Strategy&, const Strategy&) = default;
};

/// Layout of a tensor of this rank under a strategy. Errors: unknown mesh axis, dim out of range for the rank
/// (rowwise needs rank 1, columnwise rank 2), a wrong spec. `where` names the tensor.
Result<Layout> layoutOf(const Strategy& strategy, const Mesh& mesh, std::size_t rank, const std::string& where);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// One weight (or input) of a model with its layout. A value type.
#pragma once

#include "model/core/shards.h"
#include "model/core/strategy.h"
#include "model/core/tensor.h"
#include "model/ops/graph.h"
#include "model/rules/logicalrules.h"

#include <memory>
#include <optional>
#include <string>

namespace shardboard {

/// Why an entry or rule cannot be applied to a weight.
enum class MisfitKind {
    UnknownAxis, ///< an axis outside the mesh
    AxisTwice, ///< one axis on two dims, or twice on one
    DimOutOfRange,
    Indivisible, ///< a strict cut that does not divide
    Overflow, ///< the same, with more devices than the dim has elements
    Structure, ///< heads, halves or segments that are not those of the dim
    Partial, ///< a weight that a plan computes with cannot be partial
    NotPlanned, ///< a kind for fused or packed weights on a weight of a plan, which is neither
    Unreadable, ///< a spec or parameter that says nothing, or a strategy of modules
};
/// What a weight's layout says of such an entry or rule: data that findings sort by kind, while the design stays usable.
struct Misfit {
    MisfitKind kind = MisfitKind::Unreadable;
    Error error; ///< names the entry or rule and the weight
};

/// One weight (or input) of the model with its layout. In repeated layers one entry stands for all `copies`.
struct WeightLayout {
    TensorId tensor = kNoTensor; ///< kNoTensor for loose weights of a model without a graph
    TensorSpec spec;
    bool unknownShape = false;
    std::int64_t firstLayer = -1; ///< -1 outside layers
    std::int64_t copies = 1;
    std::string segment; ///< embed, block, head
    Layout layout;
    CutRule cut = CutRule::Balanced;
    ShardMap shards;
    int entry = -1; ///< index of the StrategyEntry that decided; -1: none says anything
    /// What the logical axis rules say, where no entry decided and the design has rules; its spec may name axes that the mesh
    /// lacks, which the layout then leaves out. Without both the weight is replicated.
    std::shared_ptr<const Resolution> resolution;
    Strategy strategy; ///< the deciding one, be it a misfit; for rules the spec they make; `replicate` when nothing decides
    /// Why the deciding entry or rule was not applied: the weight is replicated instead.
    std::optional<Misfit> misfit;
    std::int64_t bytesPerDevice = 0; ///< of one copy, on the device that holds the most
};

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Runs the flow design -> graph -> layouts -> picker -> plan. Pure: the same design always gives the same evaluation.
#pragma once

#include "model/core/finding.h"
#include "model/design/design.h"
#include "model/design/repair.h"
#include "model/plan/plan.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

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
    std::optional<Resolution> resolution;
    Strategy strategy; ///< the deciding one; for rules the spec they make; `replicate` when nothing decides
    std::int64_t bytesPerDevice = 0; ///< of one copy, on the device that holds the most
};

/// A finding about a design, with the edit that removes its cause where there is one.
struct DesignFinding : Finding {
    std::optional<Repair> fix;
};

struct Evaluation {
    Graph graph;
    std::vector<WeightLayout> weights; ///< in the order of the model, weights first, then the input `tokens`
    Plan plan;
    std::vector<DesignFinding> findings; ///< worst first
    std::int64_t parameters = 0;
    std::int64_t weightBytes = 0; ///< of the whole model
};

/// Errors name the design's entry or tensor: a strategy that does not fit a tensor, a batch of 0, an unknown mesh axis.
Result<std::shared_ptr<const Evaluation>> evaluate(const Design& design);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// On which devices the shards of a weight are, as the plan has it: of a pipeline only on those of its stages.
#pragma once

#include "model/design/evaluation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

struct PlacedShards {
    ShardMap shards; ///< over the mesh axis of the stages nothing is cut, as in the plan
    int stageAxis = -1; ///< mesh axis of a pipeline's stages; -1: every device holds a shard
    std::vector<std::int64_t> stages {}; ///< that hold it, ascending
    std::vector<AxisRef> partial {}; ///< in mesh order: each device along these has a term of what the shard is, combined by `op`
    ReduceOp op = ReduceOp::Sum;

    bool isHeldAt(std::int64_t position) const;
    /// `sum`, `max` or `min`.
    std::string opName() const;
    /// The axes of `partial`: `model`, of a sub-axis `model:(1)2`.
    std::vector<std::string> partialAxes() const;
};

/// Asks the evaluation when it is asked: that has to live as long.
class ShardPlaces {
public:
    explicit ShardPlaces(const Evaluation& evaluation);

    /// Mesh axis of the stages, where there are two or more; else -1.
    int stageAxis() const { return m_stageAxis; }
    /// Of a weight in layer `layer` of the model; -1 outside of layers. One that embedding and head share is on two
    /// stages. Without stages none: every device holds it.
    std::vector<std::int64_t> stagesOf(const WeightLayout& weight, std::int64_t layer) const;
    PlacedShards of(const WeightLayout& weight, std::int64_t layer) const;

private:
    const Evaluation& m_evaluation;
    int m_stageAxis = -1;
    std::vector<std::vector<std::int64_t>> m_ends; ///< by TensorId: stages of a weight outside of layers
};

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Holds a checkpoint against the graph made from its config.json, tensor by tensor.
#pragma once

#include "model/core/finding.h"
#include "model/families/modelspec.h"
#include "model/io/checkpoint/checkpoint.h"
#include "model/ops/graph.h"

#include <vector>

namespace shardboard {

/// How to read differences: what is expected where the stored weights are quantised, or are one part of a larger model.
struct CompareOptions {
    bool quantized = false;
    bool wrapped = false;
    std::vector<std::string> beside {}; ///< patterns of weights that are known not to be in the graph
    std::vector<std::string> stored {}; ///< of those that are laid out beside it
};

struct CheckpointComparison {
    /// One for each kind of difference, with a count and examples: missing, extra, shape, element type, total size.
    std::vector<Finding> findings;
    std::vector<PackedWeights> plain; ///< of weights that were to be packed, and are not in the files
    std::vector<std::size_t>
        beside; ///< tensors of other parts of the model (a vision tower), or stored: indices into Checkpoint::tensors
};
CheckpointComparison compareCheckpoint(const Checkpoint& checkpoint, const ModelSpec& model, const Graph& graph,
                                       const CompareOptions& options);

} // namespace shardboard

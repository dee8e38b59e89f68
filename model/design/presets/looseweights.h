// SPDX-License-Identifier: Apache-2.0
// Weights of a model whose operations are not known, recognized by their names and shapes: which dims of linear layers, embeddings,
// and experts a preset may cut.
#pragma once

#include "model/families/modelspec.h"

#include <cstddef>
#include <vector>

namespace shardboard {

struct RecognizedWeights {
    /// One of all weights whose names differ in numbers only, which are `*` in its name, or a weight by itself where others of that
    /// name have another shape. `dimLabels` say what the dims are, `logicalNames` what rules call them: `mlp` where a linear layer
    /// is cut by tensor parallelism, `vocab`, `exp`, `embed`; empty where a preset has to leave the dim whole.
    std::vector<TensorSpec> weights;
    std::size_t recognized = 0; ///< of ModelSpec::looseWeights
    std::size_t known = 0; ///< whose shape is known
    std::vector<std::string> examples; ///< some names of those that have two dims or more and were not recognized
};

/// Linear layers by the usual names of their projections; by shapes where the name says nothing and one of two dims alone is the
/// hidden size, which is the most frequent size of vectors. Weights of unknown shape are left out.
RecognizedWeights recognizedWeights(const ModelSpec& model);

} // namespace shardboard

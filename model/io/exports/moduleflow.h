// SPDX-License-Identifier: Apache-2.0
// Frameworks that replace single modules of a model by parallel ones move values inside of these modules alone: what one gives,
// whole on every rank or a part on each, is what the next one gets. Here the forward pass is followed from module to module.
#pragma once

#include "model/design/evaluation.h"
#include "model/io/exports/exportfiles.h"

#include <functional>
#include <string>
#include <vector>

namespace shardboard {

/// What a module does over the tensor-parallel ranks.
struct ModuleParts {
    bool takes = false; ///< a part of its input on each rank; else all of it
    bool gives = false; ///< a part of its result on each rank, or of the heads in it
};

/// Of a projection, by its weight.
using PartsOfModule = std::function<ModuleParts(const WeightLayout& weight)>;

/// Refused: a projection that gets a part where the framework's takes all, or the other way round; operations that would meet both;
/// norms and slices of a part. Embeddings, and the experts of a layer as one module, take and give whole values.
std::vector<ExportRefusal> flowRefusals(const Evaluation& evaluation, const std::string& framework, const PartsOfModule& partsOf);

} // namespace shardboard

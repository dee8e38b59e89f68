// SPDX-License-Identifier: Apache-2.0
// Presets: named lists of strategies for a whole model.
#pragma once

#include "model/design/design.h"

namespace shardboard {

/// Names of all presets: replicate, megatron-tp.
std::vector<std::string> presetNames();

/// Strategies of a preset for this mesh, model and workload.
///   replicate    every weight whole on every device; the batch is cut over all data axes.
///   megatron-tp  over the tensor axis (named model, tp, tensor or mp; else the last axis that has no data-like name):
///                q, k, v, gate, up, embedding and head cut on dim 0 (column-parallel), o and down on dim 1
///                (row-parallel); the batch is cut over the other axes.
/// Projections whose heads do not divide stay whole, and `notes` says so in a sentence each. Errors: unknown name (usage),
/// a mesh without a usable axis (input).
Result<std::vector<StrategyEntry>> presetStrategies(const std::string& name, const Mesh& mesh, const ModelSpec& model,
                                                    const Workload& workload, std::vector<std::string>& notes);

} // namespace shardboard

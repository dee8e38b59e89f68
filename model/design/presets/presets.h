// SPDX-License-Identifier: Apache-2.0
// Presets: named lists of strategies for a whole model.
#pragma once

#include "model/design/design.h"
#include "model/design/presets/presetweights.h"

namespace shardboard {

/// Names of all presets: replicate, megatron-tp, tp-sp, fsdp, hsdp, tp+fsdp, tp-sp+fsdp, ep, ep+tp, cp-ring, cp-all-gather,
/// cp-ulysses, pp-1f1b, pp-interleaved.
std::vector<std::string> presetNames();

/// Those that are worth trying on a mesh: all with a name of their own, and combinations that use every kind of axis that it has.
std::vector<std::string> presetsFor(const Mesh& mesh, const ModelSpec& model);

/// In a sentence, for lists; empty for an unknown name. Also of combinations of parts (presetparts.h), as everywhere here.
std::string presetWhat(const std::string& name);

/// The preset for this mesh, model and workload: strategies, pins, and notes on what was left out.
///   replicate    every weight whole on every device; the batch is cut over all data axes.
///   megatron-tp  over the tensor axis (named model, tp, tensor or mp; else the last axis that has no data-like name):
///                q, k, v, gate, up, embedding and head cut on dim 0 (column-parallel), o and down on dim 1
///                (row-parallel); the batch is cut over the other axes.
///   the others   as their facts say (presetparts.h)
/// Errors: unknown name (usage), a mesh without a usable axis, a model that it makes no sense for (input).
Result<Preset> makePreset(const std::string& name, const Mesh& mesh, const ModelSpec& model, const Workload& workload);

/// Replaces the strategies, the pipeline and the preset's pins of a design; pins set by hand stay. Parts of projections that are
/// one weight become weights of their own where the preset is tensor-parallel, and are one weight again where it is not. Returns
/// the notes.
Result<std::vector<std::string>> applyPreset(Design& design, const std::string& name);
/// Whether a preset set the pin, and not a person.
bool isOfPreset(const Pin& pin);

/// The presets that a design may have been laid out by: all with a name of their own, and the combinations that its pins come from.
std::vector<std::string> presetsOf(const Design& design);

/// The preset whose entries a design has, all of them and in their order: which it was is not written down.
struct EntryOrigin {
    std::string preset; ///< empty when it is none
    std::vector<StrategyEntry> entries; ///< the preset's
};
EntryOrigin originOfEntries(const Design& design);

/// The strategies of a preset alone.
Result<std::vector<StrategyEntry>> presetStrategies(const std::string& name, const Mesh& mesh, const ModelSpec& model,
                                                    const Workload& workload, std::vector<std::string>& notes);

} // namespace shardboard

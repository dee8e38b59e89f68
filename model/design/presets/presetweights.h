// SPDX-License-Identifier: Apache-2.0
// Presets as facts: which kinds of tensor dims lie over which kinds of mesh axes, and which activations are pinned.
#pragma once

#include "model/design/design.h"
#include "model/design/presets/presetaxes.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// How a context-parallel attention gets at the keys and values of the other devices.
enum class ContextForm { None, Ring, AllGather, Ulysses };

/// What a preset wants of a mesh. `Needs` refuses a mesh without such an axis, `Uses` takes it where it is there.
enum class Wish { No, Uses, Needs };

struct PresetFacts {
    const char* name;
    const char* what; ///< in a sentence, for lists
    Wish tensor = Wish::No; ///< heads, MLP width and vocabulary are cut
    bool sequence = false; ///< between the tensor-parallel parts the sequence is cut over the tensor axes
    Wish fsdp = Wish::No; ///< weights are cut further, and gathered where they are used
    bool replicas = false; ///< needs a data axis beside
    Wish experts = Wish::No;
    Wish context = Wish::No;
    ContextForm form = ContextForm::None;
    std::int64_t chunks = 0; ///< runs of layers on each stage of a pipeline; 0: no pipeline
};

/// All presets that are made from the graph, in the order in which they are shown.
const std::vector<PresetFacts>& presetFacts();
const PresetFacts* presetFacts(std::string_view name);

struct Preset {
    std::vector<StrategyEntry> strategies;
    std::vector<Pin> pins;
    PipelineSpec pipeline;
    std::vector<std::string> notes; ///< what was left out, a sentence each
};

/// Errors: the mesh lacks an axis that the preset needs, or the model has nothing for it to cut (no experts).
Result<Preset> presetFromFacts(const PresetFacts& facts, const Mesh& mesh, const ModelSpec& model, const Workload& workload);

} // namespace shardboard

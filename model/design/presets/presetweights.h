// SPDX-License-Identifier: Apache-2.0
// A preset made from its facts and the graph: which tensor dims lie over which mesh axes, and which activations are pinned.
#pragma once

#include "model/design/design.h"
#include "model/design/presets/presetparts.h"

#include <string>
#include <vector>

namespace shardboard {

struct Preset {
    std::vector<StrategyEntry> strategies;
    std::vector<Pin> pins;
    PipelineSpec pipeline;
    std::vector<std::string> notes; ///< what was left out, a sentence each
};

/// Errors: the mesh lacks an axis that the preset needs, or the model has nothing for it to cut (no experts).
Result<Preset> presetFromFacts(const PresetFacts& facts, const Mesh& mesh, const ModelSpec& model, const Workload& workload);

} // namespace shardboard

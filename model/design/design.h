// SPDX-License-Identifier: Apache-2.0
// A design: everything a *.shardboard file says. A value type; the document (model/session) holds one and its undo
// stack replaces parts of it.
#pragma once

#include "model/core/mesh.h"
#include "model/core/strategy.h"
#include "model/families/modelspec.h"
#include "model/hardware/hardware.h"
#include "model/ops/workload.h"
#include "model/picker/pickeroptions.h"
#include "model/plan/memorysettings.h"
#include "model/plan/pin.h"
#include "model/plan/pipelinespec.h"
#include "model/rules/logicalrules.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// A strategy for all tensors whose name matches a glob pattern (`*`, `?`, `[…]`). Later entries win.
/// Besides the weights, the input (`tokens`, or `x` of a module) can be matched.
struct StrategyEntry {
    std::string match;
    Strategy strategy;
    std::optional<CutRule> cut; ///< the strategy's own rule when absent
    friend bool operator==(const StrategyEntry&, const StrategyEntry&) = default;
};

/// Logical axis rules: they lay out the weights and inputs that no strategy entry names, by the logical names of their dims.
struct DesignRules {
    std::string source; ///< where they came from, for people: `preset pure-fsdp`, `my-rules.yml`; empty when there are none
    std::vector<LogicalRule> rules;
    friend bool operator==(const DesignRules&, const DesignRules&) = default;
};

struct Design {
    Mesh mesh;
    std::string hardware = "dgx-h100"; ///< id of a hardware preset, or of `ownHardware`
    std::optional<Hardware> ownHardware; ///< edited values, which the design carries; counts while it has that id
    ModelSpec model;
    Workload workload;
    std::vector<StrategyEntry> strategies;
    DesignRules rules;
    PickerOptions picker;
    std::vector<Pin> pins; ///< later ones win
    PipelineSpec pipeline;
    MemorySettings memory;
    std::string viewState; ///< JSON text of the window's state; empty when none
    std::string unknownKeys; ///< JSON text of an object with the keys that this version does not know; kept on saving
    friend bool operator==(const Design&, const Design&) = default;
};

/// The mesh axis along which the stages of the pipeline lie, -1 without one. Nothing is cut over it.
inline int stageAxis(const Design& design) { return design.pipeline.present() ? design.mesh.find(design.pipeline.axis) : -1; }

/// Takes a preset by its id, anything else with all its values.
void setHardware(Design& design, Hardware hardware);
/// Its own hardware or the preset. Errors as of findHardware.
Result<Hardware> hardwareOf(const Design& design, const std::string& where = "hardware");

} // namespace shardboard

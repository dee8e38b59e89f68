// SPDX-License-Identifier: Apache-2.0
// Rules of activations: MaxText constrains them by logical names of their own, and holds whole what no rule names.
#pragma once

#include "model/design/design.h"
#include "model/design/evaluation.h"
#include "model/rules/logicalrules.h"

#include <string>
#include <vector>

namespace shardboard {

struct ActivationRules {
    std::vector<LogicalRule> rules; ///< one for each name, none of which a weight has
    std::vector<std::string> inputNames; ///< that lay out the input batch as the design does; empty: no names do
    std::vector<std::string> disagreeing; ///< names whose values the plan lays out in several ways; the rule has the first
};

/// What the plan's forward pass has, in the axes of `mesh` (the design's under other names). Names in `taken` have rules already.
ActivationRules activationRules(const Evaluation& evaluation, const Mesh& mesh, const std::vector<std::string>& taken);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Logical axis rules as a YAML file in the form of MaxText's custom mesh-and-rule files.
#pragma once

#include "model/core/mesh.h"
#include "model/rules/logicalrules.h"

#include <string>
#include <vector>

namespace shardboard {

/// `mesh_axes`, `data_sharding` (over all mesh axes) and `logical_axis_rules`, one rule a line. The form has no place for
/// the sizes of the axes: they stand in a comment as the options that give them. Every name is quoted, so that nothing
/// that may stand in one (a colon, `null`, a quote) changes its meaning.
std::string ruleFileText(const std::vector<LogicalRule>& rules, const Mesh& mesh);
Status writeRuleFile(const std::string& path, const std::vector<LogicalRule>& rules, const Mesh& mesh);

} // namespace shardboard

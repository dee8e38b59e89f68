// SPDX-License-Identifier: Apache-2.0
// MaxText's files of mesh and rules, from any path and with any axis names: a base configuration, a model's file,
// options of the command line and a custom mesh-and-rule file, laid over each other as MaxText does.
//
// What MaxText would refuse and we can do, and what it ignores in silence, is a warning with file and line. What cannot
// be used (not YAML, a rule that is no pair, a wrong type, two sets of one option) is an error with FILE:LINE:COLUMN.
#pragma once

#include "model/rules/rulesetup.h"

#include <string>
#include <vector>

namespace shardboard {

/// Where mesh and rules come from, weakest first.
struct RuleSources {
    std::string base; ///< path of a base.yml, or the name of a built-in rule set; empty: `default`
    std::string model; ///< path of a model's file, whose rules are merged; may be empty
    std::vector<std::string> settings; ///< `key=value`, value as YAML; merged
    std::string custom; ///< path of a custom mesh-and-rule file, or the name of a built-in rule set: replaces; may be empty
};

/// All sources together. The base's key `base_config` is followed; `custom_mesh_and_rule` of any source is looked for
/// in custom_mesh_and_rule/ beside the base and then among the built-in rule sets. A built-in name wins over a file of
/// that name in the current folder; `./NAME` is the file.
Result<RuleSetup> openRules(const RuleSources& sources);

/// A custom mesh-and-rule file that is not on disk, over the base rules.
Result<RuleSetup> rulesFromText(const std::string& text, const std::string& file);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// A rule set with the mesh it is written for: what MaxText's base, model and custom mesh-and-rule files say together.
#pragma once

#include "model/core/mesh.h"
#include "model/rules/logicalrules.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardboard {

struct RuleSetup {
    std::string name; ///< `default`, `pure-fsdp`, or a file's name
    std::vector<std::string> meshAxes; ///< in mesh order
    std::vector<LogicalRule> rules;
    std::vector<std::string> dataSharding; ///< axes whose hosts read real data; does not cut the batch
    std::vector<std::string> inputNames { "activation_embed_and_logits_batch", "activation_norm_length" }; ///< logical names of the input batch
    std::string contextAxis = "context"; ///< plays context parallelism: first axis of the first rule `activation_length`, if any
    std::map<std::string, std::int64_t> options; ///< ici_*_parallelism and dcn_*_parallelism that were set; -1 fills
    std::vector<std::string> warnings; ///< what was ignored, each one line naming file and place
};

/// Sizes of the mesh axes from the options: size = ici x dcn, one -1 in each list is filled (defaults: ici_fsdp -1, dcn_data
/// -1, all others 1; dcn options count only for several slices). The axis `stage` uses the pipeline options, `model` the
/// tensor options; any other axis, also one MaxText does not know, its own name. Errors: more than one -1, a -1 that comes
/// out as no whole number, a product that is not the number of devices.
Result<Mesh> meshOf(const RuleSetup& setup, std::int64_t devicesPerSlice, std::int64_t slices);

/// Drops axes of size one and axes that the mesh lacks, as MaxText does for activations.
std::vector<std::vector<std::string>> withoutUselessAxes(std::vector<std::vector<std::string>> spec, const Mesh& mesh);

/// Names of the rule sets built in: default, pure-fsdp, ep-as-cp, cp-as-ep, pipeline-large-moe, ep-as-dp, shard-exp-on-fsdp.
std::vector<std::string> rulePresetNames();
Result<RuleSetup> rulePreset(const std::string& name, const std::string& where);

} // namespace shardboard

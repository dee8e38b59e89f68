// SPDX-License-Identifier: Apache-2.0
// A rule set with the mesh it is written for: what MaxText's base, model and custom mesh-and-rule files say together.
#pragma once

#include "model/core/layout.h"
#include "model/core/mesh.h"
#include "model/rules/logicalrules.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

struct RuleSetup {
    std::string name; ///< `default`, `pure-fsdp`, or a file's name
    std::vector<std::string> meshAxes; ///< in mesh order
    std::vector<LogicalRule> rules;
    std::vector<std::string> dataSharding; ///< axes whose hosts read real data; does not cut the batch
    std::vector<std::string> inputNames { "activation_embed_and_logits_batch",
                                          "activation_norm_length" }; ///< logical names of the input batch
    std::string contextAxis = "context"; ///< plays context parallelism: first axis of the first rule `activation_length`, if any
    std::map<std::string, std::int64_t> options; ///< ici_*_parallelism and dcn_*_parallelism that were set; -1 fills
    bool optimizerOverData = false; ///< shard_optimizer_over_data: optimizer state is cut over `data` as well (ZeRO-1)
    std::vector<std::string> warnings; ///< what was ignored, each one line naming file and place
};

/// `stage` takes its size from the pipeline options, `model` from the tensor options; any other axis, also one that
/// MaxText does not know, from those of its own name: `ici` and `fsdp` give `ici_fsdp_parallelism`.
std::string parallelismOption(std::string_view kind, const std::string& axis);
/// The value of that option: as set, or its default (ici_fsdp and dcn_data -1, all others 1).
std::int64_t parallelism(const RuleSetup& setup, std::string_view kind, const std::string& axis);
/// -1 for ici_fsdp_parallelism and dcn_data_parallelism, 1 for any other option.
std::int64_t defaultParallelism(const std::string& option);
/// Whether MaxText knows a mesh axis of that name.
bool isMaxTextAxis(const std::string& axis);

/// Sizes of the mesh axes from the options: size = ici x dcn, one -1 in each list is filled; dcn options count only for
/// several slices. Errors: more than one -1, a -1 that comes out as no whole number, a product that is not the number
/// of devices per slice or of slices, dcn options for one slice.
Result<Mesh> meshOf(const RuleSetup& setup, std::int64_t devicesPerSlice, std::int64_t slices);

/// Devices of one slice of an accelerator as MaxText names them (tpu7x-16, v5p-16, a3): the number in the name counts
/// chips' devices for tpu7x, v6e and v5e, and cores, two to a device, for v4 and v5p.
Result<std::int64_t> devicesPerSlice(const std::string& topology, const std::string& where);

/// Drops axes of size one and axes that the mesh lacks, as MaxText does for activations.
std::vector<std::vector<std::string>> withoutUselessAxes(std::vector<std::vector<std::string>> spec, const Mesh& mesh);

/// A spec as a verified layout on a mesh. Errors: an axis that the mesh lacks, an axis used twice.
Result<Layout> layoutFromSpec(const std::vector<std::vector<std::string>>& spec, const Mesh& mesh, const std::string& where);

/// Rules of a model's file or of the command line laid over others: every older rule of a name in `newer` goes, and the
/// newer ones stand at the end, so that a name loses its place in the order too.
std::vector<LogicalRule> mergedRules(const std::vector<LogicalRule>& older, const std::vector<LogicalRule>& newer);

/// What pipeline parallelism (ici or dcn_pipeline_parallelism above 1) changes: the rule of the batch at the ends of
/// the model, `stage` before `data` in the mesh, `stage` first in the data sharding. Says so in the warnings.
void applyPipeline(RuleSetup& setup);
/// The rules of layers outside the pipeline: `stage` is taken out everywhere and stands before `data` wherever that
/// occurs.
std::vector<LogicalRule> rulesOutsidePipeline(std::vector<LogicalRule> rules);

/// Names of the rule sets built in: default, pure-fsdp, ep-as-cp, cp-as-ep, pipeline-large-moe, ep-as-dp,
/// shard-exp-on-fsdp.
std::vector<std::string> rulePresetNames();
/// One line on what the rule set is for; empty for an unknown name.
std::string rulePresetSummary(const std::string& name);
Result<RuleSetup> rulePreset(const std::string& name, const std::string& where);

} // namespace shardboard

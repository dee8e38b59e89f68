// SPDX-License-Identifier: Apache-2.0
// What the sub-commands of shardctl rules share: where rules and mesh come from, and dumps of logical names.
#pragma once

#include "app/ctl/arguments.h"
#include "model/io/maxtext/maxtextdump.h"
#include "model/rules/rulesetup.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace shardboard {

struct RulesOnMesh {
    RuleSetup setup;
    Mesh mesh;
};

/// --base, --model-rules, --set, --rules, --outside-pipeline.
Result<RuleSetup> setupFrom(const Arguments& arguments);
/// And --devices-per-slice or --topology, --slices.
Result<RulesOnMesh> rulesOnMeshFrom(const Arguments& arguments);

/// Dumps of --logical, a file or a folder of a dump. At least one is there.
struct LogicalFiles {
    bool isFolder = false;
    std::optional<LogicalDump> weights;
    std::optional<ActivationDump> activations;
};
Result<LogicalFiles> readLogicalFiles(const std::string& path);

/// `warning: …` lines on stderr.
void printWarnings(const std::vector<std::string>& warnings);

std::string meshText(const Mesh& mesh); ///< `fsdp=16 and 11 axes of size 1`
nlohmann::ordered_json specJson(const DumpSpec& spec); ///< [null, "fsdp", ["fsdp", "expert"]]

int explainRules(const Arguments& arguments);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// From a Hugging Face config.json to the dimensions of a model.
#pragma once

#include "model/core/finding.h"
#include "model/core/result.h"
#include "model/families/modelspec.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace shardboard {

struct ConfigModel {
    ModelSpec model; ///< without a name; notUnderstood set when the architecture is not known
    std::vector<Finding> findings;
    bool quantized = false; ///< the stored weights are not the plain ones
    bool wrapped = false; ///< the decoder is one part of a larger model (`text_config`)
    bool saysDtype = false;
    bool saysTied = false;
};

/// Reads config.json at `path`.
Result<ConfigModel> readConfig(const std::string& path);
/// `file` names the document in errors. Errors: a known architecture whose sizes are missing, wrong or do not fit.
Result<ConfigModel> modelFromConfig(const nlohmann::json& config, const std::string& file);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// From a Hugging Face config.json to the dimensions of a model.
#pragma once

#include "model/core/finding.h"
#include "model/core/result.h"
#include "model/families/modelspec.h"
#include "model/io/huggingface/familyfile.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace shardboard {

struct ConfigModel {
    ModelSpec model; ///< without a name; notUnderstood set when the architecture is not known
    std::vector<Finding> findings;
    struct KnownShape {
        std::string pattern; ///< of names
        Shape shape;
        std::string layers {}; ///< letters of the layer pattern, where `*` stands for these layers alone
    };
    std::vector<KnownShape> shapes; ///< of weights where the operations are not known
    std::vector<std::string> beside; ///< patterns of stored weights that are not in the graph
    bool quantized = false; ///< the stored weights are not the plain ones
    bool wrapped = false; ///< the decoder is one part of a larger model (`text_config`)
    bool saysDtype = false;
    bool saysTied = false;
};

/// ModelSpec::family of a family that is not built in begins so.
inline constexpr const char* kOwnFamily = "own:";

/// Reads config.json at `path`, by the family file `shardboard-family.json` beside it where there is one.
Result<ConfigModel> readConfig(const std::string& path);
/// `file` names the document in errors. Errors: a known architecture whose sizes are missing, wrong or do not fit.
/// `own` is a family that goes before the built-in ones.
Result<ConfigModel> modelFromConfig(const nlohmann::json& config, const std::string& file, const FamilyFile* own = nullptr);

} // namespace shardboard

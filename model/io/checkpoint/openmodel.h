// SPDX-License-Identifier: Apache-2.0
// Opens what a user calls a model: a built-in name, a config.json, a checkpoint folder, or one .safetensors or .gguf file.
// Weights are never read, only headers.
#pragma once

#include "model/core/finding.h"
#include "model/core/result.h"
#include "model/families/modelspec.h"

#include <string>
#include <vector>

namespace shardboard {

struct OpenedModel {
    ModelSpec model;
    std::vector<Finding> findings; ///< differences between checkpoint and graph, pointers in place of weights, …
};

/// `argument` is NAME | config.json | FOLDER | FILE.safetensors | FILE.gguf. An architecture that is not known still opens: names,
/// and shapes from headers where there are any (ModelSpec::looseWeights).
Result<OpenedModel> openModel(const std::string& argument, const std::string& where = "--model");

/// Names of the built-in models, in the order shown to people, and one of them.
std::vector<std::string> builtinModelNames();
Result<ModelSpec> builtinModel(const std::string& name, const std::string& where = "--model");
/// The published parameter count that goes with a built-in entry (for `shardctl models` and tests).
std::int64_t publishedParameters(const std::string& name);
/// What is known of parameters used by one token: the same as all, but for mixtures of experts.
std::int64_t publishedActiveParameters(const std::string& name);

} // namespace shardboard

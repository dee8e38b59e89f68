// SPDX-License-Identifier: Apache-2.0
// Names of parameters as JSON, for programs that read trees of a framework.
#pragma once

#include "model/io/names/parameternames.h"

#include <nlohmann/json.hpp>

namespace shardboard {

/// {"name", "shape", "sources", "layers": [first, number], "view", "logical"}, and the factors that the view stands for.
nlohmann::ordered_json parameterJson(const NamedParameter& parameter);

/// {"model", "family", "schemes": [{"scheme", "title", "parameters", "missing"} or with "reason" where there are no names]}.
nlohmann::ordered_json namesJson(const ModelSpec& model, const std::vector<NameScheme>& schemes);

} // namespace shardboard

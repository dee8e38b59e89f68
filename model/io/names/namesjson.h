// SPDX-License-Identifier: Apache-2.0
// How a parameter is made of weights, as JSON for programs that read trees of a framework.
#pragma once

#include "model/io/names/parameternames.h"

#include <nlohmann/json.hpp>

namespace shardboard {

/// {"name", "shape", "sources", "layers": [first, number], "view", "logical"}, and the factors that the view stands for.
nlohmann::ordered_json parameterJson(const NamedParameter& parameter);

} // namespace shardboard

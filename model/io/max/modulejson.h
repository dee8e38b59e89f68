// SPDX-License-Identifier: Apache-2.0
// Questions about modules as JSON: {"module": "MLP", "params": {…}} in, the module's answer out. The keys are those in
// which MAX's users think (num_devices, has_bias, gate_up_format); model/modules knows no JSON.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <string>

namespace shardboard {

/// The answer, with a list of `findings`. Errors name FILE:params.KEY: an unknown module or strategy, a wrong type or
/// size, and everything that MAX refuses. A parameter that the module does not know is a finding.
Result<nlohmann::json> answerModule(const nlohmann::json& request, const std::string& file);

/// Modules and their parameters, for help.
std::string moduleHelp();

} // namespace shardboard

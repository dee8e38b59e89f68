// SPDX-License-Identifier: Apache-2.0
// Questions to MAX's per-op picker as JSON, in the keys and codes of its published test vectors:
// {"profile", "picker", "op", "attrs", "rows", "fallback_row_added", "mesh", "policy", "inputs"} in; the answer with
// {"inputs", "output", "cost", "collectives", "candidates", …} out.
#pragma once

#include "model/picker/operation.h"

#include <nlohmann/json.hpp>

#include <string>

namespace shardboard {

/// Errors name FILE:KEY.
Result<PickQuestion> readPickQuestion(const nlohmann::json& request, const std::string& file);

/// With `error` (the exception that MAX raises) and `reason` instead of a pick when it was refused.
nlohmann::ordered_json pickAnswerJson(const PickQuestion& question, const PickAnswer& answer);

/// A refusal as one line of ours.
Error pickError(const Refusal& refusal, const std::string& file);

/// Operations and their attributes, for help.
std::string pickHelp();

} // namespace shardboard

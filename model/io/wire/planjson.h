// SPDX-License-Identifier: Apache-2.0
// The plan as a document (contract: keys of `plan --json`), complete enough to be run: the engine reads it back.
#pragma once

#include "model/plan/program.h"

#include <nlohmann/json_fwd.hpp>

namespace shardboard {

nlohmann::json planToJson(const Graph& graph, const Plan& plan);
/// Checks everything it reads: ids in range, layouts valid for their tensors, one result per operation. Errors name the key.
Result<Program> planFromJson(const nlohmann::json& document);

} // namespace shardboard

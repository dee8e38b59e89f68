// SPDX-License-Identifier: Apache-2.0
// What each part of the model costs in a step: for people and as a document.
#pragma once

#include "model/plan/plan.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace shardboard {

/// A table with a row for each part and phase.
std::string partsText(const Graph& graph, const Plan& plan);
/// A list of them with their operations; seconds are of a step.
nlohmann::json partsJson(const Graph& graph, const Plan& plan);

} // namespace shardboard

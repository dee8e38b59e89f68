// SPDX-License-Identifier: Apache-2.0
// Explanations as JSON.
#pragma once

#include "model/design/explain/explain.h"

#include <nlohmann/json_fwd.hpp>

namespace shardboard {

nlohmann::json explanationJson(const Design& design, const Evaluation& evaluation, const Explanation& explanation);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// A comparison of two designs as a document for scripts.
#pragma once

#include "model/design/compare.h"

#include <nlohmann/json_fwd.hpp>

namespace shardboard {

/// {"same": …, "changes": [{part, names, before, after}], "costs": [{key, name, unit, before, after, difference, verdict}]}
nlohmann::json comparisonToJson(const DesignComparison& comparison);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Two designs side by side for terminals.
#pragma once

#include "model/design/compare.h"

#include <string>

namespace shardboard {

/// `before` and `after` head the columns: names of files.
std::string comparisonText(const DesignComparison& comparison, const std::string& before, const std::string& after);

} // namespace shardboard

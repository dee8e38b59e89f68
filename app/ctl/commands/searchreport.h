// SPDX-License-Identifier: Apache-2.0
// shardctl optimize --search: designs around the layouts, and the front of the best of them.
#pragma once

#include "app/ctl/arguments.h"
#include "model/design/design.h"

#include <chrono>
#include <optional>
#include <string>

namespace shardboard {

/// The exit code. `--time` counts from `begin`.
int searchAndReport(const Arguments& arguments, Design design, const std::optional<double>& memoryBytes,
                    std::chrono::steady_clock::time_point begin);

} // namespace shardboard

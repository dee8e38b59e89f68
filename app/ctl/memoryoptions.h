// SPDX-License-Identifier: Apache-2.0
// What of a device's memory follows from no layout, as options: of shardctl new for the design, of shardctl plan for one run.
#pragma once

#include "app/ctl/arguments.h"
#include "model/plan/memorysettings.h"

namespace shardboard {

/// To be appended to a command's own options.
std::vector<OptionSpec> withMemoryOptions(std::vector<OptionSpec> options);

/// Sets what options name. Errors (usage): a value out of its range.
Status chooseMemory(const Arguments& arguments, MemorySettings& settings);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// The reshape of MAX 26.7. A global target becomes sizes per device where every dim that is cut meets a dim of the target; then
// the operand keeps its placements, and otherwise it is gathered. What it refuses and gathers beyond need is kept as it is.
#pragma once

#include "model/picker/max/family.h"

namespace shardboard {

/// Adds the rows. The target has at most one open dim and as many elements as the operand, as far as both are numbers.
std::optional<Refusal> addReshapeRows267(const RuleQuestion& question, Menu& menu);

} // namespace shardboard

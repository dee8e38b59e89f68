// SPDX-License-Identifier: Apache-2.0
// The names that people give in a design.
#pragma once

#include "model/design/design.h"

namespace shardboard {

/// Patterns, names of rules, pins: of what a design file would refuse to hold (nameProblem), so that nothing gets into
/// a design that could not be read again. Errors name the entry.
Status verifyNames(const Design& design);

} // namespace shardboard

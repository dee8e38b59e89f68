// SPDX-License-Identifier: Apache-2.0
// From a planned design to what it achieves.
#pragma once

#include "model/design/design.h"
#include "model/hardware/hardware.h"
#include "model/plan/plan.h"

namespace shardboard {

/// P counts a tied table once, and of a mixture of experts those that a token uses.
Performance performanceOf(const Design& design, const Graph& graph, const Plan& plan, const Hardware& hardware);

} // namespace shardboard

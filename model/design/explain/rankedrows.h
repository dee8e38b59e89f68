// SPDX-License-Identifier: Apache-2.0
// The rows of one planned operation as the picker judged them, with what each would move and the pin that takes it.
#pragma once

#include "model/design/evaluation.h"
#include "model/design/explain/explanation.h"
#include "model/plan/planner/pinning.h"

namespace shardboard {

/// Whether the picker decided it: gradients that are summed and optimizer steps follow their weight.
bool isPicked(OpKind kind);

/// Per mesh axis of more than one device; empty for operations that are not picked.
std::vector<AxisExplanation> rankedRows(const Design& design, const Evaluation& evaluation, const Pinning& pinning,
                                        PlannedSegmentId segment, PlannedOpId op);

/// How an operation can be named in a pin: by its name, with the segment before it where other segments have one of that name.
std::string pinnableName(const Graph& graph, OpId op);

} // namespace shardboard

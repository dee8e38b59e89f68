// SPDX-License-Identifier: Apache-2.0
// Hands the results of operations to the hook that wants to see the numbers.
#pragma once

#include "engine/run/step/stepstate.h"

namespace shardboard::engine {

/// Calls hooks.value, in the first process, with the tensor as it is on the devices now; all processes call it. `unsharded` is that
/// of the reference, null without verification. Does nothing where nobody wants to see values.
void showValue(StepState& state, const SegmentPass& pass, TensorId tensor, const Sharded* unsharded);

} // namespace shardboard::engine

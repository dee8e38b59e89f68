// SPDX-License-Identifier: Apache-2.0
// What a run left on the devices against whole tensors in double.
#pragma once

#include "engine/conformance/reference.h"
#include "engine/devices/sharded.h"
#include "engine/run/runner.h"

namespace shardboard::conformance {

/// The largest ‖y - r‖₂ / ‖r‖₂ over the devices, each with its part of the reference; addends are summed and maxima taken over
/// the axes over which the value is partial. A part that happens to be small is measured against the mean of the tensor.
/// Infinite when a value is not a number.
double errorOf(const engine::Sharded& y, const Value& reference);

/// A weight or input as a run makes it up.
Value madeUp(const engine::Source& source, const Shape& shape);

} // namespace shardboard::conformance

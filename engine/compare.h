// SPDX-License-Identifier: Apache-2.0
// Compares what the logical devices hold with the unsharded tensor.
#pragma once

#include "engine/context.h"
#include "engine/sharded.h"

namespace shardboard::engine {

/// The largest relative error ‖y - r‖₂ / ‖r‖₂ of any device: y is what it holds (addends are summed, maxima compared, over the axes over
/// which the value is partial), r the same ranges of the reference. Every replica is compared. A shard of values that happen to be
/// small is measured against the size that the tensor's values have on average, and against `among`, the mean square of the
/// values that they were chosen from, where they are a few of many. Infinite when a value is not a number, or
/// when r is zero and y is not; 0 for empty tensors. `reference` lies whole on one device, or has only a source.
double relativeError(Context& context, const Sharded& y, const Sharded& reference, double among = 0);

/// Of the values of a tensor that lies whole on one device; 0 when planning.
double meanSquare(Context& context, const Sharded& reference);

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Compares what the logical devices hold with the unsharded tensor.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/sharded.h"

#include <cstdint>
#include <vector>

namespace shardboard::engine {

/// The largest relative error ‖y - r‖₂ / ‖r‖₂ of any device: y is what it holds (addends are summed, maxima compared, over the axes
/// over which the value is partial), r the same ranges of the reference. Every replica is compared. A shard of values that happen
/// to be small is measured against the size that the tensor's values have on average, and against `among`, the mean square of the
/// values that they were chosen from, where they are a few of many. Infinite when a value is not a number, or
/// when r is zero and y is not; 0 for empty tensors. `reference` lies whole on one device, or has only a source.
double relativeError(Context& context, const Sharded& y, const Sharded& reference, double among = 0);

/// For those who sum elsewhere: all devices whose addends make the value that `device` holds one of, or nothing when another
/// device stands for them.
std::vector<std::int64_t> addendsOf(const Sharded& y, std::int64_t device);
/// Of what a device holds.
struct SquareSums {
    double difference = 0; ///< sum of (y - r)^2
    double reference = 0; ///< sum of r^2
    std::int64_t count = 0;
};
/// The largest relative error of the devices of a tensor, as relativeError() takes it.
double worstError(const std::vector<SquareSums>& devices, double among);

/// Of the values of a tensor that lies whole on one device; 0 when planning.
double meanSquare(Context& context, const Sharded& reference);

} // namespace shardboard::engine

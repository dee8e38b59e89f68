// SPDX-License-Identifier: Apache-2.0
// Rotary embedding of a part of a head and its gradient. The angles are those of engine/ops/kernels/rows.h.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// Which elements of a head of `d` are rotated: `count` (even) from `first` on, in pairs (i, i + count/2); the others are
/// copied. The last 64 of 192 are { 192, 128, 64 }, a whole head is { d, 0, d }.
struct RotaryPart {
    std::int64_t d = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// `cosines` and `sines` hold count/2 values for the position. Not in place.
void ropePartRow(const RotaryPart& part, const float* x, const float* cosines, const float* sines, float* out);
/// The gradient: the rotation by the opposite angle. Not in place.
void ropePartBackwardRow(const RotaryPart& part, const float* dy, const float* cosines, const float* sines, float* dx);

} // namespace shardboard::engine

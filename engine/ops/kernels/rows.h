// SPDX-License-Identifier: Apache-2.0
// The loops of the operations, on contiguous float32 rows. Each is a pure function of its arguments; sums have a fixed
// order. `out` may be the same as the first input where the comment says "in place".
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// out = a * b, element by element; in place allowed.
void mulRow(const float* a, const float* b, std::int64_t n, float* out);

/// Rotates the pairs (i, i + d/2) of one head: `cosines` and `sines` hold d/2 values for the position. Not in place.
void ropeRow(const float* x, const float* cosines, const float* sines, std::int64_t d, float* out);
/// cos and sin of position * theta^(-2i/d) for i in [0, d/2), computed in double.
void ropeAngles(std::int64_t position, std::int64_t d, double theta, float* cosines, float* sines);

} // namespace shardboard::engine

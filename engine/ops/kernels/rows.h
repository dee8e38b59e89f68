// SPDX-License-Identifier: Apache-2.0
// The loops of the operations, on contiguous float32 rows. Each is a pure function of its arguments; sums have a fixed
// order. `out` may be the same as the first input where the comment says "in place".
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// out[r] = x[r] / sqrt(mean(x[r]^2) + epsilon) * weight, for `rows` rows of `n` elements.
void rmsNormRows(const float* x, const float* weight, std::int64_t rows, std::int64_t n, double epsilon, float* out);

/// x / (1 + e^-x), in place allowed.
void siluRow(const float* x, std::int64_t n, float* out);
/// x * Phi(x), the exact GELU, in place allowed.
void geluRow(const float* x, std::int64_t n, float* out);

/// Element by element; with `repeatB` the one element b[0] is used for all. In place allowed.
void addRow(const float* a, const float* b, bool repeatB, std::int64_t n, float* out);
void mulRow(const float* a, const float* b, bool repeatB, std::int64_t n, float* out);

/// Rotates the pairs (i, i + d/2) of one head: `cosines` and `sines` hold d/2 values for the position. Not in place.
void ropeRow(const float* x, const float* cosines, const float* sines, std::int64_t d, float* out);
/// cos and sin of position * theta^(-2i/d) for i in [0, d/2), computed in double.
void ropeAngles(std::int64_t position, std::int64_t d, double theta, float* cosines, float* sines);

/// Softmax over the first `visible` of `n` scores; the rest becomes 0. In place. `visible` is at least 1.
void softmaxRow(float* scores, std::int64_t visible, std::int64_t n);

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Activations and their gradients, element by element; `out` and `dx` may be the same as an input. SiLU and the exact GELU
// forward are in engine/ops/kernels/rows.h.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
void geluTanhRow(const float* x, std::int64_t n, float* out);

void siluBackwardRow(const float* dy, const float* x, std::int64_t n, float* dx);
void geluBackwardRow(const float* dy, const float* x, std::int64_t n, float* dx);
void geluTanhBackwardRow(const float* dy, const float* x, std::int64_t n, float* dx);

} // namespace shardboard::engine

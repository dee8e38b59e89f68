// SPDX-License-Identifier: Apache-2.0
// The cap of attention's scores; outputs may be the same as an input.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// cap * tanh(x / cap)
void softCapRow(const float* x, float cap, std::int64_t n, float* out);
/// The slopes of the cap where its results are `y`: 1 - (y / cap)^2.
void capSlopeRow(const float* y, float cap, std::int64_t n, float* slopes);

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Activations with a limit and their gradients, element by element; outputs may be the same as an input.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// cap * tanh(x / cap)
void softCapRow(const float* x, float cap, std::int64_t n, float* out);
/// The slopes of the cap where its results are `y`: 1 - (y / cap)^2.
void capSlopeRow(const float* y, float cap, std::int64_t n, float* slopes);
void softCapBackwardRow(const float* dy, const float* x, float cap, std::int64_t n, float* dx);

/// g * sigmoid(1.702 g) * (u + 1) with g = min(gate, limit) and u = up clamped to [-limit, limit] (gpt-oss).
void clampedSwigluRow(const float* gate, const float* up, float limit, std::int64_t n, float* out);
void clampedSwigluGateBackwardRow(const float* dy, const float* gate, const float* up, float limit, std::int64_t n, float* dGate);
void clampedSwigluUpBackwardRow(const float* dy, const float* gate, const float* up, float limit, std::int64_t n, float* dUp);

} // namespace shardboard::engine

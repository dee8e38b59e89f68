// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/capped.h"

#include "engine/ops/kernels/lanes.h"
#include "engine/simd/simd.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

constexpr float kSlope = 1.702f;

/// tanh by the exponential; beyond 20 it is 1 in float. Small arguments by their series, where the difference would lose digits.
inline float tanhOf(float x)
{
    const float square = x * x;
    const float series = x * (1.0f - square * (1.0f / 3.0f - square * (2.0f / 15.0f - square * (17.0f / 315.0f))));
    const float c = std::min(std::max(x, -20.0f), 20.0f);
    const float whole = 1.0f - 2.0f / (fastExp(2.0f * c) + 1.0f);
    return square < 0.01f ? series : whole;
}

} // namespace

SHARDBOARD_CLONES void softCapRow(const float* x, float cap, std::int64_t n, float* out)
{
    for (std::int64_t i = 0; i < n; ++i)
        out[i] = cap * tanhOf(x[i] / cap);
}

SHARDBOARD_CLONES void softCapBackwardRow(const float* dy, const float* x, float cap, std::int64_t n, float* dx)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float t = tanhOf(x[i] / cap);
        dx[i] = dy[i] * (1.0f - t * t);
    }
}

SHARDBOARD_CLONES void capSlopeRow(const float* y, float cap, std::int64_t n, float* slopes)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float t = y[i] / cap;
        slopes[i] = 1.0f - t * t;
    }
}

SHARDBOARD_CLONES void clampedSwigluRow(const float* gate, const float* up, float limit, std::int64_t n, float* out)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float g = std::min(gate[i], limit);
        const float u = std::min(std::max(up[i], -limit), limit);
        out[i] = g * sigmoid(kSlope * g) * (u + 1.0f);
    }
}

SHARDBOARD_CLONES void clampedSwigluGateBackwardRow(const float* dy, const float* gate, const float* up, float limit,
                                                    std::int64_t n, float* dGate)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float g = std::min(gate[i], limit);
        const float u = std::min(std::max(up[i], -limit), limit);
        const float s = sigmoid(kSlope * g);
        const float slope = s + kSlope * g * s * (1.0f - s);
        dGate[i] = gate[i] <= limit ? dy[i] * (u + 1.0f) * slope : 0.0f;
    }
}

SHARDBOARD_CLONES void clampedSwigluUpBackwardRow(const float* dy, const float* gate, const float* up, float limit, std::int64_t n,
                                                  float* dUp)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float g = std::min(gate[i], limit);
        const float glu = g * sigmoid(kSlope * g);
        dUp[i] = up[i] >= -limit && up[i] <= limit ? dy[i] * glu : 0.0f;
    }
}

} // namespace shardboard::engine

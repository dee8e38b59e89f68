// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/activations.h"

#include "engine/ops/kernels/lanes.h"
#include "engine/ops/kernels/normaltail.h"
#include "engine/simd/simd.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

constexpr float kTwoRootTwoOverPi = 1.59576912160573071f; ///< 2 sqrt(2 / pi): (1 + tanh(u)) / 2 is the sigmoid of 2u
constexpr float kCubic = 0.044715f;

/// Beyond it the gate is 0 or 1; keeps the cube finite.
inline float tanhArgument(float x) { return std::min(std::max(x, -20.0f), 20.0f); }

} // namespace

SHARDBOARD_CLONES void geluTanhRow(const float* x, std::int64_t n, float* out)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float c = tanhArgument(x[i]);
        out[i] = x[i] * sigmoid(kTwoRootTwoOverPi * (c + kCubic * c * c * c));
    }
}

SHARDBOARD_CLONES void siluBackwardRow(const float* dy, const float* x, std::int64_t n, float* dx)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float s = sigmoid(x[i]);
        dx[i] = dy[i] * (s * (1.0f + x[i] * (1.0f - s)));
    }
}

SHARDBOARD_CLONES void geluBackwardRow(const float* dy, const float* x, std::int64_t n, float* dx)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float e = fastExp(-0.5f * x[i] * x[i]);
        dx[i] = dy[i] * (normalBelow(x[i], e) + x[i] * 0.39894228040143268f * e);
    }
}

SHARDBOARD_CLONES void geluTanhBackwardRow(const float* dy, const float* x, std::int64_t n, float* dx)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float c = tanhArgument(x[i]);
        const float s = sigmoid(kTwoRootTwoOverPi * (c + kCubic * c * c * c));
        const float slope = kTwoRootTwoOverPi * (1.0f + 3.0f * kCubic * c * c);
        dx[i] = dy[i] * (s + c * slope * s * (1.0f - s));
    }
}

} // namespace shardboard::engine

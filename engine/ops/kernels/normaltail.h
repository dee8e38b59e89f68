// SPDX-License-Identifier: Apache-2.0
// The normal distribution for the exact GELU, in a form that vectorises, unlike std::erf.
#pragma once

#include "engine/ops/kernels/lanes.h"

#include <cmath>

namespace shardboard::engine {

/// Phi(x), the share of the standard normal distribution below x, from e^(-x^2/2), to a few 1e-7 of its value.
/// The tail 1 - Phi(|x|) is e^(-x^2/2) times a polynomial in t = 1 / (1 + 0.3 |x| / sqrt(2)): the interpolation of degree 9
/// in t at Chebyshev's points for |x| / sqrt(2) from 0 to 9.4, from where on the tail is 0 in float.
inline float normalBelow(float x, float exponential)
{
    const float t = 1.0f / (1.0f + 0.21213203f * std::fabs(x));
    float p = -0.0652096671f;
    p = p * t + 0.24510257f;
    p = p * t - 0.261267981f;
    p = p * t + 0.280163691f;
    p = p * t - 0.052027574f;
    p = p * t + 0.109638117f;
    p = p * t + 0.0735615704f;
    p = p * t + 0.0854513577f;
    p = p * t + 0.0845879061f;
    const float tail = p * t * exponential;
    return x < 0 ? tail : 1.0f - tail;
}

} // namespace shardboard::engine

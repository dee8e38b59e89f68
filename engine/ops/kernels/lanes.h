// SPDX-License-Identifier: Apache-2.0
// What the loops of the kernels share: sums in a fixed number of lanes and an exponential that vectorises. Not for callers
// of the kernels.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace shardboard::engine {

/// Sums are kept in this many lanes, so that the loop vectorises and the order does not depend on the instruction set.
inline constexpr std::int64_t kLanes = 16;

/// e^x to about 2 units in the last place, for x <= 88; vectorises, unlike std::exp. 0 below about -87.
inline float fastExp(float x)
{
    const float clamped = std::min(std::max(x, -87.0f), 88.0f);
    const float n = (clamped * 1.44269504088896341f + 12582912.0f) - 12582912.0f; // nearest whole number
    const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const float e = p * r * r + r + 1.0f;
    const float power = std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
    return x < -87.0f ? 0.0f : (x != x ? x : e * power);
}

/// tanh by the exponential; beyond 20 it is 1 in float. Small arguments by their series, where the difference would lose digits.
inline float fastTanh(float x)
{
    const float square = x * x;
    const float series = x * (1.0f - square * (1.0f / 3.0f - square * (2.0f / 15.0f - square * (17.0f / 315.0f))));
    const float c = std::min(std::max(x, -20.0f), 20.0f);
    const float whole = 1.0f - 2.0f / (fastExp(2.0f * c) + 1.0f);
    return square < 0.01f ? series : whole;
}

inline double sumLanes(const float* lanes)
{
    double sum = 0;
    for (std::int64_t i = 0; i < kLanes; ++i)
        sum += double { lanes[i] };
    return sum;
}

/// out = a * b, element by element; in place allowed.
void mulRow(const float* a, const float* b, std::int64_t n, float* out);
/// lanes = sums of a * b.
void sumOfProducts(const float* a, const float* b, std::int64_t n, float* lanes);
/// The highest of n >= 1 values.
float highestOf(const float* x, std::int64_t n);
/// x = e^(x - highest); lanes = sums of it.
void expRow(float* x, std::int64_t n, float highest, float* lanes);

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/lanes.h"

#include "engine/simd/simd.h"

#include <algorithm>

namespace shardboard::engine {

SHARDBOARD_CLONES void sumOfProducts(const float* a, const float* b, std::int64_t n, float* lanes)
{
    float sums[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (std::int64_t j = 0; j < kLanes; ++j)
            sums[j] += a[i + j] * b[i + j];
    for (std::int64_t j = 0; i + j < n; ++j)
        sums[j] += a[i + j] * b[i + j];
    std::copy(sums, sums + kLanes, lanes);
}

SHARDBOARD_CLONES void mulRow(const float* a, const float* b, std::int64_t n, float* out)
{
    for (std::int64_t i = 0; i < n; ++i)
        out[i] = a[i] * b[i];
}

SHARDBOARD_CLONES float highestOf(const float* x, std::int64_t n)
{
    float lanes[kLanes];
    for (std::int64_t i = 0; i < kLanes; ++i)
        lanes[i] = x[0];
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (std::int64_t j = 0; j < kLanes; ++j)
            lanes[j] = lanes[j] < x[i + j] ? x[i + j] : lanes[j];
    for (; i < n; ++i)
        lanes[0] = std::max(lanes[0], x[i]);
    return *std::max_element(lanes, lanes + kLanes);
}

SHARDBOARD_CLONES void expRow(float* x, std::int64_t n, float highest, float* lanes)
{
    float sums[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (std::int64_t j = 0; j < kLanes; ++j) {
            const float e = fastExp(x[i + j] - highest);
            x[i + j] = e;
            sums[j] += e;
        }
    }
    for (std::int64_t j = 0; i + j < n; ++j) {
        x[i + j] = fastExp(x[i + j] - highest);
        sums[j] += x[i + j];
    }
    std::copy(sums, sums + kLanes, lanes);
}

} // namespace shardboard::engine

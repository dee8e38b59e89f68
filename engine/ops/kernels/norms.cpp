// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/norms.h"

#include "engine/ops/kernels/lanes.h"
#include "engine/ops/kernels/reduce.h"
#include "engine/simd/simd.h"

#include <algorithm>
#include <cmath>

namespace shardboard::engine {

void squaredDistances(const float* x, float mean, std::int64_t n, float* lanes);
void addWeightGradient(const float* dy, const float* x, float mean, float inverse, std::int64_t n, float* sums);

SHARDBOARD_CLONES void squaredDistances(const float* x, float mean, std::int64_t n, float* lanes)
{
    float sums[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (std::int64_t j = 0; j < kLanes; ++j)
            sums[j] += (x[i + j] - mean) * (x[i + j] - mean);
    for (std::int64_t j = 0; i + j < n; ++j)
        sums[j] += (x[i + j] - mean) * (x[i + j] - mean);
    std::copy(sums, sums + kLanes, lanes);
}

SHARDBOARD_CLONES void addWeightGradient(const float* dy, const float* x, float mean, float inverse, std::int64_t n, float* sums)
{
    for (std::int64_t i = 0; i < n; ++i)
        sums[i] += dy[i] * ((x[i] - mean) * inverse);
}

namespace {

constexpr std::int64_t kWeightColumns = 256; ///< of a weight's gradient that are summed at once

struct RowScale {
    float mean = 0;
    float inverse = 0;
};

RowScale scaleOf(const float* x, std::int64_t n, bool centred, double epsilon)
{
    float lanes[kLanes];
    float mean = 0;
    if (centred) {
        sumOfRow(x, n, lanes);
        mean = static_cast<float>(sumLanes(lanes) / static_cast<double>(n));
        squaredDistances(x, mean, n, lanes);
    } else {
        sumOfSquares(x, n, lanes);
    }
    return { mean, static_cast<float>(1.0 / std::sqrt(sumLanes(lanes) / static_cast<double>(n) + epsilon)) };
}

} // namespace

/// Rows in blocks whose scales are worked out once, columns in tiles, so that the sums stay near and short.
void normWeightGradient(bool centred, double epsilon, const float* dy, const float* x, std::int64_t rows, std::int64_t n,
                        float* dWeight)
{
    RowScale scales[kSumRows];
    float sums[kWeightColumns];
    for (std::int64_t first = 0; first < rows; first += kSumRows) {
        const std::int64_t last = std::min(rows, first + kSumRows);
        for (std::int64_t r = first; r < last; ++r)
            scales[r - first] = scaleOf(x + r * n, n, centred, epsilon);
        for (std::int64_t column = 0; column < n; column += kWeightColumns) {
            const std::int64_t count = std::min(kWeightColumns, n - column);
            std::fill(sums, sums + count, 0.0f);
            for (std::int64_t r = first; r < last; ++r)
                addWeightGradient(dy + r * n + column, x + r * n + column, scales[r - first].mean, scales[r - first].inverse, count,
                                  sums);
            for (std::int64_t i = 0; i < count; ++i)
                dWeight[column + i] += sums[i];
        }
    }
}

} // namespace shardboard::engine

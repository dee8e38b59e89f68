// SPDX-License-Identifier: Apache-2.0
// Both norms are out = (x - mean) * inverse * weight + bias; RMSNorm has mean 0 and no bias.
#include "engine/ops/kernels/norms.h"

#include "engine/ops/kernels/lanes.h"
#include "engine/ops/kernels/reduce.h"
#include "engine/simd/simd.h"

#include <algorithm>
#include <cmath>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kColumns = 256; ///< of a weight's gradient that are summed at once

struct RowScale {
    float mean = 0;
    float inverse = 0;
};

} // namespace

void normSums(const float* dy, const float* x, const float* weight, float offset, float mean, float inverse, std::int64_t n,
              float* gradientLanes, float* productLanes);
void plainSums(const float* dy, const float* x, float mean, float inverse, std::int64_t n, float* gradientLanes,
               float* productLanes);
void normGradient(const float* dy, const float* x, const float* weight, float offset, float mean, float inverse, float gradientMean,
                  float productMean, std::int64_t n, float* dx);
void squaredDistances(const float* x, float mean, std::int64_t n, float* lanes);
void normOut(const float* x, const float* weight, float offset, const float* bias, float mean, float inverse, std::int64_t n,
             float* out);
void addWeightGradient(const float* dy, const float* x, float mean, float inverse, std::int64_t n, float* sums);

/// Lanes of the sums of g and of g * (x - mean) * inverse, where g = dy * (weight + offset).
SHARDBOARD_CLONES void normSums(const float* dy, const float* x, const float* weight, float offset, float mean, float inverse,
                                std::int64_t n, float* gradientLanes, float* productLanes)
{
    float sums[kLanes] = {};
    float products[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (std::int64_t j = 0; j < kLanes; ++j) {
            const float g = dy[i + j] * (weight[i + j] + offset);
            sums[j] += g;
            products[j] += g * ((x[i + j] - mean) * inverse);
        }
    for (std::int64_t j = 0; i + j < n; ++j) {
        const float g = dy[i + j] * (weight[i + j] + offset);
        sums[j] += g;
        products[j] += g * ((x[i + j] - mean) * inverse);
    }
    std::copy(sums, sums + kLanes, gradientLanes);
    std::copy(products, products + kLanes, productLanes);
}

/// The same without a weight: g = dy.
SHARDBOARD_CLONES void plainSums(const float* dy, const float* x, float mean, float inverse, std::int64_t n, float* gradientLanes,
                                 float* productLanes)
{
    float sums[kLanes] = {};
    float products[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (std::int64_t j = 0; j < kLanes; ++j) {
            sums[j] += dy[i + j];
            products[j] += dy[i + j] * ((x[i + j] - mean) * inverse);
        }
    for (std::int64_t j = 0; i + j < n; ++j) {
        sums[j] += dy[i + j];
        products[j] += dy[i + j] * ((x[i + j] - mean) * inverse);
    }
    std::copy(sums, sums + kLanes, gradientLanes);
    std::copy(products, products + kLanes, productLanes);
}

/// dx = inverse * (g - gradientMean - (x - mean) * inverse * productMean)
SHARDBOARD_CLONES void normGradient(const float* dy, const float* x, const float* weight, float offset, float mean, float inverse,
                                    float gradientMean, float productMean, std::int64_t n, float* dx)
{
    if (weight == nullptr) {
        for (std::int64_t i = 0; i < n; ++i)
            dx[i] = inverse * (dy[i] - gradientMean - (x[i] - mean) * inverse * productMean);
        return;
    }
    for (std::int64_t i = 0; i < n; ++i)
        dx[i] = inverse * (dy[i] * (weight[i] + offset) - gradientMean - (x[i] - mean) * inverse * productMean);
}

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

SHARDBOARD_CLONES void normOut(const float* x, const float* weight, float offset, const float* bias, float mean, float inverse,
                               std::int64_t n, float* out)
{
    if (weight == nullptr)
        for (std::int64_t i = 0; i < n; ++i)
            out[i] = (x[i] - mean) * inverse;
    else
        for (std::int64_t i = 0; i < n; ++i)
            out[i] = (x[i] - mean) * inverse * (weight[i] + offset);
    if (bias != nullptr)
        for (std::int64_t i = 0; i < n; ++i)
            out[i] += bias[i];
}

SHARDBOARD_CLONES void addWeightGradient(const float* dy, const float* x, float mean, float inverse, std::int64_t n, float* sums)
{
    for (std::int64_t i = 0; i < n; ++i)
        sums[i] += dy[i] * ((x[i] - mean) * inverse);
}

namespace {

RowScale rmsScale(const float* x, std::int64_t n, double epsilon)
{
    float lanes[kLanes];
    sumOfSquares(x, n, lanes);
    return { 0, static_cast<float>(1.0 / std::sqrt(sumLanes(lanes) / static_cast<double>(n) + epsilon)) };
}

RowScale layerScale(const float* x, std::int64_t n, double epsilon)
{
    float lanes[kLanes];
    sumOfRow(x, n, lanes);
    const auto mean = static_cast<float>(sumLanes(lanes) / static_cast<double>(n));
    squaredDistances(x, mean, n, lanes);
    return { mean, static_cast<float>(1.0 / std::sqrt(sumLanes(lanes) / static_cast<double>(n) + epsilon)) };
}

void backwardRow(const float* dy, const float* x, const float* weight, float offset, const RowScale& row, bool centred,
                 std::int64_t n, float* dx)
{
    float gradientLanes[kLanes];
    float productLanes[kLanes];
    if (weight == nullptr)
        plainSums(dy, x, row.mean, row.inverse, n, gradientLanes, productLanes);
    else
        normSums(dy, x, weight, offset, row.mean, row.inverse, n, gradientLanes, productLanes);
    const auto size = static_cast<double>(n);
    normGradient(dy, x, weight, offset, row.mean, row.inverse, centred ? static_cast<float>(sumLanes(gradientLanes) / size) : 0.0f,
                 static_cast<float>(sumLanes(productLanes) / size), n, dx);
}

/// Rows in blocks whose scales are worked out once, columns in tiles, so that the sums stay near and short.
template <typename Scale>
void weightGradient(const float* dy, const float* x, std::int64_t rows, std::int64_t n, float* dWeight, const Scale& scale)
{
    RowScale scales[kSumRows];
    float sums[kColumns];
    for (std::int64_t first = 0; first < rows; first += kSumRows) {
        const std::int64_t last = std::min(rows, first + kSumRows);
        for (std::int64_t r = first; r < last; ++r)
            scales[r - first] = scale(x + r * n);
        for (std::int64_t column = 0; column < n; column += kColumns) {
            const std::int64_t count = std::min(kColumns, n - column);
            std::fill(sums, sums + count, 0.0f);
            for (std::int64_t r = first; r < last; ++r)
                addWeightGradient(dy + r * n + column, x + r * n + column, scales[r - first].mean, scales[r - first].inverse, count,
                                  sums);
            for (std::int64_t i = 0; i < count; ++i)
                dWeight[column + i] += sums[i];
        }
    }
}

} // namespace

void rmsNormRows(const RmsNorm& norm, const float* x, const float* weight, std::int64_t rows, std::int64_t n, float* out)
{
    for (std::int64_t r = 0; r < rows; ++r) {
        const RowScale row = rmsScale(x + r * n, n, norm.epsilon);
        normOut(x + r * n, weight, norm.weightOffset, nullptr, row.mean, row.inverse, n, out + r * n);
    }
}

void rmsNormBackwardRows(const RmsNorm& norm, const float* dy, const float* x, const float* weight, std::int64_t rows,
                         std::int64_t n, float* dx)
{
    for (std::int64_t r = 0; r < rows; ++r)
        backwardRow(dy + r * n, x + r * n, weight, norm.weightOffset, rmsScale(x + r * n, n, norm.epsilon), false, n, dx + r * n);
}

void rmsNormWeightGradient(const RmsNorm& norm, const float* dy, const float* x, std::int64_t rows, std::int64_t n, float* dWeight)
{
    weightGradient(dy, x, rows, n, dWeight, [&](const float* row) { return rmsScale(row, n, norm.epsilon); });
}

void layerNormRows(const float* x, const float* weight, const float* bias, std::int64_t rows, std::int64_t n, double epsilon,
                   float* out)
{
    for (std::int64_t r = 0; r < rows; ++r) {
        const RowScale row = layerScale(x + r * n, n, epsilon);
        normOut(x + r * n, weight, 0, bias, row.mean, row.inverse, n, out + r * n);
    }
}

void layerNormBackwardRows(const float* dy, const float* x, const float* weight, std::int64_t rows, std::int64_t n, double epsilon,
                           float* dx)
{
    for (std::int64_t r = 0; r < rows; ++r)
        backwardRow(dy + r * n, x + r * n, weight, 0, layerScale(x + r * n, n, epsilon), true, n, dx + r * n);
}

void layerNormWeightGradient(const float* dy, const float* x, std::int64_t rows, std::int64_t n, double epsilon, float* dWeight,
                             float* dBias)
{
    if (dWeight != nullptr)
        weightGradient(dy, x, rows, n, dWeight, [&](const float* row) { return layerScale(row, n, epsilon); });
    if (dBias != nullptr)
        addColumnSums(dy, rows, n, dBias);
}

} // namespace shardboard::engine

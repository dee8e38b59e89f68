// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/crossentropy.h"

#include "engine/ops/kernels/lanes.h"
#include "engine/simd/simd.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardboard::engine {

namespace {

/// The target's column on this device, or -1.
std::int64_t localTarget(const VocabularyRange& range, float target)
{
    const std::int64_t column = static_cast<std::int64_t>(target) - range.first;
    return target >= 0 && column >= 0 && column < range.n ? column : -1;
}

} // namespace

void expSum(const float* x, float highest, std::int64_t n, float* lanes);
void scaledExp(const float* x, float highest, float factor, std::int64_t n, float* out);

/// As expRow, but x stays as it is.
SHARDBOARD_CLONES void expSum(const float* x, float highest, std::int64_t n, float* lanes)
{
    float sums[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (std::int64_t j = 0; j < kLanes; ++j)
            sums[j] += fastExp(x[i + j] - highest);
    for (std::int64_t j = 0; i + j < n; ++j)
        sums[j] += fastExp(x[i + j] - highest);
    std::copy(sums, sums + kLanes, lanes);
}

SHARDBOARD_CLONES void scaledExp(const float* x, float highest, float factor, std::int64_t n, float* out)
{
    for (std::int64_t i = 0; i < n; ++i)
        out[i] = fastExp(x[i] - highest) * factor;
}

void crossEntropyHighest(const VocabularyRange& range, const float* logits, float* highest)
{
    for (std::int64_t row = 0; row < range.rows; ++row)
        highest[row] = range.n > 0 ? highestOf(logits + row * range.n, range.n) : -std::numeric_limits<float>::infinity();
}

void crossEntropySum(const VocabularyRange& range, const float* logits, const float* highest, float* sum)
{
    constexpr std::int64_t piece = 8192; // columns that are summed in float
    float lanes[kLanes];
    for (std::int64_t row = 0; row < range.rows; ++row) {
        double total = 0;
        for (std::int64_t column = 0; column < range.n; column += piece) {
            expSum(logits + row * range.n + column, highest[row], std::min(piece, range.n - column), lanes);
            total += sumLanes(lanes);
        }
        sum[row] = static_cast<float>(total);
    }
}

void crossEntropyTargetLogit(const VocabularyRange& range, const float* logits, const float* targets, float* picked)
{
    for (std::int64_t row = 0; row < range.rows; ++row) {
        const std::int64_t column = localTarget(range, targets[row]);
        picked[row] = column < 0 ? 0.0f : logits[row * range.n + column];
    }
}

void crossEntropyLoss(std::int64_t rows, const float* highest, const float* sum, const float* picked, const float* targets,
                      float scale, float* loss)
{
    for (std::int64_t row = 0; row < rows; ++row) {
        const double value = std::log(double { sum[row] }) + (double { highest[row] } - double { picked[row] });
        loss[row] = targets != nullptr && targets[row] < 0 ? 0.0f : static_cast<float>(value * double { scale });
    }
}

void crossEntropyGradient(const VocabularyRange& range, const float* logits, const float* highest, const float* sum,
                          const float* targets, float scale, const float* dLoss, float* dLogits)
{
    for (std::int64_t row = 0; row < range.rows; ++row) {
        float* out = dLogits + row * range.n;
        if (targets[row] < 0) {
            std::fill(out, out + range.n, 0.0f);
            continue;
        }
        const float factor = scale * (dLoss != nullptr ? dLoss[row] : 1.0f);
        scaledExp(logits + row * range.n, highest[row], factor / sum[row], range.n, out);
        if (const std::int64_t column = localTarget(range, targets[row]); column >= 0)
            out[column] -= factor;
    }
}

} // namespace shardboard::engine

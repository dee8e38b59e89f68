// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/reduce.h"

#include "engine/ops/kernels/lanes.h"
#include "engine/ops/kernels/rows.h"
#include "engine/simd/simd.h"
#include "engine/simd/vectors.h"

#include <algorithm>

namespace shardboard::engine {

namespace {
constexpr std::int64_t kColumns = 1024;
} // namespace

SHARDBOARD_CLONES void sumOfRow(const float* x, std::int64_t n, float* lanes)
{
    float sums[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (std::int64_t j = 0; j < kLanes; ++j)
            sums[j] += x[i + j];
    for (std::int64_t j = 0; i + j < n; ++j)
        sums[j] += x[i + j];
    std::copy(sums, sums + kLanes, lanes);
}

void addColumnSums(const float* x, std::int64_t rows, std::int64_t n, float* sums)
{
    float part[kColumns];
    for (std::int64_t first = 0; first < rows; first += kSumRows) {
        const std::int64_t last = std::min(rows, first + kSumRows);
        for (std::int64_t column = 0; column < n; column += kColumns) {
            const std::int64_t count = std::min(kColumns, n - column);
            std::fill(part, part + count, 0.0f);
            for (std::int64_t r = first; r < last; ++r)
                addInto(x + r * n + column, count, part);
            addInto(part, count, sums + column);
        }
    }
}

void rowDots(const float* a, const float* b, std::int64_t rows, std::int64_t n, float* sums)
{
    float lanes[kLanes];
    for (std::int64_t r = 0; r < rows; ++r) {
        sumOfProducts(a + r * n, b + r * n, n, lanes);
        sums[r] = static_cast<float>(sumLanes(lanes));
    }
}

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Sums over rows (the gradient of what was repeated over them, as a bias) and along them.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// sums[i] += sum over the rows of x[row][i].
void addColumnSums(const float* x, std::int64_t rows, std::int64_t n, float* sums);
/// sums[row] = sum of a[row][i] * b[row][i].
void rowDots(const float* a, const float* b, std::int64_t rows, std::int64_t n, float* sums);

/// Sums of x in the lanes of engine/ops/kernels/lanes.h.
void sumOfRow(const float* x, std::int64_t n, float* lanes);

} // namespace shardboard::engine

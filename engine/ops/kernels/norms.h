// SPDX-License-Identifier: Apache-2.0
// Gradients of norms' weights, which are sums over rows; the norms themselves are in engine/ops/bodies/rows.h.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// dWeight[i] += sum over the rows of dy[i] * (x[i] - mean) / sqrt(variance + epsilon), on contiguous rows of n elements; the mean
/// is that of the row with `centred` (LayerNorm), else 0 (RMSNorm).
void normWeightGradient(bool centred, double epsilon, const float* dy, const float* x, std::int64_t rows, std::int64_t n,
                        float* dWeight);

} // namespace shardboard::engine

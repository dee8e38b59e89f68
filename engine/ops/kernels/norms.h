// SPDX-License-Identifier: Apache-2.0
// RMSNorm and LayerNorm with their gradients, on contiguous rows of n elements. `weight` and `bias` may be null (ones and
// zeros). Gradients of activations are written, gradients of weights are added to what is there.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// How RMSNorm takes its weight: out = x / sqrt(mean(x^2) + epsilon) * (weight + weightOffset). Gemma's offset is 1.
struct RmsNorm {
    double epsilon = 0;
    float weightOffset = 0;
};

void rmsNormRows(const RmsNorm& norm, const float* x, const float* weight, std::int64_t rows, std::int64_t n, float* out);
/// dx of the above. `dx` may be the same as `dy`.
void rmsNormBackwardRows(const RmsNorm& norm, const float* dy, const float* x, const float* weight, std::int64_t rows,
                         std::int64_t n, float* dx);
/// dWeight[i] += sum over the rows of dy[i] * x[i] / sqrt(mean(x^2) + epsilon).
void rmsNormWeightGradient(const RmsNorm& norm, const float* dy, const float* x, std::int64_t rows, std::int64_t n, float* dWeight);

/// out = (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias.
void layerNormRows(const float* x, const float* weight, const float* bias, std::int64_t rows, std::int64_t n, double epsilon,
                   float* out);
/// dx of the above. `dx` may be the same as `dy`.
void layerNormBackwardRows(const float* dy, const float* x, const float* weight, std::int64_t rows, std::int64_t n, double epsilon,
                           float* dx);
/// dWeight and dBias grow by their sums over the rows; either may be null.
void layerNormWeightGradient(const float* dy, const float* x, std::int64_t rows, std::int64_t n, double epsilon, float* dWeight,
                             float* dBias);

} // namespace shardboard::engine

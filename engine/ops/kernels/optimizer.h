// SPDX-License-Identifier: Apache-2.0
// Optimizer steps on any part of a weight: every element is its own. The norm that gradients are clipped by is
// sqrt(squareSum) of reduce.h over all of them; its factor goes into `gradientScale`.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// Adam with bias correction and decoupled weight decay (AdamW).
struct AdamSettings {
    double rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weightDecay = 0;
};

/// The `step`-th step (from 1) with the gradient gradientScale * g: m and v, of which the first step starts at 0, and
/// w -= rate * (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) + weightDecay * w).
void adamStep(const AdamSettings& settings, std::int64_t step, float gradientScale, const float* g, std::int64_t n, float* m,
              float* v, float* w);

struct SgdSettings {
    double rate = 1e-2;
    double momentum = 0;
    double weightDecay = 0; ///< decoupled
};

/// momentum = settings.momentum * momentum + gradientScale * g; w -= rate * (momentum + weightDecay * w). `momentum` may be
/// null where the setting is 0; it starts at 0.
void sgdStep(const SgdSettings& settings, float gradientScale, const float* g, std::int64_t n, float* momentum, float* w);

} // namespace shardboard::engine

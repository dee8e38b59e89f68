// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/optimizer.h"

#include "engine/simd/simd.h"

#include <cmath>

namespace shardboard::engine {

/// What is the same for all elements of a step.
struct AdamFactors {
    float gradient, keepM, newM, keepV, newV, correctV, epsilon, rate, keepW;
};

void adamRow(const AdamFactors& factors, const float* g, std::int64_t n, float* m, float* v, float* w);
void sgdRow(float gradientScale, float keep, float rate, float keepW, const float* g, std::int64_t n, float* momentum, float* w);

SHARDBOARD_CLONES void adamRow(const AdamFactors& factors, const float* g, std::int64_t n, float* m, float* v, float* w)
{
    const AdamFactors f = factors; // m, v and w are no part of it
    for (std::int64_t i = 0; i < n; ++i) {
        const float gradient = g[i] * f.gradient;
        m[i] = f.keepM * m[i] + f.newM * gradient;
        v[i] = f.keepV * v[i] + f.newV * gradient * gradient;
        w[i] = f.keepW * w[i] - f.rate * m[i] / (std::sqrt(v[i]) * f.correctV + f.epsilon);
    }
}

SHARDBOARD_CLONES void sgdRow(float gradientScale, float keep, float rate, float keepW, const float* g, std::int64_t n,
                              float* momentum, float* w)
{
    if (momentum == nullptr) {
        for (std::int64_t i = 0; i < n; ++i)
            w[i] = keepW * w[i] - rate * (gradientScale * g[i]);
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
        momentum[i] = keep * momentum[i] + gradientScale * g[i];
        w[i] = keepW * w[i] - rate * momentum[i];
    }
}

void adamStep(const AdamSettings& settings, std::int64_t step, float gradientScale, const float* g, std::int64_t n, float* m,
              float* v, float* w)
{
    const auto count = static_cast<double>(step);
    const double correctM = 1 / (1 - std::pow(settings.beta1, count));
    const double correctV = 1 / std::sqrt(1 - std::pow(settings.beta2, count));
    AdamFactors factors {};
    factors.gradient = gradientScale;
    factors.keepM = static_cast<float>(settings.beta1);
    factors.newM = static_cast<float>(1 - settings.beta1);
    factors.keepV = static_cast<float>(settings.beta2);
    factors.newV = static_cast<float>(1 - settings.beta2);
    factors.correctV = static_cast<float>(correctV);
    factors.epsilon = static_cast<float>(settings.epsilon);
    factors.rate = static_cast<float>(settings.rate * correctM);
    factors.keepW = static_cast<float>(1 - settings.rate * settings.weightDecay);
    adamRow(factors, g, n, m, v, w);
}

void sgdStep(const SgdSettings& settings, float gradientScale, const float* g, std::int64_t n, float* momentum, float* w)
{
    sgdRow(gradientScale, static_cast<float>(settings.momentum), static_cast<float>(settings.rate),
           static_cast<float>(1 - settings.rate * settings.weightDecay), g, n, momentum, w);
}

} // namespace shardboard::engine

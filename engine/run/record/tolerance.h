// SPDX-License-Identifier: Apache-2.0
// Relative errors up to these pass.
#pragma once

#include "model/ops/graph.h"

namespace shardboard::engine {

inline constexpr double kToleranceF32 = 1e-5;
/// Of a few layers, attention's probabilities rounded, too, as tensor cores take them.
inline constexpr double kToleranceRounded = 3e-2;
/// Gradients are differences (probability times the distance from a mean, a norm's part along x), so that the errors of what
/// they are made of count for more.
inline constexpr double kToleranceGradient = 1e-4;
inline constexpr double kToleranceRoundedGradient = 1e-1;

constexpr double toleranceOf(Phase phase, bool rounded)
{
    if (phase == Phase::Forward)
        return rounded ? kToleranceRounded : kToleranceF32;
    return rounded ? kToleranceRoundedGradient : kToleranceGradient;
}

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/rotary.h"

#include "engine/ops/kernels/rows.h"
#include "engine/simd/simd.h"

#include <algorithm>

namespace shardboard::engine {

void ropeInverseRow(const float* x, const float* cosines, const float* sines, std::int64_t d, float* out);

SHARDBOARD_CLONES void ropeInverseRow(const float* x, const float* cosines, const float* sines, std::int64_t d, float* out)
{
    const std::int64_t half = d / 2;
    for (std::int64_t i = 0; i < half; ++i) {
        const float first = x[i];
        const float second = x[i + half];
        out[i] = first * cosines[i] + second * sines[i];
        out[i + half] = second * cosines[i] - first * sines[i];
    }
}

void ropePartRow(const RotaryPart& part, const float* x, const float* cosines, const float* sines, float* out)
{
    const std::int64_t end = part.first + part.count;
    std::copy(x, x + part.first, out);
    ropeRow(x + part.first, cosines, sines, part.count, out + part.first);
    std::copy(x + end, x + part.d, out + end);
}

void ropePartBackwardRow(const RotaryPart& part, const float* dy, const float* cosines, const float* sines, float* dx)
{
    const std::int64_t end = part.first + part.count;
    std::copy(dy, dy + part.first, dx);
    ropeInverseRow(dy + part.first, cosines, sines, part.count, dx + part.first);
    std::copy(dy + end, dy + part.d, dx + end);
}

} // namespace shardboard::engine

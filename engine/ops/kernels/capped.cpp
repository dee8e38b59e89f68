// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/capped.h"

#include "engine/ops/kernels/lanes.h"
#include "engine/simd/simd.h"

namespace shardboard::engine {

SHARDBOARD_CLONES void softCapRow(const float* x, float cap, std::int64_t n, float* out)
{
    for (std::int64_t i = 0; i < n; ++i)
        out[i] = cap * fastTanh(x[i] / cap);
}

SHARDBOARD_CLONES void capSlopeRow(const float* y, float cap, std::int64_t n, float* slopes)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const float t = y[i] / cap;
        slopes[i] = 1.0f - t * t;
    }
}

} // namespace shardboard::engine

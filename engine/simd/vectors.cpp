// SPDX-License-Identifier: Apache-2.0
#include "engine/simd/vectors.h"

#include "engine/simd/simd.h"

namespace shardboard::engine {

SHARDBOARD_CLONES void addInto(const float* x, std::int64_t n, float* sum)
{
    for (std::int64_t i = 0; i < n; ++i)
        sum[i] += x[i];
}

SHARDBOARD_CLONES void maxInto(const float* x, std::int64_t n, float* highest)
{
    for (std::int64_t i = 0; i < n; ++i)
        highest[i] = x[i] > highest[i] ? x[i] : highest[i];
}

SHARDBOARD_CLONES void scaleRow(const float* x, float factor, std::int64_t n, float* out)
{
    for (std::int64_t i = 0; i < n; ++i)
        out[i] = x[i] * factor;
}

} // namespace shardboard::engine

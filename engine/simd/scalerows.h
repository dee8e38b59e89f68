// SPDX-License-Identifier: Apache-2.0
// What is left of a matrix product when nothing is summed.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// C = beta C for m rows of n elements; C is not read when beta is 0.
inline void scaleRows(std::int64_t m, std::int64_t n, float beta, float* c, std::int64_t ldc)
{
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
}

} // namespace shardboard::engine

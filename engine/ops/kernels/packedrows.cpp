// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/packedrows.h"

#include <algorithm>

namespace shardboard::engine {

std::vector<std::int64_t> nonZeroRows(const float* x, std::int64_t rows, std::int64_t n)
{
    std::vector<std::int64_t> indices;
    for (std::int64_t r = 0; r < rows; ++r)
        if (std::any_of(x + r * n, x + (r + 1) * n, [](float value) { return value != 0; }))
            indices.push_back(r);
    return indices;
}

void packRows(const float* x, const std::vector<std::int64_t>& indices, std::int64_t n, float* packed)
{
    for (const std::int64_t row : indices)
        packed = std::copy(x + row * n, x + (row + 1) * n, packed);
}

} // namespace shardboard::engine

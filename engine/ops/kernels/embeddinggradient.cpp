// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/embeddinggradient.h"

#include "engine/simd/vectors.h"

namespace shardboard::engine {

void embeddingGradient(const float* tokens, const float* dy, std::int64_t rows, std::int64_t n, std::int64_t first,
                       std::int64_t last, float* dTable)
{
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto token = static_cast<std::int64_t>(tokens[row]);
        if (token >= first && token < last)
            addInto(dy + row * n, n, dTable + (token - first) * n);
    }
}

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// The gradient of a table of embeddings.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// dTable[token - first] += dy[row] for the rows whose token is in [first, last), in the order of the rows. `tokens` are
/// whole numbers; dy has `rows` rows of n elements, dTable last - first.
void embeddingGradient(const float* tokens, const float* dy, std::int64_t rows, std::int64_t n, std::int64_t first,
                       std::int64_t last, float* dTable);

} // namespace shardboard::engine

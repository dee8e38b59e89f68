// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts in the dense form have rows of zeros for the tokens that an expert does not get: they are not multiplied.
#pragma once

#include <cstdint>
#include <vector>

namespace shardboard::engine {

/// The rows of x [rows, n] that have an element other than 0, ascending.
std::vector<std::int64_t> nonZeroRows(const float* x, std::int64_t rows, std::int64_t n);
/// packed[i] = x[indices[i]], so that an expert multiplies only the tokens it got.
void packRows(const float* x, const std::vector<std::int64_t>& indices, std::int64_t n, float* packed);

} // namespace shardboard::engine

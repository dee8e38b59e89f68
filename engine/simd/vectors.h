// SPDX-License-Identifier: Apache-2.0
// The loops over contiguous float32 values that the memory of devices and the operations share.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// sum += x, element by element.
void addInto(const float* x, std::int64_t n, float* sum);
/// highest = max(highest, x), element by element.
void maxInto(const float* x, std::int64_t n, float* highest);
/// out = factor * x, in place allowed.
void scaleRow(const float* x, float factor, std::int64_t n, float* out);

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Rounding of float32 values to what a narrower type can hold (to nearest, ties to even).
#pragma once

#include "model/core/tensor.h"

#include <cstdint>
#include <optional>

namespace shardboard::engine {

enum class Rounding { None, BF16, F16 };

/// The rounding that gives a type's values; nothing for types that the engine cannot imitate.
std::optional<Rounding> roundingOf(DType type);

/// Rounds values in place.
void roundValues(Rounding rounding, std::int64_t count, float* values);

} // namespace shardboard::engine

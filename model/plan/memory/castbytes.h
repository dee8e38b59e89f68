// SPDX-License-Identifier: Apache-2.0
// What values take that are cast to 8 or 4 bits.
#pragma once

#include "model/ops/fp8recipe.h"

#include <cmath>
#include <cstdint>

namespace shardboard {

/// One copy of so many elements, with its scales, rounded up.
inline std::int64_t castBytes(Fp8Recipe recipe, std::int64_t elements)
{
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(elements) * factsOf(recipe).bytes - 1e-9));
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Sizes are std::int64_t; products of sizes that come from users or files are checked, never wrapped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace shardboard {

/// a * b for non-negative sizes, or nothing when it does not fit in 63 bits.
inline std::optional<std::int64_t> checkedMultiply(std::int64_t a, std::int64_t b)
{
    std::int64_t out = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &out))
        return std::nullopt;
    return out;
}

/// a + b for non-negative sizes, or nothing when it does not fit in 63 bits.
inline std::optional<std::int64_t> checkedAdd(std::int64_t a, std::int64_t b)
{
    std::int64_t out = 0;
    if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &out))
        return std::nullopt;
    return out;
}

/// Product of all sizes (1 for none), or nothing when it does not fit or one is negative.
inline std::optional<std::int64_t> checkedProduct(std::span<const std::int64_t> sizes)
{
    std::int64_t product = 1;
    bool zero = false;
    for (const std::int64_t size : sizes) {
        if (size < 0)
            return std::nullopt;
        zero = zero || size == 0;
    }
    if (zero)
        return 0;
    for (const std::int64_t size : sizes) {
        const auto next = checkedMultiply(product, size);
        if (!next)
            return std::nullopt;
        product = *next;
    }
    return product;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// The hash behind made-up data, for every processor that makes some: the same bits everywhere.
#pragma once

#include "engine/simd/portable.h"

#include <cstdint>

namespace shardboard::engine {

/// The finalizer of splitmix64: every bit of the result depends on every bit of the argument.
SHARDBOARD_BOTH std::uint64_t mix64(std::uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Two keyed rounds. Two keys, because with one the sequences of two tensors would be permutations of each other.
SHARDBOARD_BOTH std::uint32_t hash32(std::uint32_t index, std::uint32_t first, std::uint32_t second)
{
    std::uint32_t x = index + first;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x += second;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    x *= 0x9e3779b1u;
    x ^= x >> 15;
    return x;
}

/// What the values of a tensor follow from.
struct ValueRule {
    std::uint64_t key = 0;
    float mean = 0;
    float scale = 0; ///< of a 32-bit signed number
    std::uint32_t vocabulary = 0; ///< 0: values; else whole numbers below it

    /// The keys for elements whose index has these upper 32 bits.
    SHARDBOARD_BOTH std::uint64_t keysFor(std::uint64_t upper) const { return mix64(key + upper); }
    SHARDBOARD_BOTH float valueOf(std::uint32_t lower, std::uint64_t keys) const
    {
        const std::uint32_t bits = hash32(lower, static_cast<std::uint32_t>(keys), static_cast<std::uint32_t>(keys >> 32));
        if (vocabulary != 0)
            return static_cast<float>((std::uint64_t { bits } * vocabulary) >> 32);
        return addRounded(mean, multiplyRounded(scale, static_cast<float>(static_cast<std::int32_t>(bits))));
    }
    /// Of the element with this index in the whole tensor.
    SHARDBOARD_BOTH float at(std::int64_t index) const
    {
        const auto bits = static_cast<std::uint64_t>(index);
        return valueOf(static_cast<std::uint32_t>(bits), keysFor(bits >> 32));
    }
};

} // namespace shardboard::engine

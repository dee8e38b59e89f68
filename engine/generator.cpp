// SPDX-License-Identifier: Apache-2.0
#include "engine/generator.h"

#include "engine/simd.h"

#include <algorithm>
#include <cmath>

namespace shardboard::engine {

namespace {

/// The finalizer of splitmix64: every bit of the result depends on every bit of the argument.
std::uint64_t mix64(std::uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

std::uint64_t keyOf(std::uint64_t seed, std::string_view name)
{
    std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return mix64(hash ^ mix64(seed));
}

/// Two keyed rounds. Two keys, because with one the sequences of two tensors would be permutations of each other.
inline std::uint32_t hash32(std::uint32_t index, std::uint32_t first, std::uint32_t second)
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

} // namespace

SHARDBOARD_CLONES void fillValues(std::uint32_t start, std::int64_t count, std::uint32_t first, std::uint32_t second,
                                  float mean, float scale, float* out);
SHARDBOARD_CLONES void fillTokens(std::uint32_t start, std::int64_t count, std::uint32_t first, std::uint32_t second,
                                  std::uint32_t vocabulary, float* out);

SHARDBOARD_CLONES void fillValues(std::uint32_t start, std::int64_t count, std::uint32_t first, std::uint32_t second,
                                  float mean, float scale, float* out)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint32_t bits = hash32(start + static_cast<std::uint32_t>(i), first, second);
        out[i] = mean + scale * static_cast<float>(static_cast<std::int32_t>(bits));
    }
}

SHARDBOARD_CLONES void fillTokens(std::uint32_t start, std::int64_t count, std::uint32_t first, std::uint32_t second,
                                  std::uint32_t vocabulary, float* out)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = hash32(start + static_cast<std::uint32_t>(i), first, second);
        out[i] = static_cast<float>((bits * vocabulary) >> 32);
    }
}

Generator Generator::values(std::uint64_t seed, std::string_view name, double mean, double deviation)
{
    Generator out;
    out.m_key = keyOf(seed, name);
    out.m_mean = static_cast<float>(mean);
    out.m_scale = static_cast<float>(deviation * std::sqrt(3.0) / 2147483648.0);
    return out;
}

Generator Generator::tokens(std::uint64_t seed, std::string_view name, std::int64_t vocabulary)
{
    Generator out;
    out.m_key = keyOf(seed, name);
    out.m_vocabulary = static_cast<std::uint32_t>(std::clamp<std::int64_t>(vocabulary, 1, std::int64_t { 1 } << 24));
    return out;
}

void Generator::fill(std::int64_t start, std::int64_t count, float* out) const
{
    while (count > 0) {
        // The hash takes 32 bits of the index; the upper ones choose the keys.
        const auto low = static_cast<std::uint32_t>(start & 0xffffffff);
        const std::uint64_t keys = mix64(m_key + static_cast<std::uint64_t>(start >> 32));
        const std::int64_t run = std::min(count, (std::int64_t { 1 } << 32) - std::int64_t { low });
        const auto first = static_cast<std::uint32_t>(keys);
        const auto second = static_cast<std::uint32_t>(keys >> 32);
        if (m_vocabulary != 0)
            fillTokens(low, run, first, second, m_vocabulary, out);
        else
            fillValues(low, run, first, second, m_mean, m_scale, out);
        start += run;
        count -= run;
        out += run;
    }
}

} // namespace shardboard::engine

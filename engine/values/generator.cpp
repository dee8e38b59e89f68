// SPDX-License-Identifier: Apache-2.0
#include "engine/values/generator.h"

#include "engine/simd/simd.h"
#include "engine/values/generatorhash.h"

#include <algorithm>
#include <cmath>

namespace shardboard::engine {

namespace {

std::uint64_t keyOf(std::uint64_t seed, std::string_view name)
{
    std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return mix64(hash ^ mix64(seed));
}

} // namespace

// The rule by value: no store can change it.
SHARDBOARD_CLONES void fillValues(ValueRule rule, std::uint32_t start, std::int64_t count, std::uint64_t keys, float* out);
SHARDBOARD_CLONES void fillTokens(ValueRule rule, std::uint32_t start, std::int64_t count, std::uint64_t keys, float* out);

SHARDBOARD_CLONES void fillValues(ValueRule rule, std::uint32_t start, std::int64_t count, std::uint64_t keys, float* out)
{
    const auto first = static_cast<std::uint32_t>(keys);
    const auto second = static_cast<std::uint32_t>(keys >> 32);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint32_t bits = hash32(start + static_cast<std::uint32_t>(i), first, second);
        out[i] = rule.mean + rule.scale * static_cast<float>(static_cast<std::int32_t>(bits));
    }
}

SHARDBOARD_CLONES void fillTokens(ValueRule rule, std::uint32_t start, std::int64_t count, std::uint64_t keys, float* out)
{
    const auto first = static_cast<std::uint32_t>(keys);
    const auto second = static_cast<std::uint32_t>(keys >> 32);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = hash32(start + static_cast<std::uint32_t>(i), first, second);
        out[i] = static_cast<float>((bits * rule.vocabulary) >> 32);
    }
}

Generator Generator::values(std::uint64_t seed, std::string_view name, double mean, double deviation)
{
    Generator out;
    out.m_rule.key = keyOf(seed, name);
    out.m_rule.mean = static_cast<float>(mean);
    out.m_rule.scale = static_cast<float>(deviation * std::sqrt(3.0) / 2147483648.0);
    return out;
}

Generator Generator::tokens(std::uint64_t seed, std::string_view name, std::int64_t vocabulary)
{
    Generator out;
    out.m_rule.key = keyOf(seed, name);
    out.m_rule.vocabulary = static_cast<std::uint32_t>(std::clamp<std::int64_t>(vocabulary, 1, std::int64_t { 1 } << 24));
    return out;
}

void Generator::fill(std::int64_t start, std::int64_t count, float* out) const
{
    while (count > 0) {
        // The hash takes 32 bits of the index; the upper ones choose the keys.
        const auto low = static_cast<std::uint32_t>(start & 0xffffffff);
        const std::uint64_t keys = m_rule.keysFor(static_cast<std::uint64_t>(start) >> 32);
        const std::int64_t run = std::min(count, (std::int64_t { 1 } << 32) - std::int64_t { low });
        if (m_rule.vocabulary != 0)
            fillTokens(m_rule, low, run, keys, out);
        else
            fillValues(m_rule, low, run, keys, out);
        start += run;
        count -= run;
        out += run;
    }
}

} // namespace shardboard::engine

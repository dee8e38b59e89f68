// SPDX-License-Identifier: Apache-2.0
#include "engine/values/rounding.h"

#include "engine/simd/simd.h"

#include <bit>
#include <cmath>
#include <limits>

namespace shardboard::engine {

SHARDBOARD_CLONES void roundToBf16(std::int64_t count, float* values);
SHARDBOARD_CLONES void roundToF16(std::int64_t count, float* values);

SHARDBOARD_CLONES void roundToBf16(std::int64_t count, float* values)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(values[i]);
        const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
        const bool notNumber = (bits & 0x7fffffffu) > 0x7f800000u;
        values[i] = std::bit_cast<float>(notNumber ? bits : rounded);
    }
}

SHARDBOARD_CLONES void roundToF16(std::int64_t count, float* values)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = values[i];
        const float size = std::fabs(value);
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const float normal = std::bit_cast<float>((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
        const float tiny = std::copysign((size + 0.75f) - 0.75f, value); // 0.75: the last bit is 2^-24, the spacing there
        float out = size < 6.103515625e-5f ? tiny : normal;
        out = size >= 65520.0f ? std::copysign(std::numeric_limits<float>::infinity(), value) : out;
        values[i] = value != value ? value : out;
    }
}

std::optional<Rounding> roundingOf(DType type)
{
    switch (type) {
    case DType::BF16:
        return Rounding::BF16;
    case DType::F16:
        return Rounding::F16;
    case DType::F32:
    case DType::I32:
    case DType::I64:
    case DType::U32:
        return Rounding::None;
    default:
        return std::nullopt;
    }
}

void roundValues(Rounding rounding, std::int64_t count, float* values)
{
    if (rounding == Rounding::BF16)
        roundToBf16(count, values);
    else if (rounding == Rounding::F16)
        roundToF16(count, values);
}

} // namespace shardboard::engine

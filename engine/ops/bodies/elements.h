// SPDX-License-Identifier: Apache-2.0
// Values in device memory, float32 or bfloat16, as kernels see them: always as floats, eight at a time where they are aligned.
#pragma once

#include "engine/simd/portable.h"

#include <cstdint>
#include <cstring>
#include <math.h>

namespace shardboard::engine::bodies {

constexpr int kPack = 8; ///< values that a lane reads and writes at once
constexpr int kAll = 256; ///< lanes of a block
constexpr int kWarp = 32;

template <int W>
using Floats = float[static_cast<unsigned>(W)];

/// 16 bytes that are read and written at once.
struct alignas(16) Vector16 {
    std::uint32_t x, y, z, w;
};

SHARDBOARD_BOTH float floatOfBits(std::uint32_t bits)
{
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
#endif
}
SHARDBOARD_BOTH std::uint32_t bitsOfFloat(float value)
{
#ifdef __CUDA_ARCH__
    return __float_as_uint(value);
#else
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
#endif
}

/// The upper half of a float, to nearest, ties to even; what is not a number stays none.
SHARDBOARD_BOTH std::uint32_t bf16Bits(float value)
{
    const std::uint32_t bits = bitsOfFloat(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (bits >> 16) | 0x40u;
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
SHARDBOARD_BOTH float floatOfBf16(std::uint32_t bits) { return floatOfBits(bits << 16); }

/// As values of a narrower type. `how` is a Rounding of engine/values/rounding.h as a number.
SHARDBOARD_BOTH float rounded(int how, float value)
{
    if (how == 1)
        return floatOfBf16(bf16Bits(value));
    if (how != 2)
        return value;
    const std::uint32_t bits = bitsOfFloat(value);
    const std::uint32_t sign = bits & 0x80000000u;
    const float size = floatOfBits(bits & 0x7fffffffu);
    if (value != value)
        return value;
    if (size >= 65520.0f)
        return floatOfBits(sign | 0x7f800000u);
    if (size < 6.103515625e-5f)
        return floatOfBits(sign | bitsOfFloat(addRounded(addRounded(size, 0.75f), -0.75f)));
    return floatOfBits((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
}

SHARDBOARD_BOTH Vector16 readVector(const void* from) { return *static_cast<const Vector16*>(from); }
SHARDBOARD_BOTH void writeVector(void* to, const Vector16& v) { *static_cast<Vector16*>(to) = v; }

/// Read once and not again soon: kept out of the first cache.
SHARDBOARD_BOTH Vector16 readVectorPast(const void* from)
{
#ifdef __CUDA_ARCH__
    Vector16 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
#else
    return readVector(from);
#endif
}
SHARDBOARD_BOTH void writeVectorPast(void* to, const Vector16& v)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
#else
    writeVector(to, v);
#endif
}

/// A row-major buffer. Offsets of packs are multiples of kPack, and so is what `data` points at.
struct Elements {
    void* data = nullptr;
    std::int32_t half = 0; ///< 1: bfloat16
    std::int32_t none = 0; ///< tables are compared byte by byte and have no holes

    SHARDBOARD_BOTH void* address(std::int64_t i) const { return static_cast<char*>(data) + i * (half != 0 ? 2 : 4); }
    /// Whether packs can begin here.
    SHARDBOARD_BOTH bool aligned() const { return (reinterpret_cast<std::uintptr_t>(data) & 15u) == 0; }
    SHARDBOARD_BOTH Elements from(std::int64_t i) const
    {
        Elements out;
        out.data = address(i);
        out.half = half;
        return out;
    }

    SHARDBOARD_BOTH float at(std::int64_t i) const
    {
        return half != 0 ? floatOfBf16(static_cast<const std::uint16_t*>(data)[i]) : static_cast<const float*>(data)[i];
    }
    SHARDBOARD_BOTH void set(std::int64_t i, float value) const
    {
        if (half != 0)
            static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(bf16Bits(value));
        else
            static_cast<float*>(data)[i] = value;
    }

    /// W values from i on: W is kPack for a pack, or 1. `Past` is for what is not needed again.
    template <int W, bool Past = false>
    SHARDBOARD_BOTH void load(std::int64_t i, float* out) const
    {
        if (W == 1) {
            out[0] = at(i);
            return;
        }
        const Vector16 first = Past ? readVectorPast(address(i)) : readVector(address(i));
        if (half != 0) {
            const std::uint32_t words[4] = { first.x, first.y, first.z, first.w };
            for (int j = 0; j < 4; ++j) {
                out[(2 * j) % W] = floatOfBits(words[j] << 16);
                out[(2 * j + 1) % W] = floatOfBits(words[j] & 0xffff0000u);
            }
            return;
        }
        const Vector16 second = Past ? readVectorPast(address(i + 4)) : readVector(address(i + 4));
        const std::uint32_t words[kPack] = { first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w };
        for (int j = 0; j < kPack; ++j)
            out[j % W] = floatOfBits(words[j]);
    }
    template <int W, bool Past = false>
    SHARDBOARD_BOTH void store(std::int64_t i, const float* values) const
    {
        if (W == 1) {
            set(i, values[0]);
            return;
        }
        if (half != 0) {
            std::uint32_t words[4];
            for (int j = 0; j < 4; ++j)
                words[j] = bf16Bits(values[(2 * j) % W]) | bf16Bits(values[(2 * j + 1) % W]) << 16;
            const Vector16 v { words[0], words[1], words[2], words[3] };
            Past ? writeVectorPast(address(i), v) : writeVector(address(i), v);
            return;
        }
        const Vector16 first { bitsOfFloat(values[0]), bitsOfFloat(values[1 % W]), bitsOfFloat(values[2 % W]),
                               bitsOfFloat(values[3 % W]) };
        const Vector16 second { bitsOfFloat(values[4 % W]), bitsOfFloat(values[5 % W]), bitsOfFloat(values[6 % W]),
                                bitsOfFloat(values[7 % W]) };
        if (Past) {
            writeVectorPast(address(i), first);
            writeVectorPast(address(i + 4), second);
        } else {
            writeVector(address(i), first);
            writeVector(address(i + 4), second);
        }
    }
};

/// a / b and what remains, in 32 bits where that suffices: 64-bit division is slow on a GPU.
struct Divided {
    std::int64_t quotient;
    std::int64_t rest;
};
SHARDBOARD_BOTH Divided divided(std::int64_t a, std::int64_t b)
{
    if (((static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b)) >> 32) == 0) {
        const auto x = static_cast<std::uint32_t>(a);
        const auto y = static_cast<std::uint32_t>(b);
        const std::uint32_t q = x / y;
        return { static_cast<std::int64_t>(q), static_cast<std::int64_t>(x - q * y) };
    }
    return { a / b, a % b };
}

SHARDBOARD_BOTH std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
SHARDBOARD_BOTH std::int64_t larger(std::int64_t a, std::int64_t b) { return a < b ? b : a; }
SHARDBOARD_BOTH float largerOf(float a, float b) { return a < b ? b : a; }
SHARDBOARD_BOTH float smallerOf(float a, float b) { return b < a ? b : a; }

SHARDBOARD_BOTH float exponential(float x) { return expf(x); }
SHARDBOARD_BOTH double exponential(double x) { return exp(x); }

/// The functions of formulas to the last bits.
struct ExactMath {
    static SHARDBOARD_BOTH float exp(float x) { return expf(x); }
    static SHARDBOARD_BOTH float tanh(float x) { return tanhf(x); }
    /// The share of the standard normal distribution below x, for who has e^(-x^2/2) at hand.
    static SHARDBOARD_BOTH float normalBelow(float x, float) { return 0.5f * erfcf(-0.70710678118654752f * x); }
};

constexpr int kMostDims = 8; ///< as many as a tensor of a program may have (engine/run/schedule/checkprogram.cpp)

/// Where the elements of a box lie in a buffer of other strides; dims that are contiguous in both are one.
struct BoxMap {
    std::int64_t dims = 0;
    std::int64_t size[kMostDims] = {};
    std::int64_t stride[kMostDims] = {};
    std::int64_t base = 0;

    SHARDBOARD_BOTH std::int64_t at(std::int64_t local) const
    {
        std::int64_t offset = base;
        for (std::int64_t d = dims - 1; d > 0; --d) {
            const Divided part = divided(local, size[d]);
            offset += part.rest * stride[d];
            local = part.quotient;
        }
        return offset + local * stride[0];
    }
};

/// How many values a lane works on at once: kPack or 1.
template <int W>
struct Width {
    static constexpr int value = W;
};

/// Calls visit(i, Width) for packs of [0, n) or for its elements one by one, spread over the lanes.
template <class Lanes, class Visit>
SHARDBOARD_BOTH void forEachOf(const Lanes& lanes, std::int64_t n, bool packed, Visit visit)
{
    if (packed) {
        for (std::int64_t i = std::int64_t { lanes.lane() } * kPack; i < n; i += std::int64_t { lanes.count() } * kPack)
            visit(i, Width<kPack>());
        return;
    }
    for (std::int64_t i = lanes.lane(); i < n; i += lanes.count())
        visit(i, Width<1>());
}

/// to[i] = from[i] for all i in [0, n), which lie apart.
template <class Lanes>
SHARDBOARD_BOTH void copyRow(const Lanes& lanes, const Elements& from, std::int64_t n, const Elements& to)
{
    forEachOf(lanes, n, false, [=](std::int64_t i, auto) { to.set(i, from.at(i)); });
}

/// Adds up, for each lane, what `addends(i, Width, values)` gives for packs of [0, n) or for its elements one by one: Count sums,
/// whose addends of element i + j are values[…][j]. `Piece`: elements that the vector loops of the CPU sum in float.
template <int Count, std::int64_t Piece = 0, class Lanes, class Addends>
SHARDBOARD_BOTH void addUp(const Lanes& lanes, std::int64_t n, bool packed, typename Lanes::Sum* sums, Addends addends)
{
    forEachOf(lanes, n, packed, [&](std::int64_t i, auto w) {
        constexpr int W = decltype(w)::value;
        Floats<W> values[static_cast<unsigned>(Count)];
        addends(i, w, values);
        for (int c = 0; c < Count; ++c)
            for (int j = 0; j < W; ++j)
                sums[c] += values[c][j];
    });
}

/// The highest of value(0 … n - 1), for all lanes.
template <class Lanes, class Value>
SHARDBOARD_BOTH float highestOf(const Lanes& lanes, std::int64_t n, Value value)
{
    float highest = -INFINITY;
    for (std::int64_t i = lanes.lane(); i < n; i += lanes.count())
        highest = largerOf(highest, value(i));
    return lanes.highest(highest);
}

/// A value and whose it is.
template <class T>
struct Ranked {
    T value;
    std::int32_t index;
};
using Best = Ranked<float>;
/// In falling order; of equal values the lower index comes first.
template <class T>
SHARDBOARD_BOTH bool before(const Ranked<T>& a, const Ranked<T>& b)
{
    return a.value > b.value || (a.value == b.value && a.index < b.index);
}
template <class T>
SHARDBOARD_BOTH Ranked<T> betterOf(const Ranked<T>& a, const Ranked<T>& b)
{
    return before(b, a) ? b : a;
}

/// The last of the `count` best of value(0 … n - 1), for all lanes. No value is NaN.
template <class Lanes, class Value>
SHARDBOARD_BOTH Ranked<typename Lanes::Score> lastOfBest(const Lanes& lanes, std::int32_t n, std::int32_t count, Value value)
{
    using Score = typename Lanes::Score;
    Ranked<Score> last { static_cast<Score>(INFINITY), -1 };
    for (std::int32_t i = 0; i < count; ++i) {
        Ranked<Score> next { static_cast<Score>(-INFINITY), n };
        for (std::int32_t x = lanes.lane(); x < n; x += lanes.count()) {
            const Ranked<Score> candidate { value(x), x };
            if (before(last, candidate))
                next = betterOf(next, candidate);
        }
        last = lanes.best(next);
    }
    return last;
}

/// A function of [0, n) that is called often: the CPU keeps its values, one set for each Slot, other lanes work them out again.
template <int Slot, class Lanes, class Value>
SHARDBOARD_BOTH Value remembered(const Lanes&, std::int32_t, Value value)
{
    return value;
}

/// What lanes that work on packs have in common; the others are those of cpulanes.h.
class PackedLanes {
public:
    using Math = ExactMath;
    using Score = float; ///< in which routers work
    static constexpr bool kVectorLoops = false;
    /// Some values that every lane has.
    template <int Most>
    struct Room {
        SHARDBOARD_BOTH Room(const PackedLanes&, std::int32_t) { }
        SHARDBOARD_BOTH Score& operator[](std::int32_t i) { return values[i]; }
        SHARDBOARD_BOTH Score operator[](std::int32_t i) const { return values[i]; }
        Score values[static_cast<unsigned>(Most)];
    };
    SHARDBOARD_BOTH const Elements& view(const Elements& elements) const { return elements; }
};

/// The lanes of the stand-in on the CPU: one, which sums in double, because it alone sums what many lanes would share.
class HostLanes : public PackedLanes {
public:
    using Sum = double;
    int lane() const { return 0; }
    int count() const { return 1; }
    /// Of all lanes, for all lanes.
    double sum(double value) const { return value; }
    double sumOfDoubles(double value) const { return value; }
    float highest(float value) const { return value; }
    Best best(const Best& mine) const { return mine; }
    /// What lanes wrote is there for the others.
    void hostBarrier() const { }
};

} // namespace shardboard::engine::bodies

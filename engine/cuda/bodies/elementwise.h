// SPDX-License-Identifier: Apache-2.0
// Operations element by element, their gradients, and copies.
#pragma once

#include "engine/cuda/bodies/fill.h"

#include <math.h>

namespace shardboard::engine::cuda {

enum class Each : std::int32_t {
    Copy,
    Add,
    Mul,
    Silu,
    Gelu,
    GeluTanh,
    Scale,
    SoftCap,
    ClampedSwiglu,
    Round,
    SiluGrad,
    GeluGrad,
    GeluTanhGrad,
    SoftCapGrad,
    ClampedSwigluGradGate,
    ClampedSwigluGradUp
};

SHARDBOARD_BOTH float sigmoidOf(float x) { return 1.0f / (1.0f + expf(-x)); }
/// Beyond it the gate is 0 or 1; keeps the cube finite.
SHARDBOARD_BOTH float gateOf(float x) { return fminf(fmaxf(x, -20.0f), 20.0f); }

constexpr float kTwoRootTwoOverPi = 1.59576912160573071f; ///< 2 sqrt(2 / pi): (1 + tanh(u)) / 2 is the sigmoid of 2u
constexpr float kCubic = 0.044715f;
constexpr float kSwigluSlope = 1.702f;

/// Of gradients `a` is dy and `b` is x; of the clamped SwiGLU's `b` is the gate and `c` the up projection.
template <Each kind>
SHARDBOARD_BOTH float eachOf(float a, float b, float c, float number)
{
    switch (kind) {
    case Each::Copy:
        return a;
    case Each::Add:
        return a + b;
    case Each::Mul:
        return a * b;
    case Each::Silu:
        return a * sigmoidOf(a);
    case Each::Gelu:
        return a * (0.5f * erfcf(-0.70710678118654752f * a));
    case Each::GeluTanh: {
        const float x = gateOf(a);
        return a * sigmoidOf(kTwoRootTwoOverPi * (x + kCubic * x * x * x));
    }
    case Each::Scale:
        return number * a;
    case Each::SoftCap:
        return number * tanhf(a / number);
    case Each::ClampedSwiglu: {
        const float g = fminf(a, number);
        const float u = fminf(fmaxf(b, -number), number);
        return g * sigmoidOf(kSwigluSlope * g) * (u + 1.0f);
    }
    case Each::Round:
        return rounded(static_cast<int>(number), a);
    case Each::SiluGrad: {
        const float s = sigmoidOf(b);
        return a * (s * (1.0f + b * (1.0f - s)));
    }
    case Each::GeluGrad:
        return a * (0.5f * erfcf(-0.70710678118654752f * b) + b * 0.39894228040143268f * expf(-0.5f * b * b));
    case Each::GeluTanhGrad: {
        const float x = gateOf(b);
        const float s = sigmoidOf(kTwoRootTwoOverPi * (x + kCubic * x * x * x));
        return a * (s + x * kTwoRootTwoOverPi * (1.0f + 3.0f * kCubic * x * x) * s * (1.0f - s));
    }
    case Each::SoftCapGrad: {
        const float t = tanhf(b / number);
        return a * (1.0f - t * t);
    }
    case Each::ClampedSwigluGradGate: {
        const float g = fminf(b, number);
        const float u = fminf(fmaxf(c, -number), number);
        const float s = sigmoidOf(kSwigluSlope * g);
        return b <= number ? a * (u + 1.0f) * (s + kSwigluSlope * g * s * (1.0f - s)) : 0.0f;
    }
    case Each::ClampedSwigluGradUp: {
        const float g = fminf(b, number);
        return c >= -number && c <= number ? a * (g * sigmoidOf(kSwigluSlope * g)) : 0.0f;
    }
    }
    return 0.0f;
}

struct EachBody {
    struct Entry {
        Elements a, b, c, out; ///< b and c may be null
        std::int64_t count = 0;
        std::int64_t mapped = 0; ///< 1: b runs along a by this map
        BoxMap map;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    Each kind = Each::Copy;
    float number = 0; ///< factor, cap, or the rounding

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        const std::int64_t first = item * kTile;
        if (first >= e.count)
            return;
        switch (kind) {
        case Each::Copy:
            return run<Each::Copy>(lanes, e, first);
        case Each::Add:
            return run<Each::Add>(lanes, e, first);
        case Each::Mul:
            return run<Each::Mul>(lanes, e, first);
        case Each::Silu:
            return run<Each::Silu>(lanes, e, first);
        case Each::Gelu:
            return run<Each::Gelu>(lanes, e, first);
        case Each::GeluTanh:
            return run<Each::GeluTanh>(lanes, e, first);
        case Each::Scale:
            return run<Each::Scale>(lanes, e, first);
        case Each::SoftCap:
            return run<Each::SoftCap>(lanes, e, first);
        case Each::ClampedSwiglu:
            return run<Each::ClampedSwiglu>(lanes, e, first);
        case Each::Round:
            return run<Each::Round>(lanes, e, first);
        case Each::SiluGrad:
            return run<Each::SiluGrad>(lanes, e, first);
        case Each::GeluGrad:
            return run<Each::GeluGrad>(lanes, e, first);
        case Each::GeluTanhGrad:
            return run<Each::GeluTanhGrad>(lanes, e, first);
        case Each::SoftCapGrad:
            return run<Each::SoftCapGrad>(lanes, e, first);
        case Each::ClampedSwigluGradGate:
            return run<Each::ClampedSwigluGradGate>(lanes, e, first);
        case Each::ClampedSwigluGradUp:
            return run<Each::ClampedSwigluGradUp>(lanes, e, first);
        }
    }

private:
    template <Each k, int W>
    SHARDBOARD_BOTH void some(const Entry& e, std::int64_t i) const
    {
        Floats<W> a;
        Floats<W> b = {};
        Floats<W> c = {};
        e.a.template load<W>(i, a);
        if (e.mapped != 0)
            for (int j = 0; j < W; ++j)
                b[j] = e.b.at(e.map.at(i + j));
        else if (e.b.data != nullptr)
            e.b.template load<W>(i, b);
        if (e.c.data != nullptr)
            e.c.template load<W>(i, c);
        for (int j = 0; j < W; ++j)
            a[j] = eachOf<k>(a[j], b[j], c[j], number);
        e.out.template store<W>(i, a);
    }
    template <Each k, class Lanes>
    SHARDBOARD_BOTH void run(const Lanes& lanes, const Entry& e, std::int64_t first) const
    {
        const std::int64_t n = smaller(kTile, e.count - first);
        const bool packs = e.a.aligned() && e.b.aligned() && e.c.aligned() && e.out.aligned();
        const std::int64_t whole = packs ? n / kPack * kPack : 0;
        forEachOf(lanes, whole, true, [&](std::int64_t i, auto w) { some<k, decltype(w)::value>(e, first + i); });
        for (std::int64_t i = whole + lanes.lane(); i < n; i += lanes.count())
            some<k, 1>(e, first + i);
    }
};

} // namespace shardboard::engine::cuda

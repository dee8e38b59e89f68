// SPDX-License-Identifier: Apache-2.0
// Operations element by element and their gradients, each once for every backend. A new one is a struct and a line in the list:
// dispatch, tables, kernels of the GPU and vector loops of the CPU are made from the list.
#pragma once

#include "engine/ops/bodies/fill.h"

namespace shardboard::engine::bodies {

/// Calls X(OpKind, attribute) for every operation here; the attribute is the `number` of its formula, where it has one.
#define SHARDBOARD_ELEMENTWISE(X)                                                                                                  \
    X(Add, cap)                                                                                                                    \
    X(Mul, cap)                                                                                                                    \
    X(Silu, cap)                                                                                                                   \
    X(Gelu, cap)                                                                                                                   \
    X(GeluTanh, cap)                                                                                                               \
    X(SquaredRelu, cap)                                                                                                            \
    X(Relu, cap)                                                                                                                   \
    X(Scale, scale)                                                                                                                \
    X(SoftCap, cap)                                                                                                                \
    X(ClampedSwiglu, cap)                                                                                                          \
    X(SiluGrad, cap)                                                                                                               \
    X(GeluGrad, cap)                                                                                                               \
    X(GeluTanhGrad, cap)                                                                                                           \
    X(SquaredReluGrad, cap)                                                                                                        \
    X(ReluGrad, cap)                                                                                                               \
    X(SoftCapGrad, cap)                                                                                                            \
    X(ClampedSwigluGradGate, cap)                                                                                                  \
    X(ClampedSwigluGradUp, cap)                                                                                                    \
    X(Sigmoid, cap)                                                                                                                \
    X(SigmoidGrad, cap)                                                                                                            \
    X(Softplus, cap)                                                                                                               \
    X(SoftplusGrad, cap)                                                                                                           \
    X(NegativeExp, cap)

/// The operands' values at one place. Of gradients `a` is dy and `b` is x; of the clamped SwiGLU's `b` is the gate and `c` the up
/// projection.
struct Inputs {
    float a, b, c;
    float number;
};

/// `Touched`: values read and written for each of the result, where an exponential counts as another two.
template <int Operands, int Touched>
struct Formula {
    static constexpr int kOperands = Operands;
    static constexpr int kTouched = Touched;
};

/// The formulas. `Math` has the exponential and its kin as exact as the backend wants them.
namespace each {

constexpr float kTwoRootTwoOverPi = 1.59576912160573071f; ///< 2 sqrt(2 / pi): (1 + tanh(u)) / 2 is the sigmoid of 2u
constexpr float kCubic = 0.044715f;
constexpr float kSwigluSlope = 1.702f;

template <class Math>
SHARDBOARD_BOTH float sigmoid(float x)
{
    return 1.0f / (1.0f + Math::exp(-x));
}
SHARDBOARD_BOTH float clamped(float x, float limit) { return smallerOf(largerOf(x, -limit), limit); }
/// Of the tanh GELU: beyond 20 it is 0 or 1, which keeps the cube finite.
SHARDBOARD_BOTH float tanhArgument(float x) { return clamped(x, 20.0f); }

struct Copy : Formula<1, 2> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.a;
    }
};
struct Round : Formula<1, 2> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return rounded(static_cast<int>(x.number), x.a);
    }
};
struct Add : Formula<2, 3> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.a + x.b;
    }
};
struct Mul : Formula<2, 3> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.a * x.b;
    }
};
struct Silu : Formula<1, 4> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.a / (1.0f + Math::exp(-x.a));
    }
};
struct Gelu : Formula<1, 4> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.a * Math::normalBelow(x.a, Math::exp(-0.5f * x.a * x.a));
    }
};
struct GeluTanh : Formula<1, 4> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float c = tanhArgument(x.a);
        return x.a * sigmoid<Math>(kTwoRootTwoOverPi * (c + kCubic * c * c * c));
    }
};
struct SquaredRelu : Formula<1, 2> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float r = largerOf(x.a, 0.0f);
        return r * r;
    }
};
struct Relu : Formula<1, 2> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return largerOf(x.a, 0.0f);
    }
};
struct Scale : Formula<1, 4> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.a * x.number;
    }
};
/// cap * tanh(x / cap)
struct SoftCap : Formula<1, 4> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.number * Math::tanh(x.a / x.number);
    }
};
/// g * sigmoid(1.702 g) * (u + 1) with g = min(gate, limit) and u = up clamped to [-limit, limit] (gpt-oss).
struct ClampedSwiglu : Formula<2, 3> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float g = smallerOf(x.a, x.number);
        const float u = clamped(x.b, x.number);
        return g * sigmoid<Math>(kSwigluSlope * g) * (u + 1.0f);
    }
};
struct Sigmoid : Formula<1, 4> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return sigmoid<Math>(x.a);
    }
};
struct SigmoidGrad : Formula<2, 5> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float s = sigmoid<Math>(x.b);
        return x.a * (s * (1.0f - s));
    }
};
/// log(1 + exp(x)), which is x but for what the sigmoid of x lacks to 1.
struct Softplus : Formula<1, 4> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return largerOf(x.a, 0.0f) + log1pf(Math::exp(-fabsf(x.a)));
    }
};
struct SoftplusGrad : Formula<2, 5> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.a * sigmoid<Math>(x.b);
    }
};
struct NegativeExp : Formula<1, 4> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return -Math::exp(x.a);
    }
};
struct SiluGrad : Formula<2, 5> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float s = sigmoid<Math>(x.b);
        return x.a * (s * (1.0f + x.b * (1.0f - s)));
    }
};
struct GeluGrad : Formula<2, 5> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float e = Math::exp(-0.5f * x.b * x.b);
        return x.a * (Math::normalBelow(x.b, e) + x.b * 0.39894228040143268f * e);
    }
};
struct SquaredReluGrad : Formula<2, 3> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.a * (2.0f * largerOf(x.b, 0.0f));
    }
};
struct ReluGrad : Formula<2, 3> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        return x.b > 0.0f ? x.a : 0.0f;
    }
};
struct GeluTanhGrad : Formula<2, 5> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float c = tanhArgument(x.b);
        const float s = sigmoid<Math>(kTwoRootTwoOverPi * (c + kCubic * c * c * c));
        const float slope = kTwoRootTwoOverPi * (1.0f + 3.0f * kCubic * c * c);
        return x.a * (s + c * slope * s * (1.0f - s));
    }
};
struct SoftCapGrad : Formula<2, 5> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float t = Math::tanh(x.b / x.number);
        return x.a * (1.0f - t * t);
    }
};
struct ClampedSwigluGradGate : Formula<3, 5> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float g = smallerOf(x.b, x.number);
        const float u = clamped(x.c, x.number);
        const float s = sigmoid<Math>(kSwigluSlope * g);
        const float slope = s + kSwigluSlope * g * s * (1.0f - s);
        return x.b <= x.number ? x.a * (u + 1.0f) * slope : 0.0f;
    }
};
struct ClampedSwigluGradUp : Formula<3, 5> {
    template <class Math>
    static SHARDBOARD_BOTH float of(const Inputs& x)
    {
        const float g = smallerOf(x.b, x.number);
        const float glu = g * sigmoid<Math>(kSwigluSlope * g);
        return x.c >= -x.number && x.c <= x.number ? x.a * glu : 0.0f;
    }
};

} // namespace each

#define SHARDBOARD_EACH(Kind, attribute) Kind,
enum class Each : std::int32_t { Copy, Round, SHARDBOARD_ELEMENTWISE(SHARDBOARD_EACH) };
#undef SHARDBOARD_EACH

struct EachBody {
    struct Entry {
        Elements a, b, c, out; ///< b and c null where the formula has fewer operands
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
            return run<each::Copy>(lanes, e, first);
        case Each::Round:
            return run<each::Round>(lanes, e, first);
#define SHARDBOARD_EACH(Kind, attribute)                                                                                           \
    case Each::Kind:                                                                                                               \
        return run<each::Kind>(lanes, e, first);
            SHARDBOARD_ELEMENTWISE(SHARDBOARD_EACH)
#undef SHARDBOARD_EACH
        }
    }

private:
    template <class Math, class Op, int W>
    SHARDBOARD_BOTH void some(const Entry& e, std::int64_t i) const
    {
        Floats<W> a;
        Floats<W> b = {};
        Floats<W> c = {};
        e.a.template load<W>(i, a);
        if (e.mapped != 0)
            for (int j = 0; j < W; ++j)
                b[j] = e.b.at(e.map.at(i + j));
        else if (Op::kOperands > 1)
            e.b.template load<W>(i, b);
        if (Op::kOperands > 2)
            e.c.template load<W>(i, c);
        for (int j = 0; j < W; ++j)
            a[j] = Op::template of<Math>(Inputs { a[j], b[j], c[j], number });
        e.out.template store<W>(i, a);
    }

    /// A vector loop; b is repeated where it does not go along with a.
    template <class Math, class Op, bool Along>
    void loop(const Entry& e, std::int64_t first, std::int64_t n, const float* b) const
    {
        const float* const a = static_cast<const float*>(e.a.data) + first;
        const float* const c = static_cast<const float*>(e.c.data) + (Op::kOperands > 2 ? first : 0);
        float* const out = static_cast<float*>(e.out.data) + first;
        const float by = number;
        const float repeated = Along ? 0.0f : b[0];
        SHARDBOARD_INDEPENDENT
        for (std::int64_t i = 0; i < n; ++i)
            out[i] = Op::template of<Math>(Inputs { a[i],
                                                    Op::kOperands < 2 ? 0.0f
                                                        : Along       ? b[i]
                                                                      : repeated,
                                                    Op::kOperands > 2 ? c[i] : 0.0f, by });
    }

    template <class Op, class Lanes>
    SHARDBOARD_BOTH void run(const Lanes& lanes, const Entry& e, std::int64_t first) const
    {
        using Math = typename Lanes::Math;
        const std::int64_t n = smaller(kTile, e.count - first);
        if constexpr (Lanes::kVectorLoops) {
            const float* const b = static_cast<const float*>(e.b.data);
            if (e.mapped == 0)
                return loop<Math, Op, true>(e, first, n, b + (Op::kOperands > 1 ? first : 0));
            const std::int64_t last = e.map.dims - 1; // along which b lies as a does, or is repeated
            for (std::int64_t i = first; i < first + n;) {
                const std::int64_t row = smaller(first + n - i, e.map.size[last] - i % e.map.size[last]);
                if (e.map.stride[last] == 0)
                    loop<Math, Op, false>(e, i, row, b + e.map.at(i));
                else
                    loop<Math, Op, true>(e, i, row, b + e.map.at(i));
                i += row;
            }
        } else {
            const bool packs = e.a.aligned() && e.b.aligned() && e.c.aligned() && e.out.aligned();
            const std::int64_t whole = packs ? n / kPack * kPack : 0;
            forEachOf(lanes, whole, true, [&](std::int64_t i, auto w) { some<Math, Op, decltype(w)::value>(e, first + i); });
            for (std::int64_t i = whole + lanes.lane(); i < n; i += lanes.count())
                some<Math, Op, 1>(e, first + i);
        }
    }
};

} // namespace shardboard::engine::bodies

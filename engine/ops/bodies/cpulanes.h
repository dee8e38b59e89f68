// SPDX-License-Identifier: Apache-2.0
// The lanes of the CPU: one, whose loops over contiguous floats the compiler makes into vectors. Sums have a fixed order, whatever
// the instruction set.
#pragma once

#include "engine/ops/bodies/elements.h"
#include "engine/ops/kernels/lanes.h"
#include "engine/ops/kernels/normaltail.h"

#include <algorithm>
#include <limits>

namespace shardboard::engine::bodies {

/// Values as the CPU has them.
struct FloatView {
    float* data = nullptr;

    float at(std::int64_t i) const { return data[i]; }
    void set(std::int64_t i, float value) const { data[i] = value; }
    template <int W, bool Past = false>
    void load(std::int64_t i, float* out) const
    {
        static_assert(W == 1, "the compiler makes the packs");
        out[0] = data[i];
    }
    template <int W, bool Past = false>
    void store(std::int64_t i, const float* values) const
    {
        static_assert(W == 1, "the compiler makes the packs");
        data[i] = values[0];
    }
};

/// What vectorises, to about 2 units in the last place.
struct FastMath {
    static float exp(float x) { return fastExp(x); }
    static float tanh(float x) { return fastTanh(x); }
    static float normalBelow(float x, float exponential) { return engine::normalBelow(x, exponential); }
};

class CpuLanes {
public:
    using Sum = double;
    using Math = FastMath;
    static constexpr bool kVectorLoops = true;
    FloatView view(const Elements& elements) const { return { static_cast<float*>(elements.data) }; }
    int lane() const { return 0; }
    int count() const { return 1; }
    double sum(double value) const { return value; }
    float highest(float value) const { return value; }
};

template <class Visit>
void forEachOf(const CpuLanes&, std::int64_t n, bool, Visit visit)
{
    SHARDBOARD_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i)
        visit(i, Width<1>());
}

template <int Count, std::int64_t Piece = 0, class Addends>
void addUp(const CpuLanes&, std::int64_t n, bool, double* sums, Addends addends)
{
    static_assert(Count == 1 || Count == 2);
    for (std::int64_t first = 0; first<n; first += Piece> 0 ? Piece : n) {
        const std::int64_t end = Piece > 0 ? std::min(n, first + Piece) : n;
        float one[engine::kLanes] = {};
        float other[engine::kLanes] = {};
        const auto add = [&](std::int64_t i, std::int64_t j) {
            Floats<1> values[static_cast<unsigned>(Count)];
            addends(i + j, Width<1>(), values);
            one[j] += values[0][0];
            if constexpr (Count > 1)
                other[j] += values[1][0];
        };
        std::int64_t i = first;
        for (; i + engine::kLanes <= end; i += engine::kLanes)
            for (std::int64_t j = 0; j < engine::kLanes; ++j)
                add(i, j);
        for (std::int64_t j = 0; i + j < end; ++j)
            add(i, j);
        sums[0] += sumLanes(one);
        if constexpr (Count > 1)
            sums[1] += sumLanes(other);
    }
}

template <class Value>
float highestOf(const CpuLanes&, std::int64_t n, Value value)
{
    float lanes[engine::kLanes];
    std::fill_n(lanes, engine::kLanes, -std::numeric_limits<float>::infinity());
    std::int64_t i = 0;
    for (; i + engine::kLanes <= n; i += engine::kLanes)
        for (std::int64_t j = 0; j < engine::kLanes; ++j)
            lanes[j] = largerOf(lanes[j], value(i + j));
    for (; i < n; ++i)
        lanes[0] = largerOf(lanes[0], value(i));
    return *std::max_element(lanes, lanes + engine::kLanes);
}

} // namespace shardboard::engine::bodies

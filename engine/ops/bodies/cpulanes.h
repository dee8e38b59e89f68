// SPDX-License-Identifier: Apache-2.0
// The lanes of the CPU: one, whose loops over contiguous floats the compiler makes into vectors. Sums have a fixed order, whatever
// the instruction set.
#pragma once

#include "engine/ops/bodies/fill.h"
#include "engine/ops/kernels/lanes.h"
#include "engine/ops/kernels/normaltail.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

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
    using Score = double;
    using Math = FastMath;
    static constexpr bool kVectorLoops = true;
    template <int Most>
    struct Room {
        Room(const CpuLanes& lanes, std::int32_t n)
            : values(lanes.kept(2, n))
        {
        }
        double& operator[](std::int32_t i) { return values[i]; }
        double operator[](std::int32_t i) const { return values[i]; }
        double* values;
    };
    FloatView view(const Elements& elements) const { return { static_cast<float*>(elements.data) }; }
    int lane() const { return 0; }
    int count() const { return 1; }
    double sum(double value) const { return value; }
    double sumOfDoubles(double value) const { return value; }
    float highest(float value) const { return value; }
    Ranked<double> best(const Ranked<double>& mine) const { return mine; }

    /// Memory for n values, for the items that are worked on one after the other.
    double* kept(int slot, std::int32_t n) const { return roomIn(m_kept[slot], n); }
    Ranked<double>* ranking(std::int32_t n) const { return roomIn(m_ranking, n); }

private:
    template <class T>
    static T* roomIn(std::vector<T>& values, std::int32_t n)
    {
        if (values.size() < static_cast<std::size_t>(n))
            values.resize(static_cast<std::size_t>(n));
        return values.data();
    }
    mutable std::vector<double> m_kept[4];
    mutable std::vector<Ranked<double>> m_ranking;
};

template <int Slot, class Value>
auto remembered(const CpuLanes& lanes, std::int32_t n, Value value)
{
    double* const values = lanes.kept(Slot, n);
    SHARDBOARD_INDEPENDENT
    for (std::int32_t x = 0; x < n; ++x)
        values[x] = value(x);
    return [values](std::int32_t x) { return values[x]; };
}

/// In one walk: the worst of the best so far is at hand.
template <class Value>
Ranked<double> lastOfBest(const CpuLanes& lanes, std::int32_t n, std::int32_t count, Value value)
{
    Ranked<double>* const best = lanes.ranking(count);
    for (std::int32_t x = 0; x < count; ++x)
        best[x] = { value(x), x };
    std::make_heap(best, best + count, before<double>);
    for (std::int32_t x = count; x < n; ++x)
        if (const double mine = value(x); mine > best->value) {
            std::pop_heap(best, best + count, before<double>);
            best[count - 1] = { mine, x };
            std::push_heap(best, best + count, before<double>);
        }
    return *best;
}

template <class Visit>
void forEachOf(const CpuLanes&, std::int64_t n, bool, Visit visit)
{
    SHARDBOARD_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i)
        visit(i, Width<1>());
}

inline void copyRow(const CpuLanes&, const Elements& from, std::int64_t n, const Elements& to)
{
    std::memcpy(to.data, from.data, static_cast<std::size_t>(n) * sizeof(float)); // long ones pass the caches by
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

/// Row by row, so that memory is read as it lies.
template <class Sum, class Out, class TermsOf>
void writeSums(const CpuLanes&, const Out& out, std::int64_t first, std::int64_t end, std::int64_t n, TermsOf termsOf)
{
    Sum sums[kTile];
    for (std::int64_t at = first; at < end;) {
        const std::int64_t row = at / n;
        const std::int64_t column = at - row * n;
        const std::int64_t columns = std::min(n - column, end - at);
        std::fill_n(sums, columns, Sum { 0 });
        const auto terms = termsOf(row);
        for (std::int64_t k = 0; k < terms.count; ++k) {
            const auto term = terms.at(k);
            if (term.none())
                continue;
            SHARDBOARD_INDEPENDENT
            for (std::int64_t i = 0; i < columns; ++i)
                sums[i] += term(column + i);
        }
        SHARDBOARD_INDEPENDENT
        for (std::int64_t i = 0; i < columns; ++i)
            out.set(at + i, static_cast<float>(sums[i]));
        at += columns;
    }
}

template <class RowOf>
void visitRows(const CpuLanes&, std::int64_t first, std::int64_t last, std::int64_t n, RowOf rowOf)
{
    for (std::int64_t row = first; row < last; ++row) {
        const auto visit = rowOf(row);
        SHARDBOARD_INDEPENDENT
        for (std::int64_t i = 0; i < n; ++i)
            visit(i);
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

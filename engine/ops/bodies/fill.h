// SPDX-License-Identifier: Apache-2.0
// Made-up values, from the same generator as everywhere.
#pragma once

#include "engine/ops/bodies/elements.h"
#include "engine/values/generatorhash.h"

namespace shardboard::engine::bodies {

constexpr std::int64_t kTile = std::int64_t { kAll } * kPack; ///< elements of an item of kernels that work element by element

/// A part of a row, by number.
template <int P>
struct RowPart {
    static constexpr int value = P;
};

/// Where the parts of a row end but the last, which ends with the row; in order.
template <int Parts>
struct RowEnds {
    std::int64_t of[static_cast<unsigned>(Parts)];
};

template <int P, int Parts, class Value>
SHARDBOARD_BOTH float valueAt(const RowEnds<Parts>& ends, std::int64_t i, const Value& value)
{
    if constexpr (P + 1 < Parts) {
        if (i >= ends.of[P])
            return valueAt<P + 1>(ends, i, value);
    }
    return value(i, RowPart<P>());
}

template <int P, int Parts, class Out, class Value>
SHARDBOARD_BOTH void writeParts(const Out& out, const RowEnds<Parts>& ends, std::int64_t row, std::int64_t i, std::int64_t stop,
                                const Value& value)
{
    const std::int64_t end = P + 1 < Parts ? smaller(ends.of[P], stop) : stop;
    SHARDBOARD_INDEPENDENT
    for (; i < end; ++i)
        out.set(row + i, value(i, RowPart<P>()));
    if constexpr (P + 1 < Parts)
        writeParts<P + 1>(out, ends, row, i, stop, value);
}

/// Writes the tile that begins at element `first` of `count`, in rows of n: rowOf(row) gives a function of the column and the
/// number of its part. What is the same for a row or a part is worked out once where rows are written whole.
template <int Parts, class Lanes, class Out, class RowOf>
SHARDBOARD_BOTH void writeRows(const Lanes& lanes, const Out& out, std::int64_t first, std::int64_t count, std::int64_t n,
                               const RowEnds<Parts>& ends, RowOf rowOf)
{
    const std::int64_t end = smaller(count, first + kTile);
    if constexpr (Lanes::kVectorLoops) {
        for (std::int64_t at = first; at < end;) {
            const std::int64_t row = at / n;
            const std::int64_t stop = smaller(n, end - row * n);
            writeParts<0>(out, ends, row * n, at - row * n, stop, rowOf(row));
            at = row * n + stop;
        }
    } else {
        for (std::int64_t at = first + lanes.lane(); at < end; at += lanes.count()) {
            const Divided where = divided(at, n);
            out.set(at, valueAt<0>(ends, where.rest, rowOf(where.quotient)));
        }
    }
}

/// Calls rowOf(row)(i) for all i in [0, n) of the rows [first, last).
template <class Lanes, class RowOf>
SHARDBOARD_BOTH void visitRows(const Lanes& lanes, std::int64_t first, std::int64_t last, std::int64_t n, RowOf rowOf)
{
    for (std::int64_t at = lanes.lane(); at < (last - first) * n; at += lanes.count()) {
        const Divided where = divided(at, n);
        rowOf(first + where.quotient)(where.rest);
    }
}

/// Writes the elements [first, end), which are at most kTile, in rows of n. Column i of a row is the sum of what termsOf(row) has:
/// at(0 … count - 1), each a function of the column, or none().
template <class Sum, class Lanes, class Out, class TermsOf>
SHARDBOARD_BOTH void writeSums(const Lanes& lanes, const Out& out, std::int64_t first, std::int64_t end, std::int64_t n,
                               TermsOf termsOf)
{
    for (std::int64_t at = first + lanes.lane(); at < end; at += lanes.count()) {
        const Divided where = divided(at, n);
        const auto terms = termsOf(where.quotient);
        Sum sum = 0;
        for (std::int64_t k = 0; k < terms.count; ++k) {
            const auto term = terms.at(k);
            if (!term.none())
                sum += term(where.rest);
        }
        out.set(at, static_cast<float>(sum));
    }
}

/// A row of a tensor as a term of such sums; 0 is no term.
template <class View>
struct ScaledRow {
    View x;
    std::int64_t first;
    float factor;

    SHARDBOARD_BOTH bool none() const { return factor == 0; }
    SHARDBOARD_BOTH float operator()(std::int64_t i) const { return factor * x.at(first + i); }
};

/// What a source makes: the value, its share, rounded.
struct MadeValue {
    ValueRule rule;
    float share = 1;
    std::int32_t rounding = 0;

    SHARDBOARD_BOTH float at(std::int64_t index) const { return rounded(rounding, multiplyRounded(rule.at(index), share)); }
};

struct FillBody {
    struct Entry {
        Elements out;
        BoxMap map; ///< into the whole tensor
        std::int64_t count = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    MadeValue value;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        const std::int64_t first = item * kTile;
        if (first >= e.count)
            return;
        const std::int64_t last = e.map.dims - 1;
        const std::int64_t width = e.map.size[last];
        const std::int64_t n = smaller(kTile, e.count - first);
        forEachOf(lanes, n / kPack * kPack, true, [&](std::int64_t i, auto w) {
            constexpr int W = decltype(w)::value;
            Floats<W> values;
            const std::int64_t column = divided(first + i, width).rest;
            if (column + W <= width) {
                const std::int64_t from = e.map.at(first + i);
                for (int j = 0; j < W; ++j)
                    values[j] = value.at(from + j * e.map.stride[last]);
            } else {
                for (int j = 0; j < W; ++j)
                    values[j] = value.at(e.map.at(first + i + j));
            }
            e.out.store<W>(first + i, values);
        });
        for (std::int64_t i = n / kPack * kPack + lanes.lane(); i < n; i += lanes.count())
            e.out.set(first + i, value.at(e.map.at(first + i)));
    }
};

} // namespace shardboard::engine::bodies

// SPDX-License-Identifier: Apache-2.0
// Operations that only move elements, and the rotation of heads.
#pragma once

#include "engine/ops/bodies/fill.h"

namespace shardboard::engine::bodies {

enum class Move : std::int32_t { Slice, EveryOther, Join, JoinKeys, Pad, Spread, SumHeads, Last };

/// Element i of a row of the result, which is n long.
struct MoveBody {
    struct Entry {
        Elements a, b, out;
        std::int64_t n = 0;
        std::int64_t widthA = 0;
        std::int64_t widthB = 0;
        std::int64_t heads = 1;
        std::int64_t count = 0; ///< of the result
        std::int64_t last = 0; ///< Last: where a row of the result starts in a row of a; -1: not there, so that it becomes zeros
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    Move kind = Move::Slice;
    std::int64_t first = 0;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        const auto a = lanes.view(e.a);
        const auto b = lanes.view(e.b);
        const std::int64_t from = first;
        const std::int64_t width = e.widthA;
        const std::int64_t n = e.n;
        const auto write = [&](const auto& ends, auto rowOf) {
            writeRows(lanes, lanes.view(e.out), item * kTile, e.count, n, ends, rowOf);
        };
        const RowEnds<1> whole { { n } };
        switch (kind) {
        case Move::Slice:
            return write(
                whole, [=](std::int64_t row) { return [=](std::int64_t i, RowPart<0>) { return a.at(row * width + from + i); }; });
        case Move::Last: {
            const std::int64_t last = e.last;
            return write(whole, [=](std::int64_t row) {
                return [=](std::int64_t i, RowPart<0>) { return last < 0 ? 0.0f : a.at(row * width + last + i); };
            });
        }
        case Move::EveryOther:
            return write(whole, [=](std::int64_t row) {
                return [=](std::int64_t i, RowPart<0>) { return a.at(row * width + from + 2 * i); };
            });
        case Move::Join:
        case Move::JoinKeys: {
            const std::int64_t widthB = e.widthB;
            const std::int64_t heads = e.heads;
            return write(RowEnds<2> { { width, n } }, [=](std::int64_t row) {
                const std::int64_t second = divided(row, heads).quotient * widthB - width;
                return [=](std::int64_t i, auto part) {
                    return decltype(part)::value == 0 ? a.at(row * width + i) : b.at(second + i);
                };
            });
        }
        case Move::Pad:
            return write(RowEnds<3> { { from, from + width, n } }, [=](std::int64_t row) {
                return [=](std::int64_t i, auto part) { return decltype(part)::value == 1 ? a.at(row * width + i - from) : 0.0f; };
            });
        case Move::Spread:
            return write(whole, [=](std::int64_t row) {
                return [=](std::int64_t i, RowPart<0>) {
                    return i >= from && ((i - from) & 1) == 0 ? a.at(row * width + ((i - from) >> 1)) : 0.0f;
                };
            });
        case Move::SumHeads: {
            const std::int64_t heads = e.heads;
            return writeSums<float>(lanes, lanes.view(e.out), item * kTile, smaller(e.count, (item + 1) * kTile), n,
                                    [=](std::int64_t row) {
                                        return Heads<decltype(a)> { a, row * heads, width, from, heads };
                                    });
        }
        }
    }

private:
    template <class View>
    struct Heads {
        View x;
        std::int64_t row, width, first, count;
        SHARDBOARD_BOTH ScaledRow<View> at(std::int64_t head) const { return { x, (row + head) * width + first, 1.0f }; }
    };
};

/// Rotates the pairs (i, i + d/2) of the elements [first, first + d) of every head, which is `width` long. An item is some heads.
struct RopeBody {
    struct Entry {
        Elements x, out;
        std::int64_t rows = 0; ///< heads of all tokens
        std::int64_t tokens = 0;
        std::int64_t heads = 0;
        std::int64_t firstToken = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    const float* angles = nullptr; ///< for each token of the sequence d/2 cosines, then d/2 sines
    std::int64_t width = 0;
    std::int64_t first = 0;
    std::int64_t d = 0;
    std::int64_t headsOfItem = 1;
    float direction = 1; ///< -1: backwards

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        const std::int64_t from = item * headsOfItem;
        const std::int64_t to = smaller(e.rows, from + headsOfItem);
        const auto x = lanes.view(e.x);
        const auto out = lanes.view(e.out);
        const RopeBody f = *this; // out is no part of it
        const std::int64_t half = d / 2;
        const std::int64_t heads = e.heads;
        const std::int64_t tokens = e.tokens;
        const std::int64_t firstToken = e.firstToken;
        visitRows(lanes, from, to, half, [=](std::int64_t row) {
            const std::int64_t token = firstToken + divided(divided(row, heads).quotient, tokens).rest;
            const float* const cosines = f.angles + token * f.d;
            const float* const sines = cosines + half;
            const std::int64_t start = row * f.width + f.first;
            return [=](std::int64_t i) {
                const float one = x.at(start + i);
                const float other = x.at(start + half + i);
                const float sine = f.direction * sines[i];
                out.set(start + i, one * cosines[i] - other * sine);
                out.set(start + half + i, other * cosines[i] + one * sine);
            };
        });
        copy(lanes, e, from, to, 0, first);
        copy(lanes, e, from, to, first + d, width);
    }

private:
    /// The elements [lo, hi) of heads.
    template <class Lanes>
    SHARDBOARD_BOTH void copy(const Lanes& lanes, const Entry& e, std::int64_t from, std::int64_t to, std::int64_t lo,
                              std::int64_t hi) const
    {
        const auto x = lanes.view(e.x);
        const auto out = lanes.view(e.out);
        const std::int64_t size = width;
        visitRows(lanes, from, to, hi - lo, [=](std::int64_t row) {
            const std::int64_t start = row * size + lo;
            return [=](std::int64_t i) { out.set(start + i, x.at(start + i)); };
        });
    }
};

/// Rows of a table by tokens; rows that another device has become zeros. Without memory the table is made where it is read. An
/// item is a token.
struct EmbeddingBody {
    struct Entry {
        Elements tokens, table, out;
        std::int64_t rows = 0;
        std::int64_t n = 0;
        std::int64_t firstId = 0;
        std::int64_t ids = 0;
        std::int64_t firstColumn = 0;
        std::int64_t byToken = 0; ///< 1: the table has a row for each token, in their order
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    MadeValue made;
    std::int64_t width = 0; ///< of the whole table

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        const std::int64_t id = idOf(e, row);
        const auto out = lanes.view(e.out);
        const std::int64_t to = row * e.n;
        if (id < 0)
            return forEachOf(lanes, e.n, false, [=](std::int64_t i, auto) { out.set(to + i, 0.0f); });
        if (e.table.data != nullptr)
            return copyRow(lanes, e.table.from((e.byToken != 0 ? row : id) * e.n), e.n, e.out.from(to));
        const std::int64_t from = (e.firstId + id) * width + e.firstColumn;
        forEachOf(lanes, e.n, false, [&](std::int64_t i, auto) { out.set(to + i, made.at(from + i)); });
    }

    /// Of a token its row of the device's part of the table, or -1.
    static SHARDBOARD_BOTH std::int64_t idOf(const Entry& e, std::int64_t row)
    {
        const std::int64_t id = static_cast<std::int64_t>(e.tokens.at(row)) - e.firstId;
        return id >= 0 && id < e.ids ? id : -1;
    }
};

/// The gradient of a table: token after token, so that the order is fixed. An item is some of the table's rows and of its columns.
struct EmbeddingGradientBody {
    struct Entry {
        Elements dy, tokens;
        float* sums = nullptr;
        std::int64_t rows = 0; ///< tokens
        std::int64_t n = 0;
        std::int64_t firstId = 0;
        std::int64_t ids = 0;
        std::int64_t idsOfItem = 0;
        std::int64_t columnsOfItem = 0;
        SHARDBOARD_BOTH std::int64_t items() const { return parts(ids, idsOfItem) * parts(n, columnsOfItem); }
        static SHARDBOARD_BOTH std::int64_t parts(std::int64_t count, std::int64_t each) { return (count + each - 1) / each; }
    };
    static constexpr int kLanes = kWarp;
    const Entry* entries = nullptr;
    std::int32_t zeroFirst = 0; ///< 1: what the sums hold before does not count; items have all columns then

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (item >= e.items())
            return;
        const Divided where = divided(item, Entry::parts(e.n, e.columnsOfItem));
        const std::int64_t column = where.rest * e.columnsOfItem;
        const std::int64_t columns = smaller(e.n - column, e.columnsOfItem);
        const std::int64_t first = where.quotient * e.idsOfItem;
        const std::int64_t last = smaller(e.ids, first + e.idsOfItem);
        const std::int64_t n = e.n;
        const auto dy = lanes.view(e.dy);
        float* const sums = e.sums;
        const auto tokens = lanes.view(e.tokens);
        const std::int64_t rows = e.rows;
        const std::int64_t firstId = e.firstId;
        if (zeroFirst != 0)
            forEachOf(lanes, (last - first) * n, false, [=](std::int64_t i, auto) { sums[first * n + i] = 0; });
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t id = static_cast<std::int64_t>(tokens.at(row)) - firstId;
            if (id >= first && id < last)
                forEachOf(lanes, columns, false,
                          [=](std::int64_t i, auto) { sums[id * n + column + i] += dy.at(row * n + column + i); });
        }
    }
};

} // namespace shardboard::engine::bodies

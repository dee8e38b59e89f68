// SPDX-License-Identifier: Apache-2.0
// Operations that only move elements, and the rotation of heads.
#pragma once

#include "engine/ops/bodies/fill.h"

namespace shardboard::engine::bodies {

enum class Move : std::int32_t { Slice, EveryOther, Join, JoinKeys, Pad, Spread, SumHeads };

/// Element i of a row of the result, which is n long.
struct MoveBody {
    struct Entry {
        Elements a, b, out;
        std::int64_t n = 0;
        std::int64_t widthA = 0;
        std::int64_t widthB = 0;
        std::int64_t heads = 1;
        std::int64_t count = 0; ///< of the result
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
            return write(whole, [=](std::int64_t row) {
                return [=](std::int64_t i, RowPart<0>) {
                    float sum = 0;
                    for (std::int64_t head = 0; head < heads; ++head)
                        sum += a.at((row * heads + head) * width + from + i);
                    return sum;
                };
            });
        }
        }
    }
};

/// Rotates the pairs (i, i + d/2) of the elements [first, first + d) of every head, which is `width` long.
struct RopeBody {
    struct Entry {
        Elements x, out;
        std::int64_t count = 0;
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
    float direction = 1; ///< -1: backwards

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        const std::int64_t end = smaller(e.count, (item + 1) * kTile);
        const std::int64_t half = d / 2;
        for (std::int64_t at = item * kTile + lanes.lane(); at < end; at += lanes.count()) {
            const Divided where = divided(at, width);
            const std::int64_t i = where.rest - first;
            if (i < 0 || i >= d) {
                e.out.set(at, e.x.at(at));
                continue;
            }
            const std::int64_t token = e.firstToken + divided(divided(where.quotient, e.heads).quotient, e.tokens).rest;
            const bool upper = i >= half;
            const std::int64_t pair = upper ? i - half : i;
            const float cosine = angles[token * d + pair];
            const float sine = direction * angles[token * d + half + pair];
            const float one = e.x.at(at);
            const float other = e.x.at(upper ? at - half : at + half);
            e.out.set(at, upper ? other * sine + one * cosine : one * cosine - other * sine);
        }
    }
};

/// Rows of a table by tokens; rows that another device has become zeros. Without memory the table is made where it is read.
struct EmbeddingBody {
    struct Entry {
        Elements tokens, table, out;
        std::int64_t rows = 0;
        std::int64_t n = 0;
        std::int64_t firstId = 0;
        std::int64_t ids = 0;
        std::int64_t firstColumn = 0;
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
        const std::int64_t id = static_cast<std::int64_t>(e.tokens.at(row)) - e.firstId;
        const bool here = id >= 0 && id < e.ids;
        for (std::int64_t i = lanes.lane(); i < e.n; i += lanes.count()) {
            float value = 0;
            if (here)
                value = e.table.data != nullptr ? e.table.at(id * e.n + i) : made.at((e.firstId + id) * width + e.firstColumn + i);
            e.out.set(row * e.n + i, value);
        }
    }
};

/// The gradient of a table: every lane adds up its columns, token after token, so that the order is fixed. An item is kWarp
/// columns. `sums` are floats and zeros before.
struct EmbeddingGradientBody {
    struct Entry {
        Elements dy, tokens;
        float* sums = nullptr;
        std::int64_t rows = 0;
        std::int64_t n = 0;
        std::int64_t firstId = 0;
        std::int64_t ids = 0;
    };
    static constexpr int kLanes = kWarp;
    const Entry* entries = nullptr;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        for (std::int64_t c = item * kWarp + lanes.lane(); c < smaller(e.n, (item + 1) * kWarp); c += lanes.count())
            for (std::int64_t row = 0; row < e.rows; ++row) {
                const std::int64_t id = static_cast<std::int64_t>(e.tokens.at(row)) - e.firstId;
                if (id >= 0 && id < e.ids)
                    e.sums[id * e.n + c] += e.dy.at(row * e.n + c);
            }
    }
};

} // namespace shardboard::engine::bodies

// SPDX-License-Identifier: Apache-2.0
// Made-up values, from the same generator as everywhere.
#pragma once

#include "engine/cuda/bodies/elements.h"
#include "engine/values/generatorhash.h"

namespace shardboard::engine::cuda {

constexpr std::int64_t kTile = std::int64_t { kAll } * kPack; ///< elements of an item of kernels that work element by element

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

} // namespace shardboard::engine::cuda

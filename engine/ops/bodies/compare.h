// SPDX-License-Identifier: Apache-2.0
// Sums of squares of what a device holds and of what it should hold.
#pragma once

#include "engine/ops/bodies/fill.h"

namespace shardboard::engine::bodies {

constexpr std::int64_t kCompareTile = 16 * kTile;

struct CompareBody {
    struct Entry {
        std::int64_t firstAddend = 0; ///< among the pointers
        std::int64_t addends = 0; ///< 0: only the sum of squares of the reference
        std::int32_t half = 0;
        std::int32_t highest = 0; ///< the maximum of the addends instead of their sum
        Elements reference; ///< whole; null: made
        BoxMap map; ///< from the box to the whole tensor
        std::int64_t count = 0;
        double* sums = nullptr; ///< two for each item: of the differences' squares and of the reference's
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    void* const* pointers = nullptr;
    MadeValue made;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        if (item * kCompareTile >= e.count)
            return;
        const std::int64_t end = smaller(e.count, (item + 1) * kCompareTile);
        double difference = 0;
        double squares = 0;
        for (std::int64_t i = item * kCompareTile + lanes.lane(); i < end; i += lanes.count()) {
            const std::int64_t index = e.map.at(i);
            const double r = static_cast<double>(e.reference.data != nullptr ? e.reference.at(index) : made.at(index));
            squares += r * r;
            if (e.addends == 0)
                continue;
            double value = 0;
            for (std::int64_t a = 0; a < e.addends; ++a) {
                Elements addend;
                addend.data = pointers[e.firstAddend + a];
                addend.half = e.half;
                const double x = static_cast<double>(addend.at(i));
                value = a == 0 ? x : e.highest != 0 ? (value < x ? x : value) : value + x;
            }
            difference += (value - r) * (value - r);
        }
        difference = lanes.sumOfDoubles(difference);
        squares = lanes.sumOfDoubles(squares);
        if (lanes.lane() == 0) {
            e.sums[2 * item] = difference;
            e.sums[2 * item + 1] = squares;
        }
    }
};

} // namespace shardboard::engine::bodies

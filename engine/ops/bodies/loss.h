// SPDX-License-Identifier: Apache-2.0
// Cross-entropy in its pieces, row by row: a row are the columns of the logits that a device has.
#pragma once

#include "engine/ops/bodies/fill.h"

namespace shardboard::engine::bodies {

enum class Loss : std::int32_t { Highest, Sum, Target, Token, Gradient };

struct LossBody {
    struct Entry {
        Elements logits, first, second, third, out; ///< the further operands in their order; of Token all of them
        std::int64_t rows = 0;
        std::int64_t n = 0;
        std::int64_t firstColumn = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    Loss kind = Loss::Highest;
    float scale = 1;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t device) const
    {
        using Math = typename Lanes::Math;
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        const auto logits = lanes.view(e.logits);
        const std::int64_t at = row * e.n;
        if (kind == Loss::Highest) {
            const float highest = highestOf(lanes, e.n, [&](std::int64_t i) { return logits.at(at + i); });
            if (lanes.lane() == 0)
                e.out.set(row, highest);
        } else if (kind == Loss::Sum) {
            const float highest = e.first.at(row);
            typename Lanes::Sum sum = 0;
            addUp<1, 8192>(lanes, e.n, false, &sum,
                           [&](std::int64_t i, auto, auto* values) { values[0][0] = Math::exp(logits.at(at + i) - highest); });
            sum = lanes.sum(sum);
            if (lanes.lane() == 0)
                e.out.set(row, static_cast<float>(sum));
        } else if (kind == Loss::Target) {
            if (lanes.lane() == 0) {
                const std::int64_t column = columnOf(e, e.first.at(row));
                e.out.set(row, column < 0 ? 0.0f : e.logits.at(at + column));
            }
        } else if (kind == Loss::Token) {
            if (lanes.lane() == 0) {
                const double value = log(static_cast<double>(e.second.at(row)))
                    + (static_cast<double>(e.first.at(row)) - static_cast<double>(e.third.at(row)));
                e.out.set(row, static_cast<float>(value * static_cast<double>(scale)));
            }
        } else {
            const auto out = lanes.view(e.out);
            const float target = e.third.at(row);
            const float highest = e.first.at(row);
            if (target < 0)
                return forEachOf(lanes, e.n, false, [&](std::int64_t i, auto) { out.set(at + i, 0.0f); });
            const float factor = scale / e.second.at(row);
            const std::int64_t column = columnOf(e, target);
            const float one = scale;
            forEachOf(lanes, e.n, false, [&](std::int64_t i, auto) {
                const float p = Math::exp(logits.at(at + i) - highest) * factor;
                out.set(at + i, !Lanes::kVectorLoops && i == column ? p - one : p); // a vector loop leaves it for later
            });
            if (Lanes::kVectorLoops && column >= 0)
                out.set(at + column, out.at(at + column) - one);
        }
    }

private:
    /// The target's column on this device, or -1.
    static SHARDBOARD_BOTH std::int64_t columnOf(const Entry& e, float target)
    {
        const std::int64_t column = static_cast<std::int64_t>(target) - e.firstColumn;
        return target >= 0 && column >= 0 && column < e.n ? column : -1;
    }
};

} // namespace shardboard::engine::bodies

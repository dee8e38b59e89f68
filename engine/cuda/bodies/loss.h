// SPDX-License-Identifier: Apache-2.0
// Cross-entropy in its pieces, row by row: a row are the columns of the logits that a device has.
#pragma once

#include "engine/cuda/bodies/fill.h"

#include <math.h>

namespace shardboard::engine::cuda {

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
        const Entry& e = entries[device];
        if (row >= e.rows)
            return;
        const std::int64_t at = row * e.n;
        if (kind == Loss::Highest) {
            float highest = -INFINITY;
            for (std::int64_t i = lanes.lane(); i < e.n; i += lanes.count())
                highest = largerOf(highest, e.logits.at(at + i));
            highest = lanes.highest(highest);
            if (lanes.lane() == 0)
                e.out.set(row, highest);
        } else if (kind == Loss::Sum) {
            const float highest = e.first.at(row);
            typename Lanes::Sum sum = 0;
            for (std::int64_t i = lanes.lane(); i < e.n; i += lanes.count())
                sum += expf(e.logits.at(at + i) - highest);
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
            const float target = e.third.at(row);
            const float highest = e.first.at(row);
            const float factor = scale / e.second.at(row);
            const std::int64_t column = columnOf(e, target);
            for (std::int64_t i = lanes.lane(); i < e.n; i += lanes.count()) {
                const float p = target < 0 ? 0.0f : expf(e.logits.at(at + i) - highest) * factor;
                e.out.set(at + i, i == column ? p - scale : p);
            }
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

} // namespace shardboard::engine::cuda

// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers, element by element.
#pragma once

#include "engine/ops/bodies/fill.h"

namespace shardboard::engine::bodies {

/// The first step of AdamW, whose moments start at 0; the result may lie where the gradient is.
struct AdamBody {
    struct Entry {
        Elements weight, gradient, out; ///< a weight without memory is made
        BoxMap map;
        std::int64_t count = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    float newM = 0, newV = 0; ///< shares of the gradient and its square in the moments
    float correctV = 0; ///< of the root of the second moment, that of the first is part of the rate
    float epsilon = 0;
    float rate = 0;
    float keepW = 0; ///< what the decay leaves
    MadeValue made;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t device) const
    {
        const Entry& e = entries[device];
        const std::int64_t first = item * kTile;
        const std::int64_t n = smaller(kTile, e.count - first);
        const auto weight = lanes.view(e.weight);
        const auto gradient = lanes.view(e.gradient);
        const auto out = lanes.view(e.out);
        const AdamBody f = *this; // out is no part of it
        const auto step = [&](std::int64_t i, float w) {
            const float g = gradient.at(i);
            const float m = f.newM * g;
            const float v = f.newV * g * g;
            out.set(i, f.keepW * w - f.rate * m / (sqrtf(v) * f.correctV + f.epsilon));
        };
        if (e.weight.data != nullptr)
            forEachOf(lanes, n, false, [&](std::int64_t i, auto) { step(first + i, weight.at(first + i)); });
        else
            forEachOf(lanes, n, false, [&](std::int64_t i, auto) { step(first + i, made.at(e.map.at(first + i))); });
    }
};

} // namespace shardboard::engine::bodies

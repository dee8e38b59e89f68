// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/measuredop.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

double MeasuredOp::factorAt(const std::array<double, 3>& size) const
{
    double sum = 0;
    double weights = 0;
    for (const MeasuredSize& one : sizes) {
        double distance = kNear;
        for (std::size_t i = 0; i < size.size(); ++i)
            distance += (one.size[i] - size[i]) * (one.size[i] - size[i]);
        const double weight = 1 / (distance * distance);
        sum += weight * std::log(one.factor);
        weights += weight;
    }
    return weights > 0 ? std::exp(sum / weights) : 1;
}

const MeasuredOp* findMeasured(const std::vector<MeasuredOp>& all, std::string_view op)
{
    const auto found = std::ranges::find(all, op, &MeasuredOp::op);
    return found == all.end() ? nullptr : &*found;
}

} // namespace shardboard

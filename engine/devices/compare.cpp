// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/compare.h"

#include "engine/devices/executor.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardboard::engine {

std::vector<std::int64_t> addendsOf(const Sharded& y, std::int64_t device)
{
    std::vector<int> axes;
    for (const AxisRef& ref : y.layout().partial) {
        if (y.mesh().coordinate(device, ref.axis) != 0)
            return {};
        axes.push_back(ref.axis);
    }
    return y.mesh().group(device, axes);
}

double worstError(const std::vector<SquareSums>& devices, double among)
{
    SquareSums all;
    for (const SquareSums& device : devices) {
        all.reference += device.reference;
        all.count += device.count;
    }
    double worst = 0;
    for (const SquareSums& device : devices) {
        if (device.count == 0 || device.difference == 0)
            continue;
        const double average = all.reference / static_cast<double>(all.count) * static_cast<double>(device.count);
        const double size = std::max({ device.reference, average, among * static_cast<double>(device.count) });
        const double error = std::sqrt(device.difference / size);
        worst = std::max(worst, std::isfinite(error) ? error : std::numeric_limits<double>::infinity());
    }
    return worst;
}

double relativeError(Context& context, const Sharded& y, const Sharded& reference, double among)
{
    context.work.touched += static_cast<double>(y.totalElements()) * 4;
    return context.executor.relativeError(context, y, reference, among);
}

double meanSquare(Context& context, const Sharded& reference)
{
    context.work.touched += static_cast<double>(reference.elements(0));
    return context.executor.meanSquare(context, reference);
}

} // namespace shardboard::engine

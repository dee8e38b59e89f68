// SPDX-License-Identifier: Apache-2.0
#include "model/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace shardboard {

namespace {

double ofSorted(const std::vector<double>& sorted, double part)
{
    if (sorted.empty())
        return 0;
    const double place = std::clamp(part, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

} // namespace

double quantile(std::vector<double> samples, double part)
{
    std::ranges::sort(samples);
    return ofSorted(samples, part);
}

Spread spreadOf(std::vector<double> samples)
{
    std::ranges::sort(samples);
    if (samples.empty())
        return {};
    return { ofSorted(samples, 0.5), samples.front(), samples.back(), ofSorted(samples, 0.25), ofSorted(samples, 0.75) };
}

} // namespace shardboard

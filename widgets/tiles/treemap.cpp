// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/treemap.h"

#include <algorithm>
#include <numeric>

namespace shardboard {

namespace {

/// The worst ratio of sides of a row of areas from `least` to `most` that sum up to `sum`, along a side.
double worst(double least, double most, double sum, double side)
{
    const double square = side * side;
    const double whole = sum * sum;
    return std::max(square * most / whole, whole / (square * least));
}

} // namespace

std::vector<QRectF> treemap(const std::vector<double>& values, const QRectF& area)
{
    std::vector<QRectF> out(values.size());
    std::vector<std::size_t> order;
    double total = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] > 0) {
            order.push_back(i);
            total += values[i];
        }
    if (order.empty() || area.isEmpty())
        return out;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    const double scale = area.width() * area.height() / total;
    const auto areaOf = [&](std::size_t at) { return values[order[at]] * scale; };
    QRectF rest = area;
    for (std::size_t first = 0; first < order.size();) {
        const double side = std::min(rest.width(), rest.height());
        // As many in the row as make it squarer; values fall, so the first is the largest and the last the smallest.
        double sum = areaOf(first);
        std::size_t end = first + 1;
        while (end < order.size()
               && worst(areaOf(end), areaOf(first), sum + areaOf(end), side) <= worst(areaOf(end - 1), areaOf(first), sum, side))
            sum += areaOf(end++);
        const bool upright = rest.width() >= rest.height(); // the row is a column at the left
        const double thick = end == order.size() ? (upright ? rest.width() : rest.height()) : sum / side;
        double at = upright ? rest.top() : rest.left();
        for (std::size_t i = first; i < end; ++i) {
            const double limit = upright ? rest.bottom() : rest.right();
            const double length = i + 1 == end ? limit - at : areaOf(i) / sum * side;
            out[order[i]] = upright ? QRectF(rest.left(), at, thick, length) : QRectF(at, rest.top(), length, thick);
            at += length;
        }
        rest = upright ? rest.adjusted(thick, 0, 0, 0) : rest.adjusted(0, thick, 0, 0);
        first = end;
    }
    return out;
}

} // namespace shardboard

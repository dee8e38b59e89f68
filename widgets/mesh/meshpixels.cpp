// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshpixels.h"

#include "widgets/canvas/viewport.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kLeast = 1.9; ///< pixels of a device that has them to itself
constexpr std::ptrdiff_t kWithGap = 3; ///< pixels of a cell of which the last one is left to the gap

/// What lies on a pixel along one direction: cells, or a gap in a unit.
struct Span {
    int begin = 0; ///< columns or rows
    int end = 0;
    int gapIn = 0; ///< index of the tone where there are none
    friend bool operator==(const Span&, const Span&) = default;
};

std::vector<Span> along(bool across, const MeshGrid& grid, const Viewport& viewport, const QRect& area, double ratio)
{
    const auto length = static_cast<std::ptrdiff_t>(std::lround((across ? area.width() : area.height()) * ratio));
    std::vector<Span> out(static_cast<std::size_t>(length), Span { 0, 0, grid.tierCount() + 1 });
    const double origin = across ? area.left() : area.top();
    const auto pixel = [&](double world) {
        const QPointF at = viewport.toScreen(across ? QPointF(world, 0) : QPointF(0, world));
        return std::clamp((across ? at.x() : at.y()) - origin, -1e6, 1e6) * ratio;
    };
    const std::int64_t cells = across ? grid.columns() : grid.rows();
    /// The pixels of each unit of a tier, from left to right.
    const auto each = [&](int tier, const auto& act) {
        const std::int64_t step = across ? grid.unitColumns(tier) : grid.unitRows(tier);
        const double extent = across ? grid.unitSize(tier).width() : grid.unitSize(tier).height();
        for (std::int64_t cell = 0; cell < cells; cell += step) {
            const double begin = across ? grid.columnLeft(cell) : grid.rowTop(cell);
            act(static_cast<int>(cell), pixel(begin), pixel(begin + extent));
        }
    };
    const auto within = [&](std::ptrdiff_t from, std::ptrdiff_t to, const auto& act) {
        for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(from, 0); i < std::min(to, length); ++i)
            act(out[static_cast<std::size_t>(i)]);
    };
    const QRectF world = grid.world();
    within(std::lround(pixel(across ? world.left() : world.top())), std::lround(pixel(across ? world.right() : world.bottom())),
           [&](Span& span) { span.gapIn = grid.tierCount(); });
    for (int tier = grid.tierCount() - 1; tier >= 0; --tier)
        each(tier, [&](int, double from, double to) {
            within(std::lround(from), std::lround(to), [&](Span& span) { span.gapIn = tier; });
        });
    const bool single = viewport.scale() * ratio >= kLeast;
    each(MeshGrid::kDevices, [&](int cell, double from, double to) {
        std::ptrdiff_t first = single ? std::lround(from) : static_cast<std::ptrdiff_t>(std::floor(from));
        std::ptrdiff_t last = single ? std::lround(to) : static_cast<std::ptrdiff_t>(std::floor(to - 1e-9)) + 1;
        last -= single && last - first >= kWithGap ? 1 : 0;
        within(first, last, [&](Span& span) {
            span.begin = single || span.end == 0 ? cell : span.begin;
            span.end = cell + 1;
        });
    });
    // Units whose gap is less than a pixel are told apart all the same.
    constexpr double kParted = 8;
    const auto extent = [&](int tier) {
        return (across ? grid.unitSize(tier).width() : grid.unitSize(tier).height()) * viewport.scale() * ratio;
    };
    int tier = 0;
    while (tier < grid.tierCount() && extent(tier) < kParted)
        ++tier;
    if (!single && tier < grid.tierCount())
        each(tier, [&](int, double, double to) {
            const auto last = static_cast<std::ptrdiff_t>(std::lround(to)) - 1;
            within(last, last + 1, [&](Span& span) { span = { 0, 0, tier + 1 }; });
        });
    return out;
}

struct Sum {
    int red = 0;
    int green = 0;
    int blue = 0;
    int count = 0;
};

} // namespace

QImage meshPixels(const MeshScene& scene, const Viewport& viewport, const QRect& area, double ratio, const std::vector<QRgb>& tones)
{
    const std::vector<Span> columns = along(true, scene.grid, viewport, area, ratio);
    const std::vector<Span> rows = along(false, scene.grid, viewport, area, ratio);
    QImage out(static_cast<int>(columns.size()), static_cast<int>(rows.size()), QImage::Format_ARGB32_Premultiplied);
    std::vector<Sum> sums(columns.size());
    for (int y = 0; y < out.height(); ++y) {
        auto* line = reinterpret_cast<QRgb*>(out.scanLine(y));
        const Span& row = rows[static_cast<std::size_t>(y)];
        if (y > 0 && row == rows[static_cast<std::size_t>(y) - 1]) {
            std::copy_n(reinterpret_cast<const QRgb*>(out.constScanLine(y - 1)), columns.size(), line);
            continue;
        }
        std::fill(sums.begin(), sums.end(), Sum {});
        for (int cell = row.begin; cell < row.end; ++cell) {
            const auto* from = reinterpret_cast<const QRgb*>(scene.image.constScanLine(cell));
            for (std::size_t x = 0; x < columns.size(); ++x) {
                Sum& sum = sums[x];
                for (int i = columns[x].begin; i < columns[x].end; ++i)
                    if (const QRgb color = from[i]; qAlpha(color) > 0) {
                        sum.red += qRed(color);
                        sum.green += qGreen(color);
                        sum.blue += qBlue(color);
                        ++sum.count;
                    }
            }
        }
        for (std::size_t x = 0; x < columns.size(); ++x) {
            const Sum& sum = sums[x];
            if (sum.count == 1)
                line[x] = qRgb(sum.red, sum.green, sum.blue);
            else if (sum.count > 1)
                line[x] = qRgb(sum.red / sum.count, sum.green / sum.count, sum.blue / sum.count);
            else if (row.end > 0 && columns[x].end > 0) // no device in a line that is not full
                line[x] = tones[static_cast<std::size_t>(scene.grid.tierCount())];
            else // of the outermost of the two
                line[x] = tones[static_cast<std::size_t>(
                    std::max(row.end > 0 ? 0 : row.gapIn, columns[x].end > 0 ? 0 : columns[x].gapIn))];
        }
    }
    return out;
}

} // namespace shardboard

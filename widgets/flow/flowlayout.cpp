// SPDX-License-Identifier: Apache-2.0
#include "widgets/flow/flowlayout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardboard {

namespace {

constexpr double kMargin = 16;
constexpr double kTop = 10;
constexpr double kLineGap = 15;
constexpr double kBetweenHanging = 6;
constexpr double kUnderHanging = 8;

} // namespace

FlowPlacement placeFlow(const std::vector<FlowBox>& boxes, double width, double textScale)
{
    const double high = kFlowBoxHeight * textScale;
    const double hung = kFlowHangingHeight * textScale;
    FlowPlacement out;
    std::vector<QRectF>& rects = out.rects;
    rects.assign(boxes.size(), QRectF());
    const double right = std::max(200.0, width) - kMargin;
    double widest = width;
    double x = kMargin;
    double y = kTop;
    std::size_t lineStart = 0;
    // A line is moved down when one of its items has a collective hanging above it.
    const auto finishLine = [&](std::size_t end) {
        const bool hanging =
            std::any_of(boxes.begin() + static_cast<std::ptrdiff_t>(lineStart), boxes.begin() + static_cast<std::ptrdiff_t>(end),
                        [](const FlowBox& box) { return box.hanging; });
        if (hanging)
            for (std::size_t i = lineStart; i < end; ++i)
                if (!boxes[i].hanging)
                    rects[i].translate(0, hung + kUnderHanging);
        y += high + kLineGap + (hanging ? hung + kUnderHanging : 0);
        x = kMargin;
        lineStart = end;
    };
    for (std::size_t i = 0; i < boxes.size();) {
        std::size_t owner = i; // hanging ones go with the item that they belong to
        while (owner + 1 < boxes.size() && boxes[owner].hanging)
            ++owner;
        double above = owner > i ? -kBetweenHanging : 0;
        for (std::size_t k = i; k < owner; ++k)
            above += boxes[k].size.width() + kBetweenHanging;
        const double own = boxes[owner].size.width();
        const double needed = std::max(above, own);
        if (x > kMargin && x + needed > right)
            finishLine(i);
        double at = x + std::max(0.0, (own - above) / 2);
        for (std::size_t k = i; k < owner; ++k) {
            rects[k] = QRectF(at, y, boxes[k].size.width(), hung);
            at += boxes[k].size.width() + kBetweenHanging;
        }
        rects[owner] = QRectF(QPointF(x + std::max(0.0, (above - own) / 2), y), boxes[owner].size);
        x += needed + kFlowGap;
        widest = std::max(widest, x - kFlowGap + kMargin);
        i = owner + 1;
    }
    finishLine(boxes.size());
    out.size = QSizeF(widest, boxes.empty() ? 0 : y - kLineGap + kTop);
    return out;
}

int flowNeighbour(const std::vector<QRectF>& rects, int index, int dx, int dy)
{
    const int count = static_cast<int>(rects.size());
    if (count == 0)
        return -1;
    if (index < 0 || index >= count)
        return 0;
    if (dy == 0)
        return std::clamp(index + dx, 0, count - 1);
    const QPointF from = rects[static_cast<std::size_t>(index)].center();
    int best = index;
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < count; ++i) {
        const QPointF way = rects[static_cast<std::size_t>(i)].center() - from;
        const double along = way.y() * dy;
        const double far = 4 * along + std::abs(way.x());
        if (along > kFlowHangingHeight / 2 && far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

double flowStroke(double amount, double largest)
{
    constexpr double kThin = 2;
    constexpr double kThick = 14;
    if (amount <= 0 || largest <= 0)
        return kThin;
    return kThin + 1 + (kThick - kThin - 1) * std::sqrt(std::min(1.0, amount / largest));
}

} // namespace shardboard

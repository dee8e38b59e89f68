// SPDX-License-Identifier: Apache-2.0
#include "widgets/canvas/overviewmap.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr double kLargest = 150; ///< of its sides, in pixels
constexpr double kShare = 0.3; ///< of the view's sides
constexpr double kLeast = 28;
constexpr double kRoom = 120; ///< smaller views have no map
constexpr double kMargin = 6; ///< to the corner
constexpr double kPadding = 3;
constexpr double kHold = 8;

} // namespace

OverviewMap::OverviewMap(const Viewport& viewport, bool atLeft)
{
    const QRectF& view = viewport.view();
    const QRectF& world = viewport.world();
    if (viewport.isFitted() || world.isEmpty() || view.width() < kRoom || view.height() < kRoom)
        return;
    const double width = std::min(kLargest, view.width() * kShare);
    const double height = std::min(kLargest, view.height() * kShare);
    const double scale = std::min(width / world.width(), height / world.height());
    const QSizeF size(std::max(kLeast, world.width() * scale), std::max(kLeast, world.height() * scale));
    m_rect = QRectF(QPointF(atLeft ? view.left() + kMargin : view.right() - kMargin - size.width(),
                            view.bottom() - kMargin - size.height()),
                    size)
                 .toAlignedRect();
    m_small.setView(m_rect.adjusted(kPadding, kPadding, -kPadding, -kPadding));
    m_small.setWorld(world, 1e9);
}

QRectF OverviewMap::frame(const Viewport& viewport) const
{
    QRectF frame = m_small.toScreen(viewport.visibleWorld());
    const double wide = std::max(0.0, kHold - frame.width()) / 2;
    const double high = std::max(0.0, kHold - frame.height()) / 2;
    frame.adjust(-wide, -high, wide, high);
    return frame.intersected(m_rect);
}

} // namespace shardboard

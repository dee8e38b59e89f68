// SPDX-License-Identifier: Apache-2.0
// The map of a whole drawing in a corner of its view, with a frame around the part that the view shows. Pure geometry.
#pragma once

#include "widgets/canvas/viewport.h"

namespace shardboard {

class OverviewMap {
public:
    OverviewMap() = default;
    /// At the lower right of the view, or at the left, of the world's shape. None while all of the world is in sight, or where
    /// there is little room.
    explicit OverviewMap(const Viewport& viewport, bool atLeft = false);

    bool isEmpty() const { return m_rect.isEmpty(); }
    const QRectF& rect() const { return m_rect; } ///< on the widget
    /// From the world to the map.
    const Viewport& small() const { return m_small; }
    /// The part of the world that the view shows, on the map; never smaller than can be taken hold of.
    QRectF frame(const Viewport& viewport) const;
    QPointF worldAt(const QPointF& screen) const { return m_small.toWorld(screen); }

private:
    QRectF m_rect;
    Viewport m_small;
};

} // namespace shardboard

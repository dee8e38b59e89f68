// SPDX-License-Identifier: Apache-2.0
// The hatching of parts on pixels. Qt hands a pattern of more than about a hundred rows to a pool of threads, and to wake those
// takes longer than to draw it.
#pragma once

#include "widgets/look/devicecolors.h"

#include <QPaintEngine>
#include <QPainter>

#include <algorithm>

namespace shardboard {

/// Draws the hatching of a colour over a rectangle, if it has one; on pixels in bands, which look like one.
inline void fillHatched(QPainter& painter, const QRect& rect, const PartColor& color)
{
    if (color.hatch == Qt::NoBrush)
        return;
    const QBrush brush(color.hatchColor, color.hatch);
    if (painter.paintEngine()->type() != QPaintEngine::Raster || painter.transform().type() > QTransform::TxTranslate) {
        painter.fillRect(rect, brush);
        return;
    }
    constexpr double kRows = 90;
    const int band = std::max(1, static_cast<int>(kRows / painter.device()->devicePixelRatioF()));
    for (int top = rect.top(); top <= rect.bottom(); top += band)
        painter.fillRect(QRect(rect.left(), top, rect.width(), std::min(band, rect.bottom() - top + 1)), brush);
}

} // namespace shardboard

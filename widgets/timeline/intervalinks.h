// SPDX-License-Identifier: Apache-2.0
// How each kind of interval is drawn. The hue is the kind's; what was predicted is hatched and outlined, so that hue never stands
// alone.
#pragma once

#include "model/timeline/lanes.h"
#include "widgets/look/hues.h"
#include "widgets/look/theme.h"

#include <QPainter>

namespace shardboard {

/// Of all kinds but idle, which is the ground with dots.
inline QColor intervalColor(IntervalKind kind, const Theme& theme)
{
    switch (kind) {
    case IntervalKind::Forward:
        return partColor(0).fill;
    case IntervalKind::Recompute:
        return partColor(1).fill;
    case IntervalKind::Backward:
        return partColor(2).fill;
    case IntervalKind::Collective:
        return partColor(3).fill;
    case IntervalKind::Hidden:
        return blended(theme.panel, partColor(3).fill, 0.55);
    case IntervalKind::Update:
        return partColor(5).fill;
    case IntervalKind::Other:
        return blended(theme.panel, theme.quiet, 0.55);
    case IntervalKind::Idle:
        break;
    }
    return theme.track;
}

inline QColor intervalInk(IntervalKind kind, const Theme& theme)
{
    if (kind == IntervalKind::Idle)
        return theme.quiet;
    const QColor fill = intervalColor(kind, theme);
    const QColor dark(QRgb(0xff0b0d10u));
    return contrastRatio(fill, Qt::white) >= 4.5 ? QColor(Qt::white) : dark;
}

inline void paintIdle(QPainter& painter, const QRectF& rect, const Theme& theme)
{
    painter.fillRect(rect, QBrush(blended(theme.window, theme.quiet, 0.5), Qt::Dense7Pattern));
}

inline void paintPredicted(QPainter& painter, const QRectF& rect, IntervalKind kind, const Theme& theme)
{
    const QColor color = intervalColor(kind, theme);
    painter.fillRect(rect, blended(theme.panel, color, 0.35));
    painter.fillRect(rect, QBrush(color, Qt::BDiagPattern));
    if (rect.width() >= 3) {
        painter.setPen(QPen(color, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

} // namespace shardboard

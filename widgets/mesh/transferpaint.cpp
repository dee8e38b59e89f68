// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/transferpaint.h"

#include "widgets/look/theme.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace shardboard {

void paintTransfers(QPainter& painter, const std::vector<Arrow>& arrows, double progress, double dot, const Theme& theme)
{
    const double ease = progress * progress * (3 - 2 * progress);
    const bool moving = progress < 1;
    for (const Arrow& arrow : arrows) {
        // A little bowed, so that the way around a ring and the way back do not lie on each other.
        const QPointF way = arrow.to - arrow.from;
        const double length = std::hypot(way.x(), way.y());
        const QPointF side = QPointF(-way.y(), way.x()) / std::max(length, 1.0) * std::min(26.0, length * 0.16);
        const QPointF control = (arrow.from + arrow.to) / 2 - side;
        QPainterPath path(arrow.from);
        path.quadTo(control, arrow.to);
        QColor halo = theme.window;
        halo.setAlphaF(0.85f);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(halo, 4));
        painter.drawPath(path);
        painter.setPen(QPen(theme.text, moving ? 1.2 : 1.8));
        painter.drawPath(path);
        const auto head = [&](const QPointF& tip, const QPointF& from) {
            const QPointF along = tip - from;
            const double size = std::hypot(along.x(), along.y());
            if (size < 1)
                return;
            const QPointF unit = along / size;
            const QPointF across(-unit.y(), unit.x());
            const double reach = std::min(8.0, length / 3);
            painter.setPen(Qt::NoPen);
            painter.setBrush(theme.text);
            painter.drawPolygon(
                QPolygonF { tip, tip - unit * reach + across * reach * 0.45, tip - unit * reach - across * reach * 0.45 });
        };
        head(arrow.to, control);
        if (arrow.both)
            head(arrow.from, control);
        if (!moving)
            continue;
        const auto put = [&](double t) {
            const QPointF at = arrow.from * ((1 - t) * (1 - t)) + control * (2 * t * (1 - t)) + arrow.to * (t * t);
            painter.setPen(QPen(halo, 1.5));
            painter.setBrush(theme.accent);
            painter.drawEllipse(at, dot, dot);
        };
        put(ease);
        if (arrow.both)
            put(1 - ease);
    }
}

} // namespace shardboard

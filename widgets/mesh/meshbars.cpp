// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshbars.h"

#include "widgets/canvas/viewport.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

namespace shardboard {

namespace {

constexpr double kAbove = MeshGrid::kBarAbove;
constexpr double kBar = MeshGrid::kBar;
constexpr double kLongestName = 80; ///< pixels along a bar that is shorter

/// `model 0`, `model 1`, … along a bar, numbers alone, or the axis with its size, whichever has room.
void paintLabels(QPainter& painter, const MeshBar& bar, const Mesh& mesh, const MeshGrid& grid, const Viewport& viewport,
                 const QRectF& area, double text)
{
    const QFontMetricsF metrics(painter.font());
    const QString name = qstr(mesh.axis(bar.axis).name);
    const std::int64_t size = mesh.axis(bar.axis).size;
    const double room = kBar * text - 3;
    // At `from` to `to` along the bar, beside it.
    const auto label = [&](double from, double to, const QString& words) {
        if (bar.across) {
            painter.drawText(QRectF(from, bar.rect.bottom() + 1, to - from, room), Qt::AlignCenter, words);
            return;
        }
        painter.save();
        painter.translate(bar.rect.right() + room / 2, (from + to) / 2);
        painter.rotate(-90);
        painter.drawText(QRectF((from - to) / 2, -12 * text, to - from, 24 * text), Qt::AlignCenter, words);
        painter.restore();
    };
    const double begin = bar.across ? bar.rect.left() : bar.rect.top();
    const double end = bar.across ? bar.rect.right() : bar.rect.bottom();
    const auto& levels = bar.across ? grid.across() : grid.down();
    const bool whole = levels[bar.level].whole;
    std::int64_t inside = 1; // cells of a step
    for (std::size_t i = 0; whole && i < bar.level; ++i)
        inside *= levels[i].size;
    const std::int64_t cells = bar.across ? grid.columns() : grid.rows();
    const auto beginOf = [&](std::int64_t cell) { return bar.across ? grid.columnLeft(cell) : grid.rowTop(cell); };
    const double step = (beginOf(inside - 1) + (bar.across ? 1 : grid.cellHeight())) * viewport.scale();
    const bool named = whole && metrics.horizontalAdvance(QStringLiteral("%1 %2").arg(name).arg(size - 1)) + 4 < step;
    const bool numbered = whole && metrics.horizontalAdvance(QString::number(size - 1)) + 4 < step;
    if (!named && !numbered) {
        const QString devices = QCoreApplication::translate("shardboard::MeshBar", "%1, %2 devices").arg(name, countText(size));
        const QString brief = QStringLiteral("%1 (%2)").arg(name, countText(size));
        const bool alone = bar.across && mesh.deviceCount() == size;
        // The name may be longer than a short bar, but reaches into nothing above or below the grid.
        const double most = bar.across ? kLongestName * text : std::min(kLongestName * text, area.height());
        const double length = std::max(end - begin, std::min(metrics.horizontalAdvance(brief) + 4, most));
        const double middle = (begin + end) / 2;
        const double to = bar.across
            ? middle + length / 2
            : std::clamp(middle + length / 2, std::min(end, area.top() + length), std::max(end, area.bottom()));
        label(to - length, to,
              alone && metrics.horizontalAdvance(devices) <= end - begin ? devices
                                                                         : metrics.elidedText(brief, Qt::ElideRight, length));
        return;
    }
    for (std::int64_t cell = 0; cell < cells; cell += inside) {
        const double from =
            (bar.across ? viewport.toScreen(QPointF(beginOf(cell), 0)).x() : viewport.toScreen(QPointF(0, beginOf(cell))).y());
        if (from + step < begin - 1 || from > end + 1 || (from + from + step) / 2 < begin || (from + from + step) / 2 > end)
            continue;
        const std::int64_t coordinate = cell / inside % size;
        label(from, from + step, named ? QStringLiteral("%1 %2").arg(name).arg(coordinate) : QString::number(coordinate));
    }
}

} // namespace

QSizeF roomForBars(const MeshGrid& grid, double text)
{
    const auto left = static_cast<double>(barsOf(grid.down()).size());
    const auto above = static_cast<double>(std::max<std::size_t>(barsOf(grid.across()).size(), 1));
    return { kBar * text * left, kAbove * text + kBar * text * (above - 1) };
}

std::vector<MeshBar> meshBars(const Mesh& mesh, const MeshGrid& grid, const QRectF& seen, double text)
{
    std::vector<MeshBar> out;
    if (mesh.axisCount() == 0)
        return out;
    const auto addAbove = [&](int axis, std::size_t level, double y) {
        out.push_back(
            { axis, true, level, QRectF(seen.left(), y, seen.width(), 3), QRectF(seen.left(), y - 4, seen.width(), kBar * text) });
    };
    double y = seen.top() - kAbove * text;
    for (const std::size_t level : barsOf(grid.across())) {
        addAbove(grid.across()[level].axis, level, y);
        y -= kBar * text;
    }
    double x = seen.left() - kBar * text;
    for (const std::size_t level : barsOf(grid.down())) {
        out.push_back({ grid.down()[level].axis, false, level, QRectF(x, seen.top(), 3, seen.height()),
                        QRectF(x - 4, seen.top(), kBar * text, seen.height()) });
        x -= kBar * text;
    }
    return out;
}

void paintMeshBars(QPainter& painter, const std::vector<MeshBar>& bars, const Mesh& mesh, const MeshGrid& grid,
                   const Viewport& viewport, const QRectF& area, const QWidget* widget)
{
    painter.setFont(uiFont(widget, -1.5));
    for (const MeshBar& bar : bars) {
        painter.fillRect(bar.rect, axisColor(mesh, bar.axis));
        painter.setPen(Theme::of(widget).quiet);
        paintLabels(painter, bar, mesh, grid, viewport, area, textScale(widget));
    }
}

} // namespace shardboard

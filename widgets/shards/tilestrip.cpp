// SPDX-License-Identifier: Apache-2.0
#include "widgets/shards/tilestrip.h"

#include "widgets/look/devicecolors.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/shards/tileedge.h"

#include <QPainter>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kHeight = 72;

/// From elements to a place along a side, in whole pixels.
double placed(std::int64_t at, std::int64_t size, double from, double length)
{
    return std::round(from + length * static_cast<double>(at) / static_cast<double>(std::max<std::int64_t>(size, 1)));
}

/// Where a tile is drawn; neighbours have a gap between them unless they are tiny.
QRectF boxOf(const TileScene& scene, const Tile& tile, const QRectF& room)
{
    const Range& rows = scene.rows[static_cast<std::size_t>(tile.row)].range;
    const Range& columns = scene.columns[static_cast<std::size_t>(tile.column)].range;
    const double left = placed(columns.lo, scene.columnSize, room.left(), room.width());
    const double right = placed(columns.hi, scene.columnSize, room.left(), room.width());
    const double top = placed(rows.lo, scene.rowSize, room.top(), room.height());
    const double bottom = placed(rows.hi, scene.rowSize, room.top(), room.height());
    const double gapX = right - left > 5 && right < room.right() ? 1 : 0;
    const double gapY = bottom - top > 5 && bottom < room.bottom() ? 1 : 0;
    return { left, top, std::max(1.0, right - left - gapX), std::max(1.0, bottom - top - gapY) };
}

} // namespace

TileStrip::TileStrip(QWidget* parent)
    : QWidget(parent)
{
    nameWidget(this, "tileStrip", tr("Tiles as they would be"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize TileStrip::sizeHint() const { return { 160, kHeight }; }

void TileStrip::showWeight(const WeightLayout& weight, const Evaluation& evaluation)
{
    m_scene = makeTileScene(weight, &evaluation);
    m_empty = false;
    update();
}

void TileStrip::clear()
{
    m_scene = {};
    m_empty = true;
    update();
}

void TileStrip::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF room = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    if (m_empty || m_scene.replicated) {
        painter.setPen(QPen(theme.line, 1, m_empty ? Qt::DashLine : Qt::SolidLine));
        painter.setBrush(m_empty ? QBrush(Qt::NoBrush) : QBrush(theme.track));
        painter.drawRoundedRect(room, 3, 3);
        painter.setFont(uiFont(this, -1));
        painter.setPen(theme.quiet);
        painter.drawText(rect(), Qt::AlignCenter, m_empty ? tr("nothing to show") : wholeText(m_scene));
        return;
    }
    if (!m_scene.image.isNull())
        painter.drawImage(rect(), m_scene.image);
    else
        paintTiles(painter, QRectF(rect()));
}

void TileStrip::paintTiles(QPainter& painter, const QRectF& room)
{
    const QFont font = monoFont(this, -1.5);
    const QFontMetrics metrics(font);
    painter.setFont(font);
    // All tiles are labelled or none, so that an unlabelled one never looks like another kind of tile.
    const bool labelled = std::all_of(m_scene.tiles.begin(), m_scene.tiles.end(), [&](const Tile& tile) {
        const QRectF box = boxOf(m_scene, tile, room);
        return metrics.horizontalAdvance(tile.devices()) + 4 <= box.width() && metrics.height() <= box.height();
    });
    for (const Tile& tile : m_scene.tiles) {
        const QRectF box = boxOf(m_scene, tile, room);
        const PartColor color = m_scene.colors.at(tile.color);
        painter.fillRect(box, color.fill);
        if (color.hatch != Qt::NoBrush)
            painter.fillRect(box, QBrush(color.hatchColor, color.hatch));
        paintTileEdge(painter, box.toRect(), m_scene.rows[static_cast<std::size_t>(tile.row)],
                      m_scene.columns[static_cast<std::size_t>(tile.column)], color.label);
        if (!labelled)
            continue;
        painter.setPen(color.label);
        painter.drawText(box, Qt::AlignCenter, tile.devices());
    }
}

} // namespace shardboard

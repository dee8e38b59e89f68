// SPDX-License-Identifier: Apache-2.0
#include "widgets/shards/tileedge.h"

#include "widgets/shards/tilescene.h"

#include <QPainter>
#include <QPen>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kLeast = 6; ///< smaller tiles have no edge
constexpr int kBand = 5;

} // namespace

TileEdge edgeOf(const Band& row, const Band& column)
{
    return row.padded || column.padded ? TileEdge::Padded : row.uneven || column.uneven ? TileEdge::Uneven : TileEdge::Even;
}

void paintTileEdge(QPainter& painter, const QRect& tile, const Band& row, const Band& column, const QColor& ink)
{
    const TileEdge edge = edgeOf(row, column);
    if (edge == TileEdge::Even || std::min(tile.width(), tile.height()) < kLeast)
        return;
    const bool large = std::min(tile.width(), tile.height()) >= 4 * kLeast;
    QPen pen(ink, large ? 2 : 1, edge == TileEdge::Padded ? Qt::DotLine : Qt::CustomDashLine);
    if (edge == TileEdge::Uneven)
        pen.setDashPattern({ 5, 3 });
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    const QRect inner = large ? tile.adjusted(2, 2, -3, -3) : tile.adjusted(1, 1, -2, -2);
    painter.drawRect(inner);
    if (!large)
        return;
    const QBrush dots(ink, Qt::Dense5Pattern);
    if (column.padded)
        painter.fillRect(QRect(inner.right() - kBand, inner.top() + 2, kBand, inner.height() - 3), dots);
    if (row.padded)
        painter.fillRect(QRect(inner.left() + 2, inner.bottom() - kBand, inner.width() - 3, kBand), dots);
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// The edge of a tile that is not like the others, by pattern and not by colour: dashed where a cut is uneven, dotted with a band of
// dots along the side that is padded where it is filled up to the size of the others.
#pragma once

#include <QColor>
#include <QRect>

class QPainter;

namespace shardboard {

struct Band;

enum class TileEdge { Even, Uneven, Padded };
/// Of the tile where two bands meet.
TileEdge edgeOf(const Band& row, const Band& column);
/// Draws it inside a tile, unless it is too small for it. `ink` is to be seen on the tile's fill.
void paintTileEdge(QPainter& painter, const QRect& tile, const Band& row, const Band& column, const QColor& ink);

} // namespace shardboard

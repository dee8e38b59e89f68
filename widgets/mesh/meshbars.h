// SPDX-License-Identifier: Apache-2.0
// The mesh axes as bars above and at the left of the picture of a mesh, in their colours, with the coordinates along them.
#pragma once

#include "widgets/mesh/meshgrid.h"

#include <QRectF>
#include <QSizeF>

#include <cstddef>
#include <vector>

class QPainter;
class QWidget;

namespace shardboard {

class Viewport;

struct MeshBar {
    int axis = -1;
    bool across = false; ///< above the grid; else at its left
    std::size_t level = 0; ///< of MeshGrid::across() or down()
    QRectF rect; ///< line in the axis's colour
    QRectF zone; ///< line and labels
};

/// What they need at the left of the grid and above it. `text` is the scale of the text (textScale()).
QSizeF roomForBars(const MeshGrid& grid, double text);
/// Beside the part of the grid that is seen.
std::vector<MeshBar> meshBars(const Mesh& mesh, const MeshGrid& grid, const QRectF& seen, double text);
/// `area` is what there is for the grid: names stay above its lower edge.
void paintMeshBars(QPainter& painter, const std::vector<MeshBar>& bars, const Mesh& mesh, const MeshGrid& grid,
                   const Viewport& viewport, const QRectF& area, const QWidget* widget);

} // namespace shardboard

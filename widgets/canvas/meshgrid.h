// SPDX-License-Identifier: Apache-2.0
// An N-D mesh as a 2-D grid: the last mesh axis to the right, the others stacked downwards with a gap between groups.
// A mesh of one long axis is wrapped into lines. Pure; world units are cells.
#pragma once

#include "model/core/mesh.h"

#include <QPoint>
#include <QRectF>

#include <cstdint>

namespace shardboard {

class MeshGrid {
public:
    MeshGrid() = default;
    explicit MeshGrid(const Mesh& mesh);

    std::int64_t columns() const { return m_columns; }
    std::int64_t rows() const { return m_rows; }
    bool isWrapped() const { return m_wrapped; }
    /// Width and height of everything, in cells with gaps.
    QRectF world() const;
    /// Cell of a device position. The cell has a margin on each side inside it that the view draws as it likes.
    QRectF cell(std::int64_t position) const;
    /// Device position at a world point, or -1 (gaps and outside).
    std::int64_t positionAt(const QPointF& world) const;
    /// The position one step away, staying where there is none.
    std::int64_t moved(std::int64_t position, int dx, int dy) const;
    /// Top of a grid row in world units.
    double rowTop(std::int64_t row) const;

private:
    double gapsBefore(std::int64_t row) const;

    std::int64_t m_count = 1;
    std::int64_t m_columns = 1;
    std::int64_t m_rows = 1;
    std::int64_t m_block = 0; ///< rows of the second-last axis, between which gaps lie; 0: none
    bool m_wrapped = false;
};

} // namespace shardboard

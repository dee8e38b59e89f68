// SPDX-License-Identifier: Apache-2.0
// An N-D mesh as a 2-D grid. The last mesh axis goes to the right, the one before it downwards; of the others, from the inside out,
// each goes to where there are fewer cells, in blocks with a gap between them. What would be much higher than wide is folded into
// blocks side by side, and a mesh of one long axis is wrapped into lines. Pure; world units are cells.
#pragma once

#include "model/core/mesh.h"

#include <QPoint>
#include <QRectF>

#include <cstdint>
#include <vector>

namespace shardboard {

class MeshGrid {
public:
    /// A mesh axis, or a part of a folded one, along one direction.
    struct Level {
        int axis = -1;
        std::int64_t size = 1; ///< steps along it
        std::int64_t stride = 1; ///< mesh positions between two steps
        double pitch = 1; ///< cells with gaps between two steps
        bool folded = false; ///< the outer part of an axis whose inner part goes the other way
    };

    MeshGrid() = default;
    explicit MeshGrid(const Mesh& mesh);

    std::int64_t columns() const { return m_columns; }
    std::int64_t rows() const { return m_rows; }
    bool isWrapped() const { return m_wrapped; }
    /// From the inside out; of a wrapped mesh none.
    const std::vector<Level>& across() const { return m_across; }
    const std::vector<Level>& down() const { return m_down; }
    /// Width and height of everything, in cells with gaps.
    QRectF world() const;
    /// Cell of a device position. The cell has a margin on each side inside it that the view draws as it likes.
    QRectF cell(std::int64_t position) const;
    /// Device position at a world point, or -1 (gaps and outside).
    std::int64_t positionAt(const QPointF& world) const;
    /// The position one step away, staying where there is none.
    std::int64_t moved(std::int64_t position, int dx, int dy) const;
    std::int64_t columnOf(std::int64_t position) const;
    std::int64_t rowOf(std::int64_t position) const;
    /// -1 where a wrapped mesh has no device.
    std::int64_t positionOf(std::int64_t column, std::int64_t row) const;
    /// Left of a grid column and top of a grid row, in world units.
    double columnLeft(std::int64_t column) const;
    double rowTop(std::int64_t row) const;
    /// Columns and rows that lie beside each other without a gap.
    std::int64_t columnRun() const;
    std::int64_t rowRun() const;

private:
    std::int64_t m_count = 1;
    std::int64_t m_columns = 1;
    std::int64_t m_rows = 1;
    std::vector<Level> m_across;
    std::vector<Level> m_down;
    bool m_wrapped = false;
};

} // namespace shardboard

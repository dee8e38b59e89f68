// SPDX-License-Identifier: Apache-2.0
// An N-D mesh as a 2-D grid that fills the room there is. What is joined lies together: devices of a node are a block, nodes of a
// larger unit a block of blocks, with gaps that tell them apart from afar. Mesh axes go to the right or downwards, the innermost to
// the right; the last one of a unit may be wrapped into lines, and any long one. Of all these ways the one is taken that makes the
// devices largest, unless a plainer one is about as good. Columns and rows are separate: the place of a slot is a sum over the mesh
// axes, and so is the slot at a place; devices whose ids are in order stand in the slots of their mesh positions (meshtiers.h).
// Devices that are too small for ids are higher than wide where that fills the room. Pure; world units are widths of cells.
#pragma once

#include "widgets/mesh/meshtiers.h"

#include <QPoint>
#include <QRectF>
#include <QSizeF>

#include <cstdint>
#include <vector>

namespace shardboard {

/// Room for the grid with the bars of the mesh axes, in pixels.
struct MeshRoom {
    QSizeF size { 560, 400 };
    double text = 1; ///< scale of the text
    double largestCell = 92;
    friend bool operator==(const MeshRoom&, const MeshRoom&) = default;
};

class MeshGrid {
public:
    static constexpr double kBarAbove = 28; ///< of the first bar above the grid, at a text of scale 1
    static constexpr double kBar = 24; ///< of each other bar

    /// A mesh axis, or a part of one, along one direction.
    struct Level {
        int axis = -1;
        std::int64_t size = 1; ///< steps along it
        std::int64_t stride = 1; ///< mesh positions between two steps
        std::int64_t around = 1; ///< mesh positions after which the part of the axis begins anew
        double pitch = 1; ///< cells with gaps between two steps
        bool whole = true; ///< no part of the axis is elsewhere, and devices stand along it in order
        bool hasBar = true; ///< the one part of the axis that the bar beside the grid is of
        friend bool operator==(const Level&, const Level&) = default;
    };

    MeshGrid();
    explicit MeshGrid(const Mesh& mesh, const Hardware& hardware = {}, const MeshRoom& room = {});

    std::int64_t columns() const { return m_columns; }
    std::int64_t rows() const { return m_rows; }
    /// From the inside out.
    const std::vector<Level>& across() const { return m_across; }
    const std::vector<Level>& down() const { return m_down; }
    double cellHeight() const { return m_high; }
    /// Everything, in cells with gaps; above the first row there is the room that names of units have above the others.
    QRectF world() const;
    /// Cell of a device position. The cell has a margin on each side inside it that the view draws as it likes.
    QRectF cell(std::int64_t position) const;
    /// Device position at a world point, or -1 (gaps and outside).
    std::int64_t positionAt(const QPointF& world) const;
    std::int64_t columnOf(std::int64_t position) const;
    std::int64_t rowOf(std::int64_t position) const;
    /// -1 where the last line of a wrapped axis has no device.
    std::int64_t positionOf(std::int64_t column, std::int64_t row) const;
    /// Whether that is a sum of what a column and a row add.
    bool isSum() const { return m_ragged.empty() && m_tiers.slotByPosition.empty(); }
    /// The device lies in its unit, but not where the axes' labels say: its id is not where most have it.
    bool isElsewhere(std::int64_t position) const { return m_tiers.followsAxes && m_tiers.slotOf(position) != position; }
    /// Left of a grid column and top of a grid row, in world units.
    double columnLeft(std::int64_t column) const;
    double rowTop(std::int64_t row) const;

    /// Units from the inside out. Their numbers here are indices of these; kDevices stands for the devices themselves.
    static constexpr int kDevices = -1;
    const MeshTiers& tiers() const { return m_tiers; }
    int tierCount() const { return static_cast<int>(m_tiers.tiers.size()); }
    std::int64_t unitColumns(int tier) const; ///< columns of devices in a unit
    std::int64_t unitRows(int tier) const;
    QSizeF unitSize(int tier) const; ///< in cells, with the gaps inside it
    QSizeF gapAfter(int tier) const; ///< between two such units beside and above each other, the smallest there is
    /// Of the unit that a device is in.
    QRectF unit(int tier, std::int64_t position) const;
    /// First device of the unit at a world point, or nearest to it; gaps belong to the unit before them.
    std::int64_t unitNear(int tier, const QPointF& world) const;
    /// The position one unit away, staying where there is none.
    std::int64_t moved(std::int64_t position, int dx, int dy, int tier = kDevices) const;

    friend bool operator==(const MeshGrid&, const MeshGrid&) = default;

private:
    void take(const Mesh& mesh, const std::vector<std::int64_t>& columns);
    void stretch(const Mesh& mesh, const MeshRoom& room);
    double scaleIn(const MeshRoom& room) const;
    double compactnessIn(const MeshRoom& room) const;
    double arrange(const Mesh& mesh, const MeshRoom& room, bool named);
    std::vector<std::int64_t> bestColumns(const Mesh& mesh, const MeshRoom& room);
    double plainness(const std::vector<std::int64_t>& columns) const;
    void setGaps(const MeshRoom& room, double cell, bool named);
    std::vector<std::int64_t> candidates(const Mesh& mesh, std::size_t factor) const;

    /// A wrapped axis whose last line is not full.
    struct Ragged {
        std::int64_t size = 1;
        std::int64_t wide = 1;
        std::int64_t high = 1;
        std::int64_t columns = 1; ///< inside a step to the right
        std::int64_t rows = 1; ///< inside a step downwards
        friend bool operator==(const Ragged&, const Ragged&) = default;
    };

    std::int64_t m_count = 1;
    std::int64_t m_columns = 1;
    std::int64_t m_rows = 1;
    MeshTiers m_tiers;
    std::vector<Level> m_across;
    std::vector<Level> m_down;
    std::vector<Ragged> m_ragged;
    double m_cell = 1; ///< pixels of a device that gaps are made for
    double m_high = 1;
    std::vector<std::int64_t> m_wide; ///< columns of each factor
    std::vector<std::size_t> m_acrossIn; ///< levels across inside a unit, by tier
    std::vector<std::size_t> m_downIn;
    std::vector<double> m_gaps; ///< between units side by side, by tier
    std::vector<double> m_gapsAbove; ///< and above each other
    double m_top = 0; ///< above the first row
};

/// How many bars are at the left of the grid, and how many above.
std::vector<std::size_t> barsOf(const std::vector<MeshGrid::Level>& levels);

} // namespace shardboard

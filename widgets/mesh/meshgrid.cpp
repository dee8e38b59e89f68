// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshgrid.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

using Levels = std::vector<MeshGrid::Level>;

constexpr double kGap = 0.35;
constexpr std::int64_t kLongestLine = 16;
constexpr std::int64_t kHighest = 2; ///< times as high as wide, before it is folded
constexpr std::int64_t kMostRows = 32; ///< that are never folded

std::int64_t cells(const Levels& levels)
{
    std::int64_t product = 1;
    for (const auto& level : levels)
        product *= level.size;
    return product;
}

/// Of one direction: the steps of each level, with a gap between the blocks of all but the innermost.
void setPitches(Levels& levels)
{
    double extent = 1;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        levels[i].pitch = i == 0 ? 1 : extent + kGap;
        extent = static_cast<double>(levels[i].size - 1) * levels[i].pitch + extent;
    }
}

double extentOf(const Levels& levels)
{
    double extent = 1;
    for (const auto& level : levels)
        extent += static_cast<double>(level.size - 1) * level.pitch;
    return extent;
}

/// Number among the cells of a direction -> where it begins.
double beginOf(const Levels& levels, std::int64_t index)
{
    double at = 0;
    for (const auto& level : levels) {
        at += static_cast<double>(index % level.size) * level.pitch;
        index /= level.size;
    }
    return at;
}

std::int64_t indexOf(const Levels& levels, std::int64_t position)
{
    std::int64_t index = 0;
    std::int64_t weight = 1;
    for (const auto& level : levels) {
        index += position / level.stride % level.size * weight;
        weight *= level.size;
    }
    return index;
}

std::int64_t positionsOf(const Levels& levels, std::int64_t index)
{
    std::int64_t position = 0;
    for (const auto& level : levels) {
        position += index % level.size * level.stride;
        index /= level.size;
    }
    return position;
}

/// The number of the cell at a place of a direction, or -1 between blocks and outside.
std::int64_t indexAt(const Levels& levels, double at)
{
    if (at < 0)
        return -1;
    std::int64_t index = 0;
    for (std::size_t i = levels.size(); i-- > 0;) {
        const auto step = static_cast<std::int64_t>(at / levels[i].pitch);
        if (step >= levels[i].size)
            return -1;
        at -= static_cast<double>(step) * levels[i].pitch;
        index = index * levels[i].size + step;
    }
    return at < 1 ? index : -1;
}

} // namespace

MeshGrid::MeshGrid(const Mesh& mesh)
    : m_count(mesh.deviceCount())
{
    const int axes = mesh.axisCount();
    const std::int64_t last = axes == 0 ? 1 : mesh.axis(axes - 1).size;
    if (m_count == last && last > kLongestLine) {
        m_columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(last))));
        m_rows = (last + m_columns - 1) / m_columns;
        m_wrapped = true;
        return;
    }
    for (int axis = axes - 1; axis >= 0; --axis) {
        const bool right = axis == axes - 1 || (axis < axes - 2 && cells(m_across) < cells(m_down));
        (right ? m_across : m_down).push_back({ axis, mesh.axis(axis).size, mesh.stride(axis), 1, false });
    }
    // The outermost axis downwards continues in the blocks to the right.
    std::int64_t fold = 1;
    while (!m_down.empty() && cells(m_down) / fold > std::max(kMostRows, kHighest * cells(m_across) * fold)
           && m_down.back().size / fold % 2 == 0)
        fold *= 2;
    if (fold > 1) {
        auto& outer = m_down.back();
        outer.size /= fold;
        m_across.push_back({ outer.axis, fold, outer.stride * outer.size, 1, true });
    }
    setPitches(m_across);
    setPitches(m_down);
    m_columns = cells(m_across);
    m_rows = cells(m_down);
}

double MeshGrid::columnLeft(std::int64_t column) const
{
    return m_wrapped ? static_cast<double>(column) : beginOf(m_across, column);
}
double MeshGrid::rowTop(std::int64_t row) const { return m_wrapped ? static_cast<double>(row) : beginOf(m_down, row); }
std::int64_t MeshGrid::columnRun() const { return m_wrapped || m_across.empty() ? m_columns : m_across.front().size; }
std::int64_t MeshGrid::rowRun() const { return m_wrapped || m_down.empty() ? m_rows : m_down.front().size; }

QRectF MeshGrid::world() const
{
    return m_wrapped ? QRectF(0, 0, static_cast<double>(m_columns), static_cast<double>(m_rows))
                     : QRectF(0, 0, extentOf(m_across), extentOf(m_down));
}

std::int64_t MeshGrid::columnOf(std::int64_t position) const
{
    return m_wrapped ? position % m_columns : indexOf(m_across, position);
}
std::int64_t MeshGrid::rowOf(std::int64_t position) const { return m_wrapped ? position / m_columns : indexOf(m_down, position); }

std::int64_t MeshGrid::positionOf(std::int64_t column, std::int64_t row) const
{
    const std::int64_t position = m_wrapped ? row * m_columns + column : positionsOf(m_across, column) + positionsOf(m_down, row);
    return position < m_count ? position : -1;
}

QRectF MeshGrid::cell(std::int64_t position) const { return QRectF(columnLeft(columnOf(position)), rowTop(rowOf(position)), 1, 1); }

std::int64_t MeshGrid::positionAt(const QPointF& world) const
{
    if (!m_wrapped) {
        const std::int64_t column = indexAt(m_across, world.x());
        const std::int64_t row = indexAt(m_down, world.y());
        return column < 0 || row < 0 ? -1 : positionOf(column, row);
    }
    if (world.x() < 0 || world.y() < 0 || world.x() >= static_cast<double>(m_columns) || world.y() >= static_cast<double>(m_rows))
        return -1;
    return positionOf(static_cast<std::int64_t>(world.x()), static_cast<std::int64_t>(world.y()));
}

std::int64_t MeshGrid::moved(std::int64_t position, int dx, int dy) const
{
    const std::int64_t column = std::clamp<std::int64_t>(columnOf(position) + dx, 0, m_columns - 1);
    const std::int64_t row = std::clamp<std::int64_t>(rowOf(position) + dy, 0, m_rows - 1);
    const std::int64_t to = positionOf(column, row);
    return to < 0 ? position : to;
}

} // namespace shardboard

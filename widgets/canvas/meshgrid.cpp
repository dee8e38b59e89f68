// SPDX-License-Identifier: Apache-2.0
#include "widgets/canvas/meshgrid.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kGap = 0.35;
constexpr std::int64_t kLongestLine = 16;

} // namespace

MeshGrid::MeshGrid(const Mesh& mesh)
    : m_count(mesh.deviceCount())
{
    const int axes = mesh.axisCount();
    const std::int64_t last = axes == 0 ? 1 : mesh.axis(axes - 1).size;
    const std::int64_t others = m_count / last;
    m_columns = last;
    m_rows = others;
    if (others == 1 && last > kLongestLine) {
        m_columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(last))));
        m_rows = (last + m_columns - 1) / m_columns;
        m_wrapped = true;
    } else if (axes > 2) {
        m_block = mesh.axis(axes - 2).size;
    }
}

double MeshGrid::gapsBefore(std::int64_t row) const
{
    return m_block > 1 ? kGap * static_cast<double>(row / m_block) : 0.0;
}

double MeshGrid::rowTop(std::int64_t row) const { return static_cast<double>(row) + gapsBefore(row); }

QRectF MeshGrid::world() const { return QRectF(0, 0, static_cast<double>(m_columns), rowTop(m_rows - 1) + 1); }

QRectF MeshGrid::cell(std::int64_t position) const
{
    return QRectF(static_cast<double>(position % m_columns), rowTop(position / m_columns), 1, 1);
}

std::int64_t MeshGrid::positionAt(const QPointF& world) const
{
    if (world.x() < 0 || world.y() < 0 || world.x() >= static_cast<double>(m_columns))
        return -1;
    std::int64_t row = static_cast<std::int64_t>(world.y());
    if (m_block > 1) {
        const double pitch = static_cast<double>(m_block) + kGap;
        const double inBlock = std::fmod(world.y(), pitch);
        if (inBlock >= static_cast<double>(m_block))
            return -1;
        row = static_cast<std::int64_t>(world.y() / pitch) * m_block + static_cast<std::int64_t>(inBlock);
    }
    if (row >= m_rows)
        return -1;
    const std::int64_t position = row * m_columns + static_cast<std::int64_t>(world.x());
    return position < m_count ? position : -1;
}

std::int64_t MeshGrid::moved(std::int64_t position, int dx, int dy) const
{
    const std::int64_t column = std::clamp<std::int64_t>(position % m_columns + dx, 0, m_columns - 1);
    const std::int64_t row = std::clamp<std::int64_t>(position / m_columns + dy, 0, m_rows - 1);
    const std::int64_t to = row * m_columns + column;
    return to < m_count ? to : position;
}

} // namespace shardboard

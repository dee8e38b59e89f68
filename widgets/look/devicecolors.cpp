// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/devicecolors.h"

namespace shardboard {

DeviceColors::DeviceColors(const Mesh& mesh, const ShardMap* shards)
    : m_mesh(mesh)
{
    if (shards && shards->distinctCount() > 1) {
        m_shards = *shards;
        m_byShard = true;
    }
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        if (mesh.axis(axis).size > 1)
            m_axis = axis;
    m_parts = m_byShard ? PartColors(m_shards) : PartColors(mesh, m_axis);
}

std::int64_t DeviceColors::indexAt(std::int64_t position) const
{
    if (m_byShard)
        return m_shards.distinctIndex(position);
    return m_axis < 0 ? 0 : m_mesh.coordinate(position, m_axis);
}

std::vector<std::uint32_t> DeviceColors::indices() const
{
    // The index is a sum of what each mesh axis adds to it, so that it needs no division for each device.
    std::vector<std::uint32_t> out { 0 };
    out.reserve(static_cast<std::size_t>(m_mesh.deviceCount()));
    for (int axis = m_mesh.axisCount() - 1; axis >= 0; --axis) { // the last one changes first
        const std::size_t inside = out.size();
        for (std::int64_t step = 1; step < m_mesh.axis(axis).size; ++step) {
            const auto adds = static_cast<std::uint32_t>(indexAt(step * m_mesh.stride(axis)));
            for (std::size_t i = 0; i < inside; ++i)
                out.push_back(out[i] + adds);
        }
    }
    return out;
}

std::string DeviceColors::axisName() const { return m_axis < 0 ? std::string() : m_mesh.axis(m_axis).name; }

std::vector<Shard> DeviceColors::shardsHeld() const
{
    std::vector<Shard> out(m_byShard ? static_cast<std::size_t>(count()) : 0);
    std::vector<bool> found(out.size());
    auto left = static_cast<std::int64_t>(out.size());
    for (std::int64_t position = 0; left > 0 && position < m_mesh.deviceCount(); ++position) {
        const auto index = static_cast<std::size_t>(indexAt(position));
        if (found[index])
            continue;
        found[index] = true;
        out[index] = m_shards.shardAt(position);
        --left;
    }
    return out;
}

} // namespace shardboard

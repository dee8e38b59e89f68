// SPDX-License-Identifier: Apache-2.0
// Which part each device of a mesh holds, for its colour: devices with equal shards share one. While the shown tensor is whole
// everywhere (or there is none) the last mesh axis with more than one device decides.
#pragma once

#include "model/core/shards.h"
#include "widgets/look/partcolors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

class DeviceColors {
public:
    DeviceColors() = default;
    DeviceColors(const Mesh& mesh, const ShardMap* shards);
    std::int64_t indexAt(std::int64_t position) const;
    /// The same of all devices, in the order of their positions; much cheaper than one by one.
    std::vector<std::uint32_t> indices() const;
    std::int64_t count() const { return m_parts.count(); } ///< of different indices
    const PartColors& parts() const { return m_parts; }
    PartColor colorAt(std::int64_t position) const { return m_parts.at(indexAt(position)); }
    bool byShard() const { return m_byShard; }
    std::string axisName() const; ///< of the mesh axis that decides where no shards do; empty: all devices are alike
    std::string nameOf(int axis) const { return axis < 0 ? std::string() : m_mesh.axis(axis).name; }
    /// What devices of each index hold, in the order of the indices; empty where no shards decide. For few indices.
    std::vector<Shard> shardsHeld() const;

private:
    Mesh m_mesh;
    ShardMap m_shards;
    PartColors m_parts;
    bool m_byShard = false;
    int m_axis = -1;
};

} // namespace shardboard

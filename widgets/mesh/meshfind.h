// SPDX-License-Identifier: Apache-2.0
// What a person types to find devices of a mesh: `5` or `device 5`, coordinates such as `data=1, model 3`, `node 2` (`host`,
// `island`) by the devices that the innermost level of the hardware joins, or the name of a mesh axis. Read once, for many devices.
#pragma once

#include "model/core/mesh.h"
#include "model/hardware/hardware.h"

#include <QString>

#include <cstdint>
#include <utility>
#include <vector>

namespace shardboard {

class MeshPattern {
public:
    MeshPattern() = default;
    MeshPattern(const QString& text, const Mesh& mesh, const Hardware& hardware);
    bool isEmpty() const { return m_empty; }
    /// Whether it speaks of devices; every one matches what does not.
    bool isOfDevices() const { return m_understood && !m_empty && m_axis < 0; }
    int axis() const { return m_axis; } ///< mesh axis that it names alone, -1: none
    bool isUnderstood() const { return m_understood; } ///< else nothing matches
    bool matches(const Mesh& mesh, std::int64_t position) const;
    std::int64_t count(const Mesh& mesh) const; ///< of devices that match; O(D)

private:
    bool m_empty = true;
    bool m_understood = true;
    int m_axis = -1;
    std::int64_t m_id = -1; ///< of a device, -1: any
    std::int64_t m_node = -1;
    std::int64_t m_devicesPerNode = 1;
    std::vector<std::pair<int, std::int64_t>> m_coordinates; ///< mesh axis and coordinate
};

} // namespace shardboard

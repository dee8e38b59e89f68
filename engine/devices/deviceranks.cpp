// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/placement.h"

#include <algorithm>

namespace shardboard::engine {

Placement::Placement(const Mesh& mesh, int places, int own)
    : m_places(places)
    , m_own(own)
{
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        m_byId[mesh.deviceId(position)] = 0;
    const std::int64_t count = mesh.deviceCount();
    std::int64_t next = 0;
    int place = 0;
    for (auto& [id, at] : m_byId) {
        // The first places get one more where it does not divide.
        while (next >= count / places * (place + 1) + std::min<std::int64_t>(count % places, place + 1))
            ++place;
        at = place;
        ++next;
    }
}

int Placement::of(std::int64_t deviceId) const
{
    const auto found = m_byId.find(deviceId);
    return found == m_byId.end() ? 0 : found->second;
}

} // namespace shardboard::engine

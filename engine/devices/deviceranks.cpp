// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/deviceranks.h"

#include <algorithm>

namespace shardboard::engine {

DeviceRanks::DeviceRanks(const Mesh& mesh, int ranks, int own)
    : m_rankCount(ranks)
    , m_own(own)
{
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        m_byId[mesh.deviceId(position)] = 0;
    const std::int64_t count = mesh.deviceCount();
    std::int64_t next = 0;
    int rank = 0;
    for (auto& [id, at] : m_byId) {
        // The first ranks get one more where it does not divide.
        while (next >= count / ranks * (rank + 1) + std::min<std::int64_t>(count % ranks, rank + 1))
            ++rank;
        at = rank;
        ++next;
    }
}

int DeviceRanks::of(std::int64_t deviceId) const
{
    const auto found = m_byId.find(deviceId);
    return found == m_byId.end() ? 0 : found->second;
}

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Which rank holds the memory of a logical device and works for it. A rank is one of the processes that run a program, or one of
// the GPUs of an executor that drives several. A program that is run by one process has one rank.
#pragma once

#include "model/core/mesh.h"

#include <cstdint>
#include <map>

namespace shardboard::engine {

class DeviceRanks {
public:
    /// One rank: this process.
    DeviceRanks() = default;
    /// Divides the devices of a mesh, in the order of their ids, among the ranks as evenly as possible; neighbors stay together.
    /// With more ranks than devices the last ranks have none. `own` is this process.
    DeviceRanks(const Mesh& mesh, int ranks, int own);

    int rankCount() const { return m_rankCount; }
    int own() const { return m_own; }
    /// Of a device id. Ids of other meshes, such as that of the unsharded reference, belong to rank 0.
    int of(std::int64_t deviceId) const;
    int of(const Mesh& mesh, std::int64_t position) const { return m_rankCount == 1 ? 0 : of(mesh.deviceId(position)); }
    bool isOwn(const Mesh& mesh, std::int64_t position) const { return of(mesh, position) == m_own; }

private:
    int m_rankCount = 1;
    int m_own = 0;
    std::map<std::int64_t, int> m_byId;
};

} // namespace shardboard::engine

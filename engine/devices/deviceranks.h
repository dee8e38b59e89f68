// SPDX-License-Identifier: Apache-2.0
// Which process keeps what a logical device has, and works for it. Processes are called places here: 0, 1, … in the order of
// their ranks. A program that is run by one process has one place.
#pragma once

#include "model/core/mesh.h"

#include <cstdint>
#include <map>

namespace shardboard::engine {

class Placement {
public:
    /// One place, this process.
    Placement() = default;
    /// Spreads the devices of a mesh, in the order of their ids, over the places as evenly as it goes: neighbours together.
    /// Where there are more places than devices the last ones have none. `own` is this process.
    Placement(const Mesh& mesh, int places, int own);

    int places() const { return m_places; }
    int own() const { return m_own; }
    /// Of a device id. Ids of other meshes, such as that of the unsharded reference, are at place 0.
    int of(std::int64_t deviceId) const;
    int of(const Mesh& mesh, std::int64_t position) const { return m_places == 1 ? 0 : of(mesh.deviceId(position)); }
    bool isOwn(const Mesh& mesh, std::int64_t position) const { return of(mesh, position) == m_own; }

private:
    int m_places = 1;
    int m_own = 0;
    std::map<std::int64_t, int> m_byId;
};

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Grids of the mesh that were asked for last: to arrange one, thousands of ways are tried, and few edits change the mesh or its
// room.
#pragma once

#include "widgets/mesh/meshgrid.h"

#include <cstddef>
#include <deque>

namespace shardboard {

class KeptGrids {
public:
    MeshGrid of(const Mesh& mesh, const Hardware& hardware, const MeshRoom& room);

private:
    static constexpr std::size_t kMost = 4; ///< with the legend and without it, before and after a change

    struct Kept {
        Mesh mesh;
        Hardware hardware;
        MeshRoom room;
        MeshGrid grid;
    };
    std::deque<Kept> m_kept; ///< the one asked for last in front
};

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/keptgrids.h"

#include <algorithm>

namespace shardboard {

MeshGrid KeptGrids::of(const Mesh& mesh, const Hardware& hardware, const MeshRoom& room)
{
    const auto known = std::ranges::find_if(
        m_kept, [&](const Kept& kept) { return kept.room == room && kept.mesh == mesh && kept.hardware == hardware; });
    if (known != m_kept.end()) {
        std::rotate(m_kept.begin(), known, known + 1);
        return m_kept.front().grid;
    }
    m_kept.push_front({ mesh, hardware, room, MeshGrid(mesh, hardware, room) });
    if (m_kept.size() > kMost)
        m_kept.pop_back();
    return m_kept.front().grid;
}

} // namespace shardboard

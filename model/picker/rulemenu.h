// SPDX-License-Identifier: Apache-2.0
// The layouts of a plan as the per-op pickers see them.
#pragma once

#include "model/core/layout.h"
#include "model/core/mesh.h"
#include "model/core/placement.h"

#include <vector>

namespace shardboard {

/// One placement per mesh axis. The order of mesh axes on a dim is not part of it.
inline std::vector<Placement> placementsOf(const Layout& layout, const Mesh& mesh)
{
    std::vector<Placement> out(static_cast<std::size_t>(mesh.axisCount()));
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
        for (const AxisRef& ref : layout.dims[dim])
            out[static_cast<std::size_t>(ref.axis)] = shardedPlacement(static_cast<int>(dim));
    for (const AxisRef& ref : layout.partial)
        out[static_cast<std::size_t>(ref.axis)] = partialPlacement();
    return out;
}

} // namespace shardboard

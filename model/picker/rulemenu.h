// SPDX-License-Identifier: Apache-2.0
// The rules of the graph's own operations as menus for the per-op pickers, so that any of them can be asked about an
// operation of a plan. What rows demand beyond placements (whole heads, rings) is the planner's to check.
#pragma once

#include "model/core/layout.h"
#include "model/picker/menu.h"
#include "model/picker/rules.h"

namespace shardboard {

inline Menu menuOf(const std::vector<Row>& rows)
{
    Menu menu;
    menu.operands = rows.empty() ? 0 : rows.front().operands.size();
    for (const Row& row : rows) {
        MenuRow made;
        made.output = row.result;
        menu.add(std::move(made), row.operands);
    }
    return menu;
}

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

// SPDX-License-Identifier: Apache-2.0
#include "model/picker/menu/menu.h"

#include "model/picker/menu/refusal.h"

namespace shardboard {

namespace {

Placement partialOf(const Layout& layout)
{
    return partialPlacement(layout.op == ReduceOp::Max       ? PartialReduce::Max
                                : layout.op == ReduceOp::Min ? PartialReduce::Min
                                                             : PartialReduce::Sum);
}

} // namespace

Placement placementOn(const Layout& layout, int axis)
{
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
        for (const AxisRef& ref : layout.dims[dim])
            if (ref.axis == axis)
                return shardedPlacement(static_cast<int>(dim));
    for (const AxisRef& ref : layout.partial)
        if (ref.axis == axis)
            return partialOf(layout);
    return {};
}

std::vector<Placement> placementsOf(const Layout& layout, const Mesh& mesh)
{
    std::vector<Placement> out(static_cast<std::size_t>(mesh.axisCount()));
    for (const AxisRef& ref : layout.partial)
        out[static_cast<std::size_t>(ref.axis)] = partialOf(layout);
    for (std::size_t dim = layout.dims.size(); dim-- > 0;)
        for (const AxisRef& ref : layout.dims[dim])
            out[static_cast<std::size_t>(ref.axis)] = shardedPlacement(static_cast<int>(dim));
    return out;
}

const char* upstreamErrorName(UpstreamError error)
{
    constexpr const char* kNames[] = { "ShardingError", "RuntimeError", "ValueError", "TypeError", "NotImplementedError" };
    return kNames[static_cast<std::size_t>(error)];
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/plan/largestshard.h"

#include "model/core/shards.h"

namespace shardboard {

Shape largestShape(const Shape& shape, const Layout& layout, const Mesh& mesh)
{
    Shape out(shape.size());
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
        out[dim] = largestPart(shape[dim], layout.dims[dim], mesh, layout.cuttingOf(dim));
    return out;
}

std::int64_t largestShard(const Shape& shape, const Layout& layout, const Mesh& mesh)
{
    return elementCount(largestShape(shape, layout, mesh)).value_or(0);
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/picker/menu/localshape.h"

namespace shardboard {

std::variant<std::vector<LocalShape>, Refusal> localShapes(const Shape& global, const SymbolTable& symbols,
                                                           std::span<const Placement> placements, const Mesh& mesh)
{
    for (const Placement& placement : placements) {
        if (!placement.sharded())
            continue;
        if (placement.dim >= static_cast<int>(global.size()))
            return Refusal { UpstreamError::ValueError, "placements", "the tensor has no dim " + std::to_string(placement.dim),
                             "it has " + std::to_string(global.size()) + " dims" };
        const std::int64_t size = global[static_cast<std::size_t>(placement.dim)];
        if (symbols.algebraic(size))
            return Refusal { UpstreamError::ShardingError, "placements",
                             "the size '" + symbols.text(size) + "' is a sum or product of names and cannot be cut",
                             "cut another dim, or give the size a name of its own" };
    }
    std::vector<LocalShape> out;
    out.reserve(static_cast<std::size_t>(mesh.deviceCount()));
    for (std::int64_t device = 0; device < mesh.deviceCount(); ++device) {
        LocalShape shape;
        for (std::size_t dim = 0; dim < global.size(); ++dim) {
            std::int64_t parts = 1;
            std::int64_t at = 0;
            std::string suffix;
            for (int axis = 0; axis < mesh.axisCount(); ++axis)
                if (placements[static_cast<std::size_t>(axis)].shards(static_cast<int>(dim))) {
                    const std::int64_t coordinate = mesh.coordinate(device, axis);
                    parts *= mesh.axis(axis).size;
                    at = at * mesh.axis(axis).size + coordinate;
                    suffix += "_" + mesh.axis(axis).name + "_" + std::to_string(coordinate);
                }
            if (isSymbol(global[dim]))
                shape.push_back({ 0, symbols.nameOf(global[dim]) + suffix });
            else if (global[dim] == kWildcard)
                shape.push_back({ kWildcard });
            else
                shape.push_back({ global[dim] / parts + (at < global[dim] % parts ? 1 : 0) });
        }
        out.push_back(std::move(shape));
    }
    return out;
}

} // namespace shardboard

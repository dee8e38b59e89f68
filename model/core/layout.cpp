// SPDX-License-Identifier: Apache-2.0
#include "model/core/layout.h"

#include <algorithm>

namespace shardboard {

Layout Layout::replicated(std::size_t rank)
{
    Layout layout;
    layout.dims.resize(rank);
    return layout;
}

Layout Layout::cut(std::size_t rank, int dim, const std::vector<int>& axes)
{
    Layout layout = replicated(rank);
    for (const int axis : axes)
        layout.dims[static_cast<std::size_t>(dim)].push_back(AxisRef { axis });
    return layout;
}

void Layout::setCutting(std::size_t dim, const Cutting& value)
{
    cutting.resize(dims.size());
    cutting[dim] = value;
    if (std::ranges::all_of(cutting, [](const Cutting& c) { return c == Cutting {}; }))
        cutting.clear();
}

bool Layout::isReplicated() const
{
    return partial.empty() && std::ranges::all_of(dims, [](const auto& dim) { return dim.empty(); });
}

std::int64_t sizeOf(const AxisRef& ref, const Mesh& mesh) { return ref.whole() ? mesh.axis(ref.axis).size : ref.size; }

std::int64_t coordinateOf(const AxisRef& ref, const Mesh& mesh, std::int64_t position)
{
    const std::int64_t whole = mesh.coordinate(position, ref.axis);
    if (ref.whole())
        return whole;
    return whole / (mesh.axis(ref.axis).size / (ref.pre * ref.size)) % ref.size;
}

std::int64_t partsOf(const std::vector<AxisRef>& axes, const Mesh& mesh)
{
    std::int64_t parts = 1;
    for (const AxisRef& ref : axes)
        parts *= sizeOf(ref, mesh);
    return parts;
}

std::int64_t partIndexOf(const std::vector<AxisRef>& axes, const Mesh& mesh, std::int64_t position)
{
    std::int64_t index = 0;
    for (const AxisRef& ref : axes)
        index = index * sizeOf(ref, mesh) + coordinateOf(ref, mesh, position);
    return index;
}

namespace {

Status checkRef(const AxisRef& ref, const Mesh& mesh, const std::string& where)
{
    if (ref.axis < 0 || ref.axis >= mesh.axisCount())
        return inputError(where,
                          "the layout uses mesh axis number " + std::to_string(ref.axis) + ", but the mesh has "
                              + std::to_string(mesh.axisCount()),
                          "use an axis of the mesh");
    if (ref.whole())
        return done();
    const MeshAxis& axis = mesh.axis(ref.axis);
    if (ref.pre < 1 || ref.size < 2 || ref.pre > axis.size || axis.size % ref.pre != 0 || (axis.size / ref.pre) % ref.size != 0)
        return inputError(where,
                          "sub-axis " + axis.name + ":(" + std::to_string(ref.pre) + ")" + std::to_string(ref.size)
                              + " does not divide mesh axis '" + axis.name + "' of size " + std::to_string(axis.size),
                          "pre times size must divide the axis");
    return done();
}

/// Two references of an axis are apart when one ends, [pre, pre * size), before the other begins, and the parts between
/// them are whole: on an axis of 6, (1)2 and (3)2 have no common factors 2 x ? x 2.
bool apart(const AxisRef& a, const AxisRef& b)
{
    if (a.axis != b.axis)
        return true;
    if (a.whole() || b.whole())
        return false;
    const auto before = [](const AxisRef& major, const AxisRef& minor) { return minor.pre % (major.pre * major.size) == 0; };
    return before(a, b) || before(b, a);
}

} // namespace

Status verifyLayout(const Layout& layout, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    if (layout.dims.size() != rank)
        return inputError(where,
                          "the layout has " + std::to_string(layout.dims.size()) + " entries for a tensor of "
                              + std::to_string(rank) + " dims",
                          "give one entry per tensor dim");
    std::vector<AxisRef> seen;
    const auto add = [&](const AxisRef& ref) -> Status {
        if (auto status = checkRef(ref, mesh, where); !status.ok())
            return status;
        for (const AxisRef& other : seen)
            if (!apart(ref, other))
                return inputError(where, "mesh axis '" + mesh.axis(ref.axis).name + "' is used twice",
                                  "an axis can cut one dim of a tensor once");
        seen.push_back(ref);
        return done();
    };
    for (const auto& dim : layout.dims)
        for (const AxisRef& ref : dim)
            if (auto status = add(ref); !status.ok())
                return status;
    for (const AxisRef& ref : layout.partial)
        if (auto status = add(ref); !status.ok())
            return status;
    return done();
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/meshorder.h"

#include <numeric>
#include <utility>

namespace shardboard {

namespace {

Result<Design> withMesh(const Design& design, const Result<Mesh>& mesh)
{
    if (!mesh.ok())
        return mesh.error();
    Design out = design;
    out.mesh = mesh.value();
    return out;
}

bool isRowMajor(const std::vector<std::int64_t>& ids)
{
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] != static_cast<std::int64_t>(i))
            return false;
    return true;
}

Result<Design> withIds(const Design& design, std::vector<std::int64_t> ids)
{
    if (isRowMajor(ids))
        ids.clear();
    return withMesh(design, Mesh::make(design.mesh.axes(), std::move(ids)));
}

} // namespace

Result<Design> withAxisMoved(const Design& design, int from, int to)
{
    auto axes = design.mesh.axes();
    const int count = static_cast<int>(axes.size());
    if (from < 0 || from >= count || to < 0 || to >= count)
        return inputError("mesh", "it has no such place among its axes", "choose one of " + std::to_string(count));
    const MeshAxis axis = axes[static_cast<std::size_t>(from)];
    axes.erase(axes.begin() + from);
    axes.insert(axes.begin() + to, axis);
    return withMesh(design, Mesh::make(axes));
}

std::vector<std::int64_t> deviceOrderAlong(const Mesh& mesh, int axis)
{
    std::vector<std::int64_t> ids(static_cast<std::size_t>(mesh.deviceCount()));
    if (axis < 0 || axis >= mesh.axisCount()) {
        std::iota(ids.begin(), ids.end(), std::int64_t { 0 });
        return ids;
    }
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        std::int64_t id = 0; // the other axes row-major, then this one
        for (int other = 0; other < mesh.axisCount(); ++other)
            if (other != axis)
                id = id * mesh.axis(other).size + mesh.coordinate(position, other);
        ids[static_cast<std::size_t>(position)] = id * mesh.axis(axis).size + mesh.coordinate(position, axis);
    }
    return ids;
}

Result<Design> withDevicesAlong(const Design& design, int axis) { return withIds(design, deviceOrderAlong(design.mesh, axis)); }

Result<Design> withDevicesSwapped(const Design& design, std::int64_t one, std::int64_t other)
{
    const std::int64_t count = design.mesh.deviceCount();
    if (one < 0 || other < 0 || one >= count || other >= count)
        return inputError("mesh", "it has no such device", "choose two of its " + std::to_string(count) + " devices");
    std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
    for (std::int64_t position = 0; position < count; ++position)
        ids[static_cast<std::size_t>(position)] = design.mesh.deviceId(position);
    std::swap(ids[static_cast<std::size_t>(one)], ids[static_cast<std::size_t>(other)]);
    return withIds(design, std::move(ids));
}

} // namespace shardboard

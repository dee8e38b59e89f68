// SPDX-License-Identifier: Apache-2.0
#include "model/core/mesh.h"

#include "model/core/checked.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

bool isAxisName(std::string_view name)
{
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !name.empty() && name.size() <= 64 && letter(name.front())
        && std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c) || c == '-'; });
}

Status checkDeviceIds(const std::vector<std::int64_t>& ids, std::int64_t count, const std::string& where)
{
    if (static_cast<std::int64_t>(ids.size()) != count)
        return inputError(
            where, "the device order lists " + std::to_string(ids.size()) + " ids for " + std::to_string(count) + " positions",
            "list each position's device id once, row-major");
    auto sorted = ids;
    std::ranges::sort(sorted);
    if (sorted.front() < 0)
        return inputError(where, "the device order holds the negative id " + std::to_string(sorted.front()),
                          "use ids of at least 0");
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end())
        return inputError(where, "the device order lists id " + std::to_string(*twice) + " twice", "list each device once");
    return done();
}

} // namespace

Result<Mesh> Mesh::make(std::vector<MeshAxis> axes, std::vector<std::int64_t> deviceIds, const std::string& where)
{
    Mesh mesh;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const MeshAxis& axis = axes[i];
        if (!isAxisName(axis.name))
            return inputError(where, "mesh axis name '" + axis.name + "' is not a word",
                              "begin with a letter and use letters, digits, _ and -");
        for (std::size_t j = 0; j < i; ++j)
            if (axes[j].name == axis.name)
                return inputError(where, "mesh axis '" + axis.name + "' appears twice", "give each axis its own name");
        if (axis.size < 1)
            return inputError(where, "mesh axis '" + axis.name + "' has size " + std::to_string(axis.size), "sizes are at least 1");
        const auto count = checkedMultiply(mesh.m_deviceCount, axis.size);
        if (!count || *count > kMaxDevices)
            return inputError(where,
                              "the mesh has more than " + std::to_string(kMaxDevices) + " devices at axis '" + axis.name
                                  + "' of size " + std::to_string(axis.size),
                              "use smaller sizes");
        mesh.m_deviceCount = *count;
    }
    if (!deviceIds.empty()) {
        if (const auto status = checkDeviceIds(deviceIds, mesh.m_deviceCount, where); !status.ok())
            return status.error();
        bool iota = true;
        for (std::size_t i = 0; i < deviceIds.size(); ++i)
            iota = iota && deviceIds[i] == static_cast<std::int64_t>(i);
        if (iota)
            deviceIds.clear(); // one form for equal meshes
    }
    mesh.m_strides.assign(axes.size(), 1);
    for (std::size_t i = axes.size(); i-- > 1;)
        mesh.m_strides[i - 1] = mesh.m_strides[i] * axes[i].size;
    mesh.m_axes = std::move(axes);
    mesh.m_deviceIds = std::move(deviceIds);
    return mesh;
}

Result<Mesh> Mesh::parse(std::string_view text, const std::string& where)
{
    const std::string form = "write it like data=2,model=4";
    if (trimmed(text).empty())
        return inputError(where, "the mesh is empty", form);
    std::vector<MeshAxis> axes;
    for (const std::string_view part : split(text, ',')) {
        const auto equals = part.find('=');
        if (equals == std::string_view::npos)
            return inputError(where, "'" + std::string(part) + "' has no size", form);
        const auto size = parseInteger(trimmed(part.substr(equals + 1)));
        if (!size)
            return inputError(where, "'" + std::string(trimmed(part.substr(equals + 1))) + "' is not a size of a mesh axis", form);
        axes.push_back({ std::string(trimmed(part.substr(0, equals))), *size });
    }
    return make(std::move(axes), {}, where);
}

int Mesh::find(std::string_view name) const
{
    for (std::size_t i = 0; i < m_axes.size(); ++i)
        if (m_axes[i].name == name)
            return static_cast<int>(i);
    return -1;
}

std::int64_t Mesh::groupSize(const std::vector<int>& axes) const
{
    std::int64_t size = 1;
    for (const int index : axes)
        size *= axis(index).size;
    return size;
}

std::vector<std::int64_t> Mesh::group(std::int64_t position, const std::vector<int>& axes) const
{
    std::int64_t base = position;
    for (const int index : axes)
        base -= coordinate(position, index) * stride(index);
    std::vector<std::int64_t> members { base };
    for (const int index : axes) {
        std::vector<std::int64_t> next;
        next.reserve(members.size() * static_cast<std::size_t>(axis(index).size));
        for (const std::int64_t member : members)
            for (std::int64_t i = 0; i < axis(index).size; ++i)
                next.push_back(member + i * stride(index));
        members = std::move(next);
    }
    return members;
}

std::string Mesh::text() const
{
    std::string out;
    for (const MeshAxis& axis : m_axes)
        out += (out.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
    return out;
}

} // namespace shardboard

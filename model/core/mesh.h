// SPDX-License-Identifier: Apache-2.0
// The device mesh: an ordered list of named mesh axes. Positions are row-major (first axis slowest). A value type.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

struct MeshAxis {
    std::string name;
    std::int64_t size = 1;
    friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// The largest mesh that is accepted, in devices.
inline constexpr std::int64_t kMaxDevices = std::int64_t { 1 } << 20;

class Mesh {
public:
    /// A mesh of one device without axes.
    Mesh() = default;

    /// Rules: every name is a non-empty word [A-Za-z_][A-Za-z0-9_-]*, no two alike; every size is at least 1; the number
    /// of devices is at most kMaxDevices; `deviceIds` is empty (ids 0, 1, 2, …) or lists each position's id once,
    /// row-major. `where` names the place for the error text.
    static Result<Mesh> make(std::vector<MeshAxis> axes, std::vector<std::int64_t> deviceIds = {},
                             const std::string& where = "mesh");
    /// Parses `data=2,model=4`.
    static Result<Mesh> parse(std::string_view text, const std::string& where = "--mesh");

    const std::vector<MeshAxis>& axes() const { return m_axes; }
    int axisCount() const { return static_cast<int>(m_axes.size()); }
    const MeshAxis& axis(int index) const { return m_axes[static_cast<std::size_t>(index)]; }
    /// Index of the axis of that name, or -1.
    int find(std::string_view name) const;

    std::int64_t deviceCount() const { return m_deviceCount; }
    /// Distance in positions between neighbours along an axis (product of the sizes of later axes).
    std::int64_t stride(int axis) const { return m_strides[static_cast<std::size_t>(axis)]; }
    std::int64_t coordinate(std::int64_t position, int axis) const
    {
        return position / stride(axis) % m_axes[static_cast<std::size_t>(axis)].size;
    }
    /// The id of the device at a row-major position.
    std::int64_t deviceId(std::int64_t position) const
    {
        return m_deviceIds.empty() ? position : m_deviceIds[static_cast<std::size_t>(position)];
    }
    /// Empty when ids are 0, 1, 2, … in row-major order.
    const std::vector<std::int64_t>& deviceIds() const { return m_deviceIds; }

    /// Positions that differ from `position` only along `axes` (itself included), numbered row-major with the first
    /// listed axis slowest: the device group of a collective over these axes.
    std::vector<std::int64_t> group(std::int64_t position, const std::vector<int>& axes) const;
    /// Product of the sizes of these axes.
    std::int64_t groupSize(const std::vector<int>& axes) const;

    /// `data=2,model=4`
    std::string text() const;

    friend bool operator==(const Mesh& a, const Mesh& b) { return a.m_axes == b.m_axes && a.m_deviceIds == b.m_deviceIds; }

private:
    std::vector<MeshAxis> m_axes;
    std::vector<std::int64_t> m_strides;
    std::vector<std::int64_t> m_deviceIds;
    std::int64_t m_deviceCount = 1;
};

} // namespace shardboard

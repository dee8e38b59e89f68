// SPDX-License-Identifier: Apache-2.0
// Memory for all logical devices of a mesh: the part of each lies in the memory of its rank, one after another.
#pragma once

#include "engine/devices/arena.h"
#include "model/core/mesh.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardboard::engine {

class DeviceParts {
public:
    /// Takes memory for `elements[p]` elements of that many bytes at mesh position p. Parts of different devices share no cache
    /// line.
    void allocate(Arena& arena, const Mesh& mesh, const std::vector<std::int64_t>& elements, std::int64_t bytesOfElement);

    /// The same at one rank.
    void allocateAt(Arena& arena, int rank, const std::vector<std::int64_t>& elements, std::int64_t bytesOfElement);
    /// The part at a mesh position as the only one. The memory stays theirs.
    DeviceParts partOf(std::int64_t position) const;

    /// The part of the device at a mesh position. Means nothing when planning, null without memory. What another process
    /// keeps is there only where the processes share memory, or after it was brought (engine/devices/team.h).
    std::byte* address(std::int64_t position) const
    {
        return m_addresses.empty() ? nullptr : m_addresses[static_cast<std::size_t>(position)];
    }
    float* floats(std::int64_t position) const { return reinterpret_cast<float*>(address(position)); }
    /// The elements that a part takes with what lies between it and the next one.
    static std::int64_t roundedUp(std::int64_t elements);

private:
    void take(Arena& arena, const std::vector<int>& ranks, const std::vector<std::int64_t>& elements, std::int64_t bytesOfElement);

    Block m_block;
    std::vector<std::byte*> m_addresses;
};

} // namespace shardboard::engine

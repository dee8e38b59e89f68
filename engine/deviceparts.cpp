// SPDX-License-Identifier: Apache-2.0
#include "engine/deviceparts.h"

namespace shardboard::engine {

std::int64_t DeviceParts::roundedUp(std::int64_t elements)
{
    constexpr std::int64_t kAlign = 64;
    return (elements + kAlign - 1) / kAlign * kAlign;
}

void DeviceParts::allocate(Arena& arena, const Mesh& mesh, const std::vector<std::int64_t>& elements, std::int64_t bytesOfElement)
{
    const Placement& placement = arena.placement();
    std::vector<std::int64_t> ends(static_cast<std::size_t>(placement.places()), 0); // in bytes
    std::vector<std::int64_t> offsets;
    for (std::size_t p = 0; p < elements.size(); ++p) {
        std::int64_t& end = ends[static_cast<std::size_t>(placement.of(mesh, static_cast<std::int64_t>(p)))];
        offsets.push_back(end);
        end += roundedUp(elements[p]) * bytesOfElement;
    }
    m_block = arena.allocateAt(ends);
    m_addresses.clear();
    for (std::size_t p = 0; p < elements.size(); ++p) {
        std::byte* base = m_block.memory(placement.of(mesh, static_cast<std::int64_t>(p)));
        m_addresses.push_back(base != nullptr || arena.planning() ? base + offsets[p] : nullptr);
    }
}

} // namespace shardboard::engine

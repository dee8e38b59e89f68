// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/deviceparts.h"

namespace shardboard::engine {

std::int64_t DeviceParts::roundedUp(std::int64_t elements)
{
    constexpr std::int64_t kAlign = 64;
    return (elements + kAlign - 1) / kAlign * kAlign;
}

void DeviceParts::allocate(Arena& arena, const Mesh& mesh, const std::vector<std::int64_t>& elements, std::int64_t bytesOfElement)
{
    std::vector<int> ranks;
    for (std::size_t p = 0; p < elements.size(); ++p)
        ranks.push_back(arena.deviceRanks().of(mesh, static_cast<std::int64_t>(p)));
    take(arena, ranks, elements, bytesOfElement);
}

void DeviceParts::allocateAt(Arena& arena, int rank, const std::vector<std::int64_t>& elements, std::int64_t bytesOfElement)
{
    take(arena, std::vector<int>(elements.size(), rank), elements, bytesOfElement);
}

DeviceParts DeviceParts::partOf(std::int64_t position) const
{
    DeviceParts out;
    if (!m_addresses.empty())
        out.m_addresses = { m_addresses[static_cast<std::size_t>(position)] };
    return out;
}

/// `ranks` by part.
void DeviceParts::take(Arena& arena, const std::vector<int>& ranks, const std::vector<std::int64_t>& elements,
                       std::int64_t bytesOfElement)
{
    std::vector<std::int64_t> ends(static_cast<std::size_t>(arena.deviceRanks().rankCount()), 0); // in bytes
    std::vector<std::int64_t> offsets;
    for (std::size_t p = 0; p < elements.size(); ++p) {
        std::int64_t& end = ends[static_cast<std::size_t>(ranks[p])];
        offsets.push_back(end);
        end += roundedUp(elements[p]) * bytesOfElement;
    }
    m_block = arena.allocateAt(ends);
    m_addresses.clear();
    for (std::size_t p = 0; p < elements.size(); ++p) {
        std::byte* base = m_block.memory(ranks[p]);
        m_addresses.push_back(base != nullptr || arena.planning() ? base + offsets[p] : nullptr);
    }
}

} // namespace shardboard::engine

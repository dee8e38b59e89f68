// SPDX-License-Identifier: Apache-2.0
#include "model/plan/reshard/reshardfloors.h"

#include <bit>

namespace shardboard {

ReshardFloors::ReshardFloors(const Mesh& mesh, CollectivePrices& prices)
    : m_mesh(mesh)
    , m_prices(prices)
{
}

std::size_t ReshardFloors::Hash::operator()(const Key& key) const
{
    const auto change = static_cast<std::uint64_t>(key.change.cut) | std::uint64_t { key.change.wanted } << 8
        | std::uint64_t { key.change.going } << 16 | std::uint64_t { key.change.summed } << 24;
    std::uint64_t hash = (change << 8 | static_cast<std::uint64_t>(key.dtype)) * std::uint64_t { 0x9E3779B97F4A7C15 };
    hash ^= static_cast<std::uint64_t>(key.elements) * std::uint64_t { 0xC2B2AE3D27D4EB4F };
    hash ^= std::bit_cast<std::uint64_t>(key.density);
    return (hash ^ hash >> 29) * std::uint64_t { 0x9E3779B97F4A7C15 } >> 16;
}

double ReshardFloors::seconds(const Change& change, std::int64_t elements, DType dtype, double density)
{
    const Key key { elements, density, change, dtype };
    const auto [place, isNew] = m_known.try_emplace(key);
    if (isNew)
        place->second = find(key);
    return place->second;
}

double ReshardFloors::find(const Key& key)
{
    std::vector<int> axes;
    for (int axis = 0; axis < kMaxAxes; ++axis)
        if (key.change.all() >> axis & 1)
            axes.push_back(axis);
    if (axes.empty())
        return 0;
    m_units.begin({ {}, key.dtype, key.density }, axes, m_mesh, m_prices, key.elements);
    const auto among = [&](std::uint8_t set) {
        unsigned out = 0;
        for (std::size_t i = 0; i < axes.size(); ++i)
            out |= static_cast<unsigned>(set >> axes[i] & 1) << i;
        return out;
    };
    const unsigned cut = among(key.change.cut);
    const unsigned wanted = among(key.change.wanted);
    const unsigned summed = among(key.change.summed);
    if (axes.size() == 1) {
        if (cut == 0 && summed == 0)
            return 0;
        const std::int64_t parts = cut != 0 && wanted != 0 ? m_units.devices(1) : 1;
        const CollectiveKind kind = summed != 0 ? (wanted != 0 ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce)
            : wanted != 0                       ? CollectiveKind::AllToAll
                                                : CollectiveKind::AllGather;
        return m_units.seconds(kind, 1, (key.elements + parts - 1) / parts);
    }
    const unsigned free = m_units.all() & ~cut & ~summed;
    m_floor.begin(key.elements, m_units.devices(wanted), wanted);
    return m_units.seconds(
        m_floor.of(m_units.devices(cut), m_units.devices(cut) * m_units.devices(free), among(key.change.going), summed));
}

} // namespace shardboard

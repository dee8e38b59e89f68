// SPDX-License-Identifier: Apache-2.0
#include "model/cost/collectiveprices.h"

#include <algorithm>
#include <bit>

namespace shardboard {

namespace {

constexpr int kMostAxesInAnyOrder = 4; ///< of more, only the first one is split off

/// Whether groups lie on these levels in the same way.
bool joinedAlike(const std::vector<Level>& a, const std::vector<Level>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Level& x, const Level& y) {
        return x.fabric == y.fabric && x.size == y.size && x.shape == y.shape && x.wraps == y.wraps;
    });
}

} // namespace

CollectivePrices::CollectivePrices(const Mesh& mesh, const Hardware& hardware)
    : m_mesh(mesh)
    , m_hardware(&hardware)
{
    m_levels = hardware.levels;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const bool counts = mesh.axis(axis).size > 1;
        m_bits.push_back(counts ? static_cast<int>(m_axes.size()) : -1);
        if (counts)
            m_axes.push_back(axis);
    }
}

void CollectivePrices::setHardware(const Hardware& hardware)
{
    if (!joinedAlike(m_levels, hardware.levels)) {
        m_footprints.clear();
        m_levels = hardware.levels;
    }
    m_hardware = &hardware;
    m_curves.clear();
}

CollectivePrices::Mask CollectivePrices::maskOf(const std::vector<int>& axes) const
{
    Mask mask = 0;
    for (const int axis : axes)
        if (const int bit = m_bits[static_cast<std::size_t>(axis)]; bit >= 0)
            mask |= Mask { 1 } << bit;
    return mask;
}

std::vector<int> CollectivePrices::axesOf(Mask mask) const
{
    std::vector<int> axes;
    for (; mask != 0; mask &= mask - 1)
        axes.push_back(m_axes[static_cast<std::size_t>(std::countr_zero(mask))]);
    return axes;
}

double CollectivePrices::devicesOf(Mask mask) const
{
    double product = 1;
    for (; mask != 0; mask &= mask - 1)
        product *= static_cast<double>(m_mesh.axis(m_axes[static_cast<std::size_t>(std::countr_zero(mask))]).size);
    return product;
}

const Footprint& CollectivePrices::footprint(const std::vector<int>& axes) { return footprintBy(maskOf(axes)); }

const Footprint& CollectivePrices::footprintBy(Mask mask)
{
    const auto known = m_footprints.find(mask);
    return known != m_footprints.end() ? known->second
                                       : m_footprints.emplace(mask, footprintOf(axesOf(mask), m_mesh, *m_hardware)).first->second;
}

const PriceCurve& CollectivePrices::curve(CollectiveKind kind, const std::vector<int>& axes) { return curveBy(kind, maskOf(axes)); }

const PriceCurve& CollectivePrices::curveBy(CollectiveKind kind, Mask mask)
{
    const std::uint64_t key = std::uint64_t { mask } << 3 | static_cast<std::uint64_t>(kind);
    if (const auto known = m_curves.find(key); known != m_curves.end())
        return known->second;
    PriceCurve whole = groupCurve(kind, footprintBy(mask), *m_hardware);
    if (std::popcount(mask) > 1 && kind != CollectiveKind::LocalSlice) {
        std::vector<PricedWay> ways = whole.ways();
        if (std::popcount(mask) <= kMostAxesInAnyOrder) {
            for (Mask part = (mask - 1) & mask; part != 0; part = (part - 1) & mask)
                addSplit(ways, kind, part, mask & ~part);
        } else {
            const Mask lowest = mask & (~mask + 1);
            addSplit(ways, kind, lowest, mask & ~lowest);
            addSplit(ways, kind, mask & ~lowest, lowest);
        }
        whole = PriceCurve(ways);
    }
    return m_curves.emplace(key, std::move(whole)).first->second;
}

/// The collective over `first`, then over `second`.
void CollectivePrices::addSplit(std::vector<PricedWay>& ways, CollectiveKind kind, Mask first, Mask second)
{
    using enum CollectiveKind;
    switch (kind) {
    case AllReduce:
        addStaged(ways, { { &curveBy(AllReduce, first), 1 }, { &curveBy(AllReduce, second), 1 } });
        addStaged(ways, { { &curveBy(ReduceScatter, first), 1 },
                          { &curveBy(AllReduce, second), 1 / devicesOf(first) },
                          { &curveBy(AllGather, first), 1 } });
        break;
    case AllGather:
        addStaged(ways, { { &curveBy(AllGather, first), 1 / devicesOf(second) }, { &curveBy(AllGather, second), 1 } });
        break;
    case ReduceScatter:
        addStaged(ways, { { &curveBy(ReduceScatter, first), 1 }, { &curveBy(ReduceScatter, second), 1 / devicesOf(first) } });
        break;
    case AllToAll:
    case Broadcast:
    case SendRecv:
        addStaged(ways, { { &curveBy(kind, first), 1 }, { &curveBy(kind, second), 1 } });
        break;
    case LocalSlice:
        break;
    }
}

} // namespace shardboard

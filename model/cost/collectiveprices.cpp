// SPDX-License-Identifier: Apache-2.0
#include "model/cost/collectiveprices.h"

#include "model/cost/collectivesplits.h"

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
    m_library = hardware.library;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const bool counts = mesh.axis(axis).size > 1;
        m_bits.push_back(counts ? static_cast<int>(m_axes.size()) : -1);
        if (counts)
            m_axes.push_back(axis);
    }
}

bool CollectivePrices::setHardware(const Hardware& hardware)
{
    m_hardware = &hardware;
    if (m_levels == hardware.levels && m_library == hardware.library)
        return false;
    if (!joinedAlike(m_levels, hardware.levels)) {
        m_groups.clear(); // they look at the footprints
        m_footprints.clear();
    }
    m_levels = hardware.levels;
    m_library = hardware.library;
    m_curves.clear();
    ++m_edition;
    return true;
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
    const Mask parts[2] { first, second };
    visitAxisSplits(kind, [&](std::initializer_list<SplitStage> stages) {
        std::vector<CurveStage> curves;
        for (const SplitStage& stage : stages)
            curves.push_back({ &curveBy(stage.kind, parts[stage.part]), stage.whole ? 1 : 1 / devicesOf(parts[1 - stage.part]) });
        addStaged(ways, curves);
    });
}

double CollectivePrices::secondsAtOnce(CollectiveKind kind, const std::vector<int>& axes, std::int64_t bytes)
{
    const Mask mask = maskOf(axes);
    const auto count = static_cast<std::size_t>(std::popcount(mask));
    if (count > kPointAxes || m_hardware->levels.front().fabric == Fabric::Torus)
        return curveBy(kind, mask).seconds(bytes);
    if (count == 0)
        return 0;
    m_points.bytes = static_cast<double>(bytes);
    ++m_points.question;
    for (std::size_t set = 0; set < std::size_t { 1 } << count; ++set) {
        Mask part = 0;
        Mask rest = mask;
        for (std::size_t bit = 0; bit < count; ++bit, rest &= rest - 1)
            if (set >> bit & 1)
                part |= rest & (~rest + 1);
        m_points.devices[set] = devicesOf(part);
        if (part == 0)
            continue;
        auto known = m_groups.find(part);
        if (known == m_groups.end())
            known = m_groups.emplace(part, GroupPoints(footprintBy(part))).first;
        m_points.groups[set] = &known->second;
    }
    m_known.resize(kCollectiveKinds * kPointSets * kPointSets);
    return pointSeconds(kind, (std::size_t { 1 } << count) - 1, 0);
}

double CollectivePrices::pointSeconds(CollectiveKind kind, std::size_t part, std::size_t without)
{
    Known& known = m_known[(static_cast<std::size_t>(kind) * kPointSets + part) * kPointSets + without];
    if (known.question == m_points.question)
        return known.seconds;
    double least = m_points.groups[part]->seconds(kind, m_points.bytes / m_points.devices[without], *m_hardware, m_edition);
    if (std::popcount(part) > 1)
        for (std::size_t first = (part - 1) & part; first != 0; first = (first - 1) & part) {
            const std::size_t parts[2] { first, part & ~first };
            visitAxisSplits(kind, [&](std::initializer_list<SplitStage> stages) {
                double sum = 0;
                for (const SplitStage& stage : stages) {
                    sum += pointSeconds(stage.kind, parts[stage.part], stage.whole ? without : without | parts[1 - stage.part]);
                    if (sum >= least)
                        return;
                }
                least = sum;
            });
        }
    known = { m_points.question, least };
    return least;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/plan/reshard/reshardunits.h"

#include "model/ops/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace shardboard {

namespace {

constexpr std::size_t kFewAxes = 4; ///< of more, sets of them are too many to look at for a floor

template <class Find>
std::int64_t remembered(auto& known, std::int64_t parts, std::int64_t most, unsigned axes, const Find& find)
{
    for (const auto& it : known)
        if (it.parts == parts && it.most == most && it.axes == axes)
            return it.units;
    const std::int64_t units = find();
    known.push_back({ parts, most, axes, units });
    return units;
}

} // namespace

void ReshardUnits::begin(const ReshardedTensor& tensor, std::span<const int> axes, const Mesh& mesh, CollectivePrices& prices,
                         std::int64_t most)
{
    // Curves are kept from one search to the next where a set of mesh axes is a place among them.
    const bool kept = static_cast<std::size_t>(mesh.axisCount()) <= kMaxAxes;
    if (!kept || m_prices != &prices || m_edition != prices.edition())
        for (auto& curves : m_curves)
            curves.fill(nullptr);
    m_prices = &prices;
    m_edition = prices.edition();
    m_axes.assign(axes.begin(), axes.end());
    m_dtype = tensor.dtype;
    m_density = tensor.density;
    m_devices[0] = 1;
    for (unsigned set = 1; set <= all(); ++set) {
        const auto first = static_cast<std::size_t>(std::countr_zero(set));
        m_devices[set] = m_devices[set & (set - 1)] * mesh.axis(m_axes[first]).size;
        m_place[set] = static_cast<std::uint8_t>(m_place[set & (set - 1)] | 1U << (kept ? m_axes[first] : static_cast<int>(first)));
    }
    // No step takes longer than its kind would axis by axis; a hundred of them still fit into 63 bits.
    double bound = 0;
    for (const CollectiveKind kind : { CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                       CollectiveKind::AllToAll, CollectiveKind::SendRecv }) {
        double sum = 0;
        for (std::size_t axis = 0; axis < m_axes.size(); ++axis)
            sum += curve(kind, 1U << axis).seconds(bytesOf(most, m_dtype));
        bound = std::max(bound, sum);
    }
    m_scale = std::ldexp(1.0, 54 - std::ilogb(bound));
}

const PriceCurve& ReshardUnits::curve(CollectiveKind kind, unsigned axes)
{
    const PriceCurve*& known = m_curves[static_cast<std::size_t>(kind)][m_place[axes]];
    if (known == nullptr) {
        std::vector<int> list;
        for (std::size_t axis = 0; axis < m_axes.size(); ++axis)
            if (axes >> axis & 1)
                list.push_back(m_axes[axis]);
        known = &m_prices->curve(kind, list);
    }
    return *known;
}

std::int64_t ReshardUnits::bytes(std::int64_t count) const { return scaledBytes(bytesOf(count, m_dtype), m_density); }

std::int64_t ReshardUnits::units(CollectiveKind kind, unsigned axes, std::int64_t count)
{
    // Enough to outweigh the rounding of a price: of ways that take as long the one with fewer steps is the cheapest.
    constexpr std::int64_t kStep = 8;
    return kStep + std::llround(m_scale * seconds(kind, axes, count));
}

double ReshardUnits::seconds(std::int64_t units) const
{
    constexpr std::int64_t kRounding = 128; // of a few steps
    return static_cast<double>(std::max<std::int64_t>(0, units - kRounding)) / m_scale * (1 - 1e-12);
}

void ReshardFloor::begin(std::int64_t elements, std::int64_t parts, unsigned cut)
{
    m_elements = elements;
    m_end = parts;
    m_cut = cut;
    for (auto* known : { &m_gathers, &m_moves, &m_sums, &m_sendRecvs })
        known->clear();
}

std::int64_t ReshardFloor::of(std::int64_t parts, std::int64_t most, unsigned going, unsigned sums)
{
    if (std::popcount(m_prices.all()) > static_cast<int>(kFewAxes))
        return 0;
    const std::int64_t all = most * m_prices.devices(sums); // a sum may leave them cut
    const auto through = [&](unsigned axis) {
        const std::int64_t move = axis == 0 ? 0 : moved(axis, all);
        return parts <= m_end ? move : remembered(m_gathers, parts, all, axis, [&] {
            return gathered(m_end, parts, axis, move, std::numeric_limits<std::int64_t>::max());
        });
    };
    std::int64_t out = through(0);
    for (unsigned rest = going; rest != 0; rest &= rest - 1)
        out = std::max(out, through(rest & (~rest + 1)));
    return sums == 0 ? out : out + summed(sums, most);
}

std::int64_t ReshardFloor::gathered(std::int64_t end, std::int64_t parts, unsigned axis, std::int64_t move, std::int64_t limit)
{
    for (unsigned axes = m_prices.all(); axes != 0; --axes) {
        std::int64_t units = m_prices.units(CollectiveKind::AllGather, axes, share(end));
        if (units >= limit)
            continue;
        const std::int64_t rest = (axes & axis) != 0 ? 0 : move;
        if (const std::int64_t before = end * m_prices.devices(axes); before < parts)
            units += gathered(before, parts, axis, rest, limit - units);
        else
            units += rest;
        limit = std::min(limit, units);
    }
    return limit;
}

std::int64_t ReshardFloor::moved(unsigned axis, std::int64_t most)
{
    return remembered(m_moves, 0, most, axis, [&] {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (unsigned axes = m_prices.all(); axes != 0; --axes)
            if ((axes & axis) != 0)
                for (const CollectiveKind kind : { CollectiveKind::AllToAll, CollectiveKind::SendRecv, CollectiveKind::AllGather })
                    least = std::min(least, m_prices.units(kind, axes, share(most)));
        return least;
    });
}

std::int64_t ReshardFloor::summed(unsigned axes, std::int64_t most)
{
    if (axes == 0)
        return 0;
    return remembered(m_sums, 0, most, axes, [&] {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        const unsigned together = axes & ~m_cut;
        for (unsigned set = axes; set != 0; set = (set - 1) & axes) {
            // What is summed over may be cut over the same axes then.
            const std::int64_t after = summed(axes & ~set, most * m_prices.devices(set));
            if ((set & together) == together)
                least = std::min(least, after + m_prices.units(CollectiveKind::AllReduce, set, share(most)));
            if ((set & together) == 0)
                least = std::min(least, after + m_prices.units(CollectiveKind::ReduceScatter, set, share(most)));
        }
        return least;
    });
}

std::int64_t ReshardFloor::sendRecv(std::int64_t count)
{
    if (std::popcount(m_prices.all()) > static_cast<int>(kFewAxes))
        return 0;
    return remembered(m_sendRecvs, count, 0, 0, [&] {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (unsigned axes = m_prices.all(); axes != 0; --axes)
            least = std::min(least, m_prices.units(CollectiveKind::SendRecv, axes, count));
        return least;
    });
}

} // namespace shardboard

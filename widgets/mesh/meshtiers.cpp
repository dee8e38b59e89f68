// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshtiers.h"

#include <algorithm>
#include <numeric>

namespace shardboard {

namespace {

constexpr std::int64_t kMostUnits = 256; ///< side by side, before they are grouped

/// Cuts the factor in which a unit of so many devices ends, so that it ends between two factors; how many then lie in the unit, or
/// 0 where no cut does it.
std::size_t cutAt(MeshTiers& out, std::int64_t devices)
{
    std::int64_t inside = 1;
    for (std::size_t i = 0; i < out.factors.size(); ++i) {
        if (inside == devices && out.weights[i] >= devices)
            return i;
        const MeshFactor factor = out.factors[i];
        if (inside * factor.size > devices) {
            const std::int64_t part = devices / inside;
            if (devices % inside != 0 || factor.size % part != 0)
                return 0;
            out.factors[i] = { factor.axis, part, factor.stride, false };
            const auto next = static_cast<std::ptrdiff_t>(i) + 1;
            out.factors.insert(out.factors.begin() + next, { factor.axis, factor.size / part, factor.stride * part, false });
            out.weights.insert(out.weights.begin() + next, out.weights[i] * part);
            for (MeshTier& tier : out.tiers)
                tier.factors += tier.factors > i ? 1 : 0;
            return i + 1;
        }
        inside *= factor.size;
    }
    return 0;
}

MeshTier::Kind kindOf(const Hardware& hardware, std::size_t level)
{
    if (level > 0)
        return MeshTier::Kind::Network;
    return hardware.levels[level].fabric == Fabric::Torus ? MeshTier::Kind::Slice : MeshTier::Kind::Node;
}

/// Between `from` and `to` devices where units and groups are as many as each other: where a mesh axis ends, or else inside one.
std::int64_t groupBetween(const MeshTiers& out, std::int64_t from, std::int64_t to)
{
    const auto most = [&](std::int64_t devices) { return std::max(devices / from, to / devices); };
    std::int64_t best = 0;
    std::int64_t inside = 1;
    for (const MeshFactor& factor : out.factors) {
        inside *= factor.size;
        if (inside > from && inside < to && inside % from == 0 && (best == 0 || most(inside) < most(best)))
            best = inside;
    }
    if (best != 0 && most(best) <= 2 * kMostUnits)
        return best;
    inside = 1;
    for (const MeshFactor& factor : out.factors) {
        for (std::int64_t part = 2; part < factor.size; ++part)
            if (const std::int64_t devices = inside * part; factor.size % part == 0 && devices > from && devices < to
                && devices % from == 0 && (best == 0 || most(devices) < most(best)))
                best = devices;
        inside *= factor.size;
    }
    return best;
}

/// Ids between neighbours along each axis, as more than half of the neighbours have them; where no number is that common, as they
/// are row by row.
std::vector<std::int64_t> commonStrides(const Mesh& mesh)
{
    std::vector<std::int64_t> out;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        std::int64_t common = mesh.stride(axis);
        std::int64_t votes = 0; // of more than half of all something is left when each other one takes a vote away
        for (std::int64_t position = 0; position + mesh.stride(axis) < mesh.deviceCount(); ++position) {
            if (mesh.coordinate(position, axis) + 1 == mesh.axis(axis).size)
                continue;
            const std::int64_t apart = mesh.deviceId(position + mesh.stride(axis)) - mesh.deviceId(position);
            if (votes == 0)
                common = apart;
            votes += apart == common ? 1 : -1;
        }
        out.push_back(common);
    }
    return out;
}

/// The slot of each device where neighbours along the axes are so many ids apart, and their number at their own mesh positions;
/// no slots where such ids are not those of the devices.
std::vector<std::int64_t> slotsBy(const std::vector<std::int64_t>& strides, const Mesh& mesh, std::int64_t& atHome)
{
    const std::int64_t count = mesh.deviceCount();
    std::vector<std::int64_t> byId(static_cast<std::size_t>(count), -1);
    std::vector<std::int64_t> out(byId.size());
    atHome = 0;
    for (std::int64_t slot = 0; slot < count; ++slot) {
        std::int64_t id = 0;
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            id += mesh.coordinate(slot, axis) * strides[static_cast<std::size_t>(axis)];
        if (id < 0 || id >= count || byId[static_cast<std::size_t>(id)] >= 0)
            return {};
        byId[static_cast<std::size_t>(id)] = slot;
    }
    for (std::int64_t position = 0; position < count; ++position) {
        const std::int64_t slot = byId[static_cast<std::size_t>(mesh.deviceId(position))];
        out[static_cast<std::size_t>(position)] = slot;
        atHome += slot == position ? 1 : 0;
    }
    return out;
}

/// Slots where ids are common distances apart, or row by row; the distances.
std::vector<std::int64_t> giveSlots(MeshTiers& out, const Mesh& mesh)
{
    std::vector<std::int64_t> strides = commonStrides(mesh);
    std::int64_t atHome = 0;
    out.slotByPosition = slotsBy(strides, mesh, atHome);
    out.followsAxes = 2 * atHome >= mesh.deviceCount();
    if (out.slotByPosition.empty() || !out.followsAxes) {
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            strides[static_cast<std::size_t>(axis)] = mesh.stride(axis);
        out.slotByPosition = slotsBy(strides, mesh, atHome);
        out.followsAxes = 2 * atHome >= mesh.deviceCount();
    }
    out.positionBySlot.resize(out.slotByPosition.size());
    for (std::size_t position = 0; position < out.slotByPosition.size(); ++position)
        out.positionBySlot[static_cast<std::size_t>(out.slotByPosition[position])] = static_cast<std::int64_t>(position);
    return strides;
}

} // namespace

std::optional<std::vector<std::int64_t>> idStrides(const Mesh& mesh)
{
    std::vector<std::int64_t> out;
    const auto& ids = mesh.deviceIds();
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        out.push_back(ids.empty() || mesh.axis(axis).size < 2 ? mesh.stride(axis) : mesh.deviceId(mesh.stride(axis)));
    if (ids.empty())
        return out;
    std::vector<std::int64_t> sums { 0 };
    for (int axis = mesh.axisCount() - 1; axis >= 0; --axis) {
        const std::size_t inside = sums.size();
        for (std::int64_t step = 1; step < mesh.axis(axis).size; ++step)
            for (std::size_t i = 0; i < inside; ++i)
                sums.push_back(sums[i] + step * out[static_cast<std::size_t>(axis)]);
    }
    return sums == ids ? std::optional(out) : std::nullopt;
}

MeshTiers foldedMesh(const Mesh& mesh, const Hardware& hardware)
{
    MeshTiers out;
    auto strides = idStrides(mesh);
    if (!strides && !hardware.levels.empty())
        strides = giveSlots(out, mesh);
    std::vector<int> order(static_cast<std::size_t>(mesh.axisCount()));
    std::iota(order.rbegin(), order.rend(), 0);
    const auto weightOf = [&](int axis) { return strides ? (*strides)[static_cast<std::size_t>(axis)] : mesh.stride(axis); };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return weightOf(a) < weightOf(b); });
    for (const int axis : order) {
        out.factors.push_back({ axis, mesh.axis(axis).size, mesh.stride(axis), true });
        out.weights.push_back(weightOf(axis));
    }
    const std::int64_t all = mesh.deviceCount();
    std::int64_t devices = 1;
    std::size_t level = 0;
    for (; strides && level < hardware.levels.size() && hardware.levels[level].size > 0; ++level) {
        devices *= hardware.levels[level].size;
        if (devices >= all)
            break;
        if (devices == 1)
            continue;
        if (const std::size_t factors = cutAt(out, devices); factors > 0)
            out.tiers.push_back({ kindOf(hardware, level), devices, factors, level });
        else
            break;
    }
    if (!out.slotByPosition.empty() && out.tiers.empty())
        return foldedMesh(mesh, {}); // nothing to lie in: everyone is at home
    std::int64_t inside = 1;
    for (std::size_t i = 0; i <= out.tiers.size(); ++i) {
        const std::int64_t outside = i < out.tiers.size() ? out.tiers[i].devices : all;
        if (outside / inside > kMostUnits) {
            const std::int64_t group = groupBetween(out, inside, outside);
            if (const std::size_t factors = group > 0 ? cutAt(out, group) : 0; factors > 0) {
                const std::size_t joins = std::min(i < out.tiers.size() ? out.tiers[i].level : level,
                                                   std::max<std::size_t>(hardware.levels.size(), 1) - 1);
                out.tiers.insert(out.tiers.begin() + static_cast<std::ptrdiff_t>(i),
                                 { MeshTier::Kind::Group, group, factors, joins });
                ++i;
            }
        }
        inside = outside;
    }
    return out;
}

std::int64_t MeshTiers::unitOf(std::size_t tier, std::int64_t position) const
{
    std::int64_t out = 0;
    position = slotOf(position);
    for (std::size_t i = tiers[tier].factors; i < factors.size(); ++i)
        out += position / factors[i].stride % factors[i].size * (weights[i] / tiers[tier].devices);
    return out;
}

std::string MeshTiers::coordinates(std::size_t tier, std::int64_t position, const Mesh& mesh) const
{
    std::string out;
    position = slotOf(position);
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        std::int64_t inside = 1; // steps of the axis that a unit has
        for (std::size_t i = 0; i < tiers[tier].factors; ++i)
            inside *= factors[i].axis == axis ? factors[i].size : 1;
        const std::int64_t size = mesh.axis(axis).size;
        if (size < 2 || inside == size)
            continue;
        const std::int64_t first = mesh.coordinate(position, axis) / inside * inside;
        out += (out.empty() ? "" : ", ") + mesh.axis(axis).name + " " + std::to_string(first)
            + (inside > 1 ? "–" + std::to_string(first + inside - 1) : "");
    }
    return out;
}

} // namespace shardboard

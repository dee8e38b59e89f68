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
    const auto strides = idStrides(mesh);
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
    for (std::size_t i = tiers[tier].factors; i < factors.size(); ++i)
        out += position / factors[i].stride % factors[i].size * (weights[i] / tiers[tier].devices);
    return out;
}

std::string MeshTiers::coordinates(std::size_t tier, std::int64_t position, const Mesh& mesh) const
{
    std::string out;
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

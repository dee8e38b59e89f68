// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/footprint.h"

#include "model/text/numbers.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace shardboard {

namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

/// A place of the number system in which device ids count through the levels: a level, or one dim of a torus.
struct Digit {
    std::size_t level = 0;
    std::size_t torusDim = 0;
    std::int64_t weight = 1; ///< ids from one value of it to the next
    std::int64_t radix = 1;
};

std::vector<Digit> digitsOf(const Hardware& hardware)
{
    std::vector<Digit> digits;
    std::int64_t weight = 1;
    for (std::size_t level = 0; level < hardware.levels.size(); ++level) {
        const Level& it = hardware.levels[level];
        if (it.size <= 0) {
            digits.push_back({ level, 0, weight, kUnbounded });
            break;
        }
        if (it.fabric == Fabric::Torus)
            for (std::size_t dim = it.shape.size(); dim-- > 0; weight *= it.shape[dim])
                digits.push_back({ level, dim, weight, it.shape[dim] });
        else {
            digits.push_back({ level, 0, weight, it.size });
            weight *= it.size;
        }
    }
    return digits;
}

/// `count` values of a digit, `spacing` apart.
struct Comb {
    std::int64_t count = 1;
    std::int64_t spacing = 1;
};

/// What an axis takes of every digit, or nothing where it does not fit them.
std::optional<std::vector<Comb>> combsOf(std::int64_t stride, std::int64_t size, const std::vector<Digit>& digits)
{
    std::vector<Comb> combs(digits.size());
    for (std::size_t i = 0; i < digits.size() && size > 1; ++i) {
        const Digit& digit = digits[i];
        const bool last = digit.radix == kUnbounded;
        if (stride % digit.weight != 0)
            return std::nullopt;
        const std::int64_t spacing = stride / digit.weight;
        if (!last && spacing % digit.radix == 0)
            continue; // begins farther out
        const std::int64_t count = last ? size : std::min(size, digit.radix / spacing);
        if (!last && (digit.radix % spacing != 0 || digit.radix / spacing % count != 0 || size % count != 0))
            return std::nullopt;
        combs[i] = { count, spacing };
        size /= count;
        if (size > 1)
            stride = digit.weight * digit.radix;
    }
    return size > 1 ? std::nullopt : std::optional(combs);
}

TorusExtent extentOf(std::vector<Comb> combs, std::int64_t size, bool wraps)
{
    std::ranges::sort(combs, [](const Comb& a, const Comb& b) { return a.spacing < b.spacing; });
    TorusExtent out { 1, 1, size, false };
    std::int64_t next = 0; // spacing with which the places so far go on evenly
    bool regular = true;
    std::int64_t first = 1;
    for (const Comb& comb : combs) {
        if (comb.count == 1)
            continue;
        regular = regular && (next == 0 || comb.spacing == next);
        if (next == 0)
            first = comb.spacing;
        next = comb.spacing * comb.count;
        out.count *= comb.count;
        out.span += (comb.count - 1) * comb.spacing;
    }
    out.ring = wraps && regular && out.count > 1 && first * out.count == size;
    return out;
}

Footprint framed(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware)
{
    Footprint out;
    out.devices = mesh.groupSize(axes);
    out.groups = mesh.deviceCount() / std::max<std::int64_t>(1, out.devices);
    out.levels.resize(hardware.levels.size());
    for (std::size_t level = 0; level < hardware.levels.size(); ++level)
        for (const std::int64_t size : hardware.levels[level].shape)
            out.levels[level].torus.push_back({ 1, 1, size, false });
    return out;
}

std::optional<Footprint> closedForm(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware)
{
    const std::vector<Digit> digits = digitsOf(hardware);
    std::vector<std::vector<Comb>> byDigit(digits.size());
    for (const int axis : axes) {
        const auto combs = combsOf(mesh.stride(axis), mesh.axis(axis).size, digits);
        if (!combs)
            return std::nullopt;
        for (std::size_t i = 0; i < digits.size(); ++i)
            byDigit[i].push_back((*combs)[i]);
    }
    Footprint out = framed(axes, mesh, hardware);
    for (std::size_t i = 0; i < digits.size(); ++i) {
        LevelShare& share = out.levels[digits[i].level];
        std::int64_t count = 1;
        for (const Comb& comb : byDigit[i])
            count *= comb.count;
        share.members *= count;
        if (!share.torus.empty())
            share.torus[digits[i].torusDim] =
                extentOf(byDigit[i], digits[i].radix, hardware.levels[digits[i].level].wraps[digits[i].torusDim]);
    }
    std::int64_t outside = 1;
    for (std::size_t level = out.levels.size(); level-- > 0;) {
        out.levels[level].fewest = out.levels[level].members;
        out.levels[level].units = outside;
        outside *= out.levels[level].members;
    }
    return out;
}

TorusExtent countedExtent(std::vector<std::int64_t> places, std::int64_t size, bool wraps)
{
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    TorusExtent out { static_cast<std::int64_t>(places.size()), places.back() - places.front() + 1, size, false };
    if (!wraps || places.size() < 2)
        return out;
    bool even = true;
    std::int64_t widest = 0;
    const std::int64_t spacing = places[1] - places[0];
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::int64_t gap = i + 1 < places.size() ? places[i + 1] - places[i] : places.front() + size - places.back();
        even = even && gap == spacing;
        widest = std::max(widest, gap);
    }
    out.ring = even;
    if (!even)
        out.span = size - widest + 1; // the shorter way round
    return out;
}

/// The places on every level of one group; `ids` are sorted.
Footprint counted(const std::vector<std::int64_t>& ids, Footprint frame, const Hardware& hardware)
{
    std::int64_t weight = 1; // ids of one member of the level
    for (std::size_t level = 0; level < frame.levels.size(); ++level) {
        LevelShare& share = frame.levels[level];
        const std::int64_t size = hardware.levels[level].size;
        const auto unitOf = [&](std::int64_t member) { return size > 0 ? member / size : 0; };
        std::int64_t before = -1;
        std::int64_t unit = -1;
        std::int64_t inUnit = 0;
        share.members = 0;
        share.fewest = kUnbounded;
        share.units = 0;
        const auto close = [&] {
            if (inUnit == 0)
                return;
            share.members = std::max(share.members, inUnit);
            share.fewest = std::min(share.fewest, inUnit);
            ++share.units;
        };
        std::vector<std::vector<std::int64_t>> places(share.torus.size());
        for (const std::int64_t id : ids) {
            const std::int64_t member = id / weight;
            if (member == before)
                continue;
            before = member;
            if (unitOf(member) != unit) {
                close();
                inUnit = 0;
                unit = unitOf(member);
            }
            ++inUnit;
            std::int64_t rest = size > 0 ? member % size : member;
            for (std::size_t dim = places.size(); dim-- > 0; rest /= share.torus[dim].size)
                places[dim].push_back(rest % share.torus[dim].size);
        }
        close();
        frame.even = frame.even && share.fewest == share.members;
        for (std::size_t dim = 0; dim < places.size(); ++dim)
            share.torus[dim] = countedExtent(std::move(places[dim]), share.torus[dim].size, hardware.levels[level].wraps[dim]);
        weight *= std::max<std::int64_t>(1, size);
    }
    return frame;
}

/// Larger is worse.
std::tuple<std::int64_t, std::int64_t, std::int64_t> badness(const Footprint& footprint)
{
    std::int64_t reach = 0;
    std::int64_t fewest = kUnbounded;
    std::int64_t span = 0;
    for (const LevelShare& share : footprint.levels) {
        reach = reach * 4096 + std::min<std::int64_t>(share.units, 4095); // touched units of inner levels count most
        fewest = std::min(fewest, share.fewest);
        for (const TorusExtent& extent : share.torus)
            span += extent.span;
    }
    return { reach, -fewest, span };
}

std::string countOf(std::int64_t count, const char* one, const char* many)
{
    return countText(count) + " " + (count == 1 ? one : many);
}

std::string torusText(const LevelShare& share)
{
    std::string sizes;
    int dims = 0;
    bool ring = true;
    std::int64_t apart = 1;
    for (const TorusExtent& extent : share.torus) {
        if (extent.count == 1)
            continue;
        ++dims;
        sizes += (sizes.empty() ? "" : " x ") + std::to_string(extent.count);
        ring = ring && extent.ring;
        apart = std::max(apart, extent.sharing());
    }
    const std::string what = dims == 1 ? (ring ? "ring of " : "line of ") : (ring ? "torus of " : "block of ");
    return what + sizes + (ring ? " with wraparound" : " without wraparound")
        + (apart > 1 ? ", links shared by " + std::to_string(apart) + " groups" : "");
}

bool isNvlink(const Level& level) { return level.link.id.starts_with("nvlink"); }

} // namespace

std::int64_t TorusExtent::sharing() const
{
    const std::int64_t taken = ring ? size : span;
    return count > 0 ? (taken + count - 1) / count : 1;
}

Footprint footprintOf(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware)
{
    if (mesh.deviceIds().empty())
        if (auto footprint = closedForm(axes, mesh, hardware))
            return std::move(*footprint);
    return countedFootprint(axes, mesh, hardware);
}

Footprint countedFootprint(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware)
{
    const Footprint frame = framed(axes, mesh, hardware);
    std::vector<std::int64_t> offsets { 0 }; // of the members of a group, in positions
    for (const int axis : axes) {
        const std::size_t before = offsets.size();
        for (std::int64_t i = 1; i < mesh.axis(axis).size; ++i)
            for (std::size_t j = 0; j < before; ++j)
                offsets.push_back(offsets[j] + i * mesh.stride(axis));
    }
    std::optional<Footprint> worst;
    bool alike = true;
    std::vector<std::int64_t> ids(offsets.size());
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        if (std::ranges::any_of(axes, [&](int axis) { return mesh.coordinate(position, axis) != 0; }))
            continue;
        for (std::size_t i = 0; i < offsets.size(); ++i)
            ids[i] = mesh.deviceId(position + offsets[i]);
        std::ranges::sort(ids);
        Footprint here = counted(ids, frame, hardware);
        alike = alike && (!worst || here == *worst);
        if (!worst || badness(here) > badness(*worst))
            worst = std::move(here);
    }
    if (!worst)
        return frame;
    worst->alike = alike;
    return std::move(*worst);
}

double portSharing(const Footprint& footprint, const Hardware& hardware, std::size_t level)
{
    if (level == 0 || level >= footprint.levels.size() || footprint.levels[level].members <= 1)
        return 1;
    const double ports = hardware.levels[level].nicsPerDevice * static_cast<double>(footprint.levels[level - 1].fewest);
    return std::max(1.0, 1 / ports);
}

const LinkSpec& widestLink(const Footprint& footprint, const Hardware& hardware)
{
    for (std::size_t level = footprint.levels.size(); level-- > 0;)
        if (footprint.levels[level].members > 1)
            return hardware.levels[level].link;
    return hardware.innerLink();
}

const LinkSpec& linkOf(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware)
{
    return widestLink(footprintOf(axes, mesh, hardware), hardware);
}

std::string linkNames(const Footprint& footprint, const Hardware& hardware)
{
    std::string out;
    for (std::size_t level = 0; level < footprint.levels.size(); ++level)
        if (footprint.levels[level].members > 1)
            out += (out.empty() ? "" : " + ") + hardware.levels[level].link.id;
    return out;
}

std::string describe(const Footprint& footprint, const Hardware& hardware)
{
    if (footprint.devices == 1 || footprint.levels.empty())
        return "one device";
    const Level& inner = hardware.levels.front();
    const LevelShare& share = footprint.levels.front();
    std::int64_t outside = 1;
    for (std::size_t level = 1; level < footprint.levels.size(); ++level)
        outside *= footprint.levels[level].members;
    const bool torus = inner.fabric == Fabric::Torus;
    const char* many = torus ? "slices" : "nodes";
    if (outside == 1) {
        if (torus)
            return torusText(share);
        const char* where = inner.fabric == Fabric::SharedMemory ? " in one memory"
            : isNvlink(inner)                                    ? " in one NVLink domain"
                                                                 : " in one node";
        return countOf(footprint.devices, "device", "devices") + where;
    }
    const double nics = hardware.levels[1].nicsPerDevice;
    std::string ports = ", 1 NIC a device";
    if (nics > 1)
        ports = ", " + std::to_string(static_cast<int>(nics)) + " NICs a device";
    else if (nics < 1)
        ports = ", 1 NIC for " + std::to_string(static_cast<int>(1 / nics + 0.5)) + " devices";
    if (!footprint.even)
        return countOf(footprint.devices, "device", "devices") + " unevenly over " + countText(share.units) + " " + many + ports;
    if (share.members == 1)
        return "1 device in each of " + countText(outside) + " " + many + ports;
    return (torus ? torusText(share) : countText(share.members)) + " x " + countText(outside) + " " + many + ports;
}

} // namespace shardboard

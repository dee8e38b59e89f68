// SPDX-License-Identifier: Apache-2.0
#include "model/cost/leveltraffic.h"

#include <algorithm>

namespace shardboard {

namespace {

std::vector<LevelReach> evenReach(const Footprint& footprint)
{
    std::vector<LevelReach> out(footprint.levels.size());
    const auto all = static_cast<double>(footprint.devices);
    double inside = 1; // members of the group in a unit of the level before
    for (std::size_t level = 0; level < out.size(); ++level) {
        const auto members = static_cast<double>(footprint.levels[level].members);
        if (members > 1)
            out[level] = { 1 / inside, 1 / (members * inside), (members - 1) * inside / all, (members - 1) / (members * inside),
                           0 };
        inside *= members;
    }
    if (all > 1 && !out.empty())
        out[widestLevel(footprint)].wrap = 1 / all;
    return out;
}

/// Adds the reach of one group, whose device ids come in the order in which it sends.
void addReach(std::vector<std::int64_t> ids, const Hardware& hardware, std::vector<LevelReach>& out)
{
    const auto all = static_cast<double>(ids.size());
    std::int64_t unit = 1; // devices in one
    std::vector<std::int64_t> sorted = ids;
    std::ranges::sort(sorted);
    for (std::size_t level = 0; level < out.size(); ++level) {
        const std::int64_t inner = unit;
        const std::int64_t size = hardware.levels[level].size;
        const auto unitOf = [&](std::int64_t id) { return size > 0 ? id / (inner * size) : 0; };
        const auto meet = [&](std::int64_t a, std::int64_t b) { return a / inner != b / inner && unitOf(a) == unitOf(b); };
        LevelReach& reach = out[level];
        for (std::size_t first = 0, end = 0; first < sorted.size(); first = end) { // the devices of a unit
            double members = 0;
            double squares = 0; // of the devices in each member
            for (std::size_t next = first; next < sorted.size() && unitOf(sorted[next]) == unitOf(sorted[first]); next = end) {
                for (end = next; end < sorted.size() && sorted[end] / inner == sorted[next] / inner;)
                    ++end;
                const auto devices = static_cast<double>(end - next);
                squares += devices * devices;
                ++members;
            }
            const auto devices = static_cast<double>(end - first);
            if (members > 1) {
                reach.members += members;
                reach.units += 1;
                reach.meetings += (devices * devices - squares) / all;
            }
        }
        for (std::size_t i = 0; i + 1 < ids.size(); ++i)
            reach.line += meet(ids[i], ids[i + 1]) ? 1 : 0;
        reach.wrap += meet(ids.back(), ids.front()) ? 1 : 0;
        unit = inner * std::max<std::int64_t>(1, size);
    }
}

std::vector<LevelReach> countedReach(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware)
{
    std::vector<LevelReach> out(hardware.levels.size());
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        if (std::ranges::any_of(axes, [&](int axis) { return mesh.coordinate(position, axis) != 0; }))
            continue;
        std::vector<std::int64_t> ids = mesh.group(position, axes);
        for (std::int64_t& id : ids)
            id = mesh.deviceId(id);
        addReach(std::move(ids), hardware, out);
    }
    const auto devices = static_cast<double>(mesh.deviceCount());
    for (LevelReach& reach : out)
        for (double* each : { &reach.members, &reach.units, &reach.meetings, &reach.line, &reach.wrap })
            *each /= devices;
    return out;
}

} // namespace

std::size_t widestLevel(const Footprint& footprint)
{
    for (std::size_t level = footprint.levels.size(); level-- > 0;)
        if (footprint.levels[level].members > 1)
            return level;
    return 0;
}

std::vector<LevelReach> levelReach(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware,
                                   const Footprint& footprint)
{
    return mesh.deviceIds().empty() && footprint.even && footprint.alike ? evenReach(footprint)
                                                                         : countedReach(axes, mesh, hardware);
}

std::vector<LevelReach> levelReach(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware)
{
    return levelReach(axes, mesh, hardware, footprintOf(axes, mesh, hardware));
}

std::vector<double> bytesByLevel(CollectiveKind kind, const std::vector<LevelReach>& reach, double bytes, SendPattern sends,
                                 const std::vector<SwitchSum>& sums)
{
    std::vector<double> out(reach.size());
    for (std::size_t level = 0; level < out.size(); ++level) {
        const LevelReach& it = reach[level];
        const double copies = it.members - it.units; // each member of a unit but one gets what the unit has once
        switch (kind) {
        case CollectiveKind::AllReduce:
            out[level] = 2 * copies * bytes;
            if (level < sums.size()
                && sums[level] != SwitchSum::None) // up from every member; an island's sums are written by its devices
                out[level] = (it.members + (sums[level] == SwitchSum::Island ? it.units : 0)) * bytes;
            break;
        case CollectiveKind::AllGather:
        case CollectiveKind::ReduceScatter:
        case CollectiveKind::Broadcast:
            out[level] = copies * bytes;
            break;
        case CollectiveKind::AllToAll: // a part to each member, its own to itself
            out[level] = it.meetings * bytes;
            break;
        case CollectiveKind::SendRecv:
            if (sends == SendPattern::Ring || sends == SendPattern::Line)
                out[level] += it.line * bytes;
            if (sends == SendPattern::Ring || sends == SendPattern::Wrap)
                out[level] += it.wrap * bytes;
            break;
        case CollectiveKind::LocalSlice:
            break;
        }
    }
    if (kind == CollectiveKind::SendRecv && sends == SendPattern::Anywhere)
        for (std::size_t level = out.size(); level-- > 0;)
            if (reach[level].members > 0) {
                out[level] = bytes;
                break;
            }
    return out;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/transfers.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

constexpr std::size_t kSmallGroup = 8; ///< up to here an all-to-all is drawn pair by pair
constexpr std::size_t kMostMembers = 4096; ///< larger groups are not followed device by device

std::vector<Transfer> ring(const std::vector<std::int64_t>& members, bool both)
{
    std::vector<Transfer> out;
    if (members.size() == 2)
        return { { members[0], members[1], true } };
    for (std::size_t i = 0; i < members.size() && members.size() > 1; ++i)
        out.push_back({ members[i], members[(i + 1) % members.size()], both });
    return out;
}

std::vector<Transfer> pairs(const std::vector<std::int64_t>& members, std::int64_t member)
{
    std::vector<Transfer> out;
    for (std::size_t i = 0; i < members.size(); ++i)
        for (std::size_t k = i + 1; k < members.size(); ++k)
            if (members.size() <= kSmallGroup || members[i] == member || members[k] == member)
                out.push_back({ members[i], members[k], true });
    return out;
}

std::vector<Transfer> sends(const Collective& collective, const Plan& plan, const std::vector<std::int64_t>& members)
{
    std::vector<Transfer> out;
    if (collective.step.before != collective.step.after) {
        const auto sources = sendRecvSources(collective.step, plan.mesh, members);
        for (std::size_t i = 0; i < members.size() && i < sources.size(); ++i)
            if (sources[i] != members[i] && std::find(members.begin(), members.end(), sources[i]) != members.end())
                out.push_back({ sources[i], members[i], false });
        return out;
    }
    if (!plan.pipeline || collective.axes != std::vector { plan.pipeline->axis })
        return ring(members, false);
    const bool back = plan.segment(collective.plannedSegment).phase == Phase::Backward;
    for (std::size_t i = 0; i + 1 < members.size(); ++i)
        out.push_back(back ? Transfer { members[i + 1], members[i], false } : Transfer { members[i], members[i + 1], false });
    return out;
}

} // namespace

std::vector<Transfer> transfersOf(const Collective& collective, const Plan& plan, std::int64_t member)
{
    if (collective.groupSize < 2 || collective.kind == CollectiveKind::LocalSlice
        || static_cast<std::size_t>(collective.groupSize) > kMostMembers)
        return {};
    const auto members = plan.mesh.group(member, collective.axes);
    switch (collective.kind) {
    case CollectiveKind::AllReduce:
        return ring(members, true);
    case CollectiveKind::AllToAll:
        return pairs(members, member);
    case CollectiveKind::SendRecv:
        return sends(collective, plan, members);
    case CollectiveKind::Broadcast: {
        std::vector<Transfer> out;
        for (std::size_t i = 1; i < members.size(); ++i)
            out.push_back({ members[0], members[i], false });
        return out;
    }
    default:
        return ring(members, false);
    }
}

std::int64_t groupNameOf(const Mesh& mesh, const std::vector<int>& axes, std::int64_t position)
{
    for (const int axis : axes)
        position -= mesh.coordinate(position, axis) * mesh.stride(axis);
    return position;
}

ShownTransfers shownTransfers(const Collective& collective, const Plan& plan, const std::vector<std::int64_t>& visible,
                              std::int64_t member, std::size_t most)
{
    ShownTransfers out;
    member = std::clamp<std::int64_t>(member, 0, plan.mesh.deviceCount() - 1);
    out.allGroups = plan.mesh.deviceCount() / std::max<std::int64_t>(collective.groupSize, 1);
    out.moves = transfersOf(collective, plan, member);
    out.groups = out.moves.empty() ? 0 : 1;
    if (out.moves.empty())
        return out;
    const std::size_t each = out.moves.size();
    std::set<std::int64_t> names { groupNameOf(plan.mesh, collective.axes, member) };
    std::vector<std::int64_t> others;
    for (const std::int64_t position : visible) {
        if (!names.insert(groupNameOf(plan.mesh, collective.axes, position)).second)
            continue;
        others.push_back(position);
        if ((others.size() + 1) * each > most)
            return out;
    }
    for (const std::int64_t position : others) {
        const auto moves = transfersOf(collective, plan, position);
        out.moves.insert(out.moves.end(), moves.begin(), moves.end());
        ++out.groups;
    }
    return out;
}

std::vector<Arrow> arrowsOf(const std::vector<Transfer>& moves, const MeshGrid& grid, double scale, double least)
{
    const auto distance = [](const QPointF& a, const QPointF& b) { return (b - a).manhattanLength(); };
    std::vector<Arrow> out;
    for (std::size_t i = 0; i < moves.size();) {
        const QPointF from = grid.cell(moves[i].from).center() * scale;
        std::size_t last = i;
        while (distance(from, grid.cell(moves[last].to).center() * scale) < least && last + 1 < moves.size()
               && moves[last + 1].from == moves[last].to)
            ++last;
        const QPointF to = grid.cell(moves[last].to).center() * scale;
        if (distance(from, to) >= least / 2)
            out.push_back({ from, to, moves[i].both });
        i = last + 1;
    }
    return out;
}

std::vector<std::int64_t> positionsIn(const MeshGrid& grid, const QRectF& world, std::size_t most)
{
    std::vector<std::int64_t> out;
    for (std::int64_t row = 0; row < grid.rows(); ++row) {
        const double top = grid.rowTop(row);
        if (top + grid.cellHeight() <= world.top() || top >= world.bottom())
            continue;
        for (std::int64_t column = 0; column < grid.columns(); ++column) {
            const double left = grid.columnLeft(column);
            if (left + 1 <= world.left() || left >= world.right())
                continue;
            if (const std::int64_t position = grid.positionOf(column, row); position >= 0)
                out.push_back(position);
            if (out.size() >= most)
                return out;
        }
    }
    return out;
}

} // namespace shardboard

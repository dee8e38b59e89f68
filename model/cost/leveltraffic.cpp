// SPDX-License-Identifier: Apache-2.0
#include "model/cost/leveltraffic.h"

namespace shardboard {

std::size_t widestLevel(const Footprint& footprint)
{
    for (std::size_t level = footprint.levels.size(); level-- > 0;)
        if (footprint.levels[level].members > 1)
            return level;
    return 0;
}

std::vector<double> bytesByLevel(CollectiveKind kind, const Footprint& footprint, double bytes, SendPattern sends)
{
    std::vector<double> out(footprint.levels.size());
    double all = 1;
    for (const LevelShare& share : footprint.levels)
        all *= static_cast<double>(share.members);
    if (out.empty() || all <= 1 || kind == CollectiveKind::LocalSlice)
        return out;
    const std::size_t widest = widestLevel(footprint);
    double inside = 1; // members of the group in a unit of the level before
    for (std::size_t level = 0; level < out.size(); ++level) {
        const auto members = static_cast<double>(footprint.levels[level].members);
        switch (kind) {
        case CollectiveKind::AllReduce:
            out[level] = 2 * (members - 1) / members * bytes / inside;
            break;
        case CollectiveKind::AllGather:
        case CollectiveKind::ReduceScatter:
        case CollectiveKind::Broadcast:
            out[level] = (members - 1) / members * bytes / inside;
            break;
        case CollectiveKind::AllToAll: // a part to each member, its own to itself
            out[level] = (members - 1) * inside / all * bytes;
            break;
        case CollectiveKind::SendRecv:
            if (sends == SendPattern::Anywhere)
                out[level] = level == widest ? bytes : 0;
            else // members in a row: between units of the level there is one step each
                out[level] =
                    ((members - 1) / (members * inside) + (sends == SendPattern::Ring && level == widest ? 1 / all : 0)) * bytes;
            break;
        case CollectiveKind::LocalSlice:
            break;
        }
        inside *= members;
    }
    return out;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cost/collectiveprices.h"
#include "model/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shardboard {

/// Of a token's `copies` experts on N nodes, chosen evenly, the nodes that have some of them, for each: N (1 - (1 - 1/N)^copies)
/// over copies.
inline double nodesOfCopies(std::int64_t copies, const Footprint& footprint)
{
    const auto nodes = static_cast<double>(footprint.levels.front().units);
    const auto all = static_cast<double>(copies);
    return nodes * (1 - std::pow(1 - 1 / nodes, all)) / all;
}

/// Seconds of an all-to-all of tokens that are sent once to every node of their experts, and there to each of them
/// (Dispatch::PerNode), if those of sending all of them are `seconds(bytes)`. Both ways are used at the same time: the longer
/// counts.
template <class Seconds>
double oncePerNode(std::int64_t bytes, std::int64_t copies, const Footprint& footprint, const Hardware& hardware, Seconds seconds)
{
    const double all = seconds(bytes);
    if (copies <= 1 || footprint.levels.empty() || footprint.levels.front().units <= 1)
        return all;
    const auto members = static_cast<double>(footprint.levels.front().members);
    const double across = seconds(static_cast<std::int64_t>(static_cast<double>(bytes) * nodesOfCopies(copies, footprint)));
    const double within = static_cast<double>(bytes) * (members - 1) / members / hardware.levels.front().link.bytesPerSecond;
    return std::min(all, std::max(across, within));
}

/// As what it is priced: two devices of more on a mesh axis, opposite stages of DualPipe, that add something up send all of it to
/// each other.
inline CollectiveKind pricedAs(const Collective& collective, const Mesh& mesh)
{
    const bool pair =
        collective.kind == CollectiveKind::AllReduce && collective.groupSize == 2 && mesh.groupSize(collective.axes) > 2;
    return pair ? CollectiveKind::SendRecv : collective.kind;
}

/// What the algorithm's name of such a collective ends with.
inline constexpr const char* kOncePerNode = ", once to a node";

/// Of a collective that goes in one call with others, its part of what the call moves; else 1.
inline double shareOfCall(const Collective& collective)
{
    return collective.groupBytes > 0 ? static_cast<double>(collective.bytes) / static_cast<double>(collective.groupBytes) : 1;
}

/// Seconds of one occurrence that moves `bytes`, with algorithm and links.
void setPrice(Collective& collective, std::int64_t bytes, CollectivePrices& prices);

} // namespace shardboard

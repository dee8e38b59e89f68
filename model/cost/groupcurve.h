// SPDX-License-Identifier: Apache-2.0
// Prices of collectives on a device group that sits on the levels of the hardware as a footprint tells.
#pragma once

#include "model/cost/algorithms.h"
#include "model/hardware/footprint.h"

#include <span>

namespace shardboard {

/// The least over the algorithms of the hardware's library, on the group as a whole and level after level: all-reduce =
/// reduce-scatter inside, all-reduce between, all-gather inside; all-gather outside in; reduce-scatter inside out.
///
/// On a torus (scaling-book sharding.md): all-gather and reduce-scatter max(hops x alpha, S / W), W the rate of all its
/// links that the group's dims use, both ways where they close to rings; all-reduce twice that; all-to-all dim by dim, each
/// max(hops x alpha, extent x S / 4 W). On one memory that plays all devices: the bytes that have to be read and written
/// once, by its rate, of all groups: all-reduce 2 n S, all-gather and reduce-scatter (n + 1) S, all-to-all 2 n S,
/// broadcast n S, send-recv 2 n S; what its caches hold of that by their rate (LinkSpec::cache), and messageSeconds for every
/// piece.
PriceCurve groupCurve(CollectiveKind kind, const Footprint& footprint, const Hardware& hardware);

/// Levels on which the group has more than one member.
std::vector<std::size_t> usedLevels(const Footprint& footprint);
/// Adds the ways without stages: on the group as a whole, over these levels of usedLevels() that follow each other.
void addWholeWays(std::vector<PricedWay>& ways, CollectiveKind kind, const Footprint& footprint, const Hardware& hardware,
                  std::span<const std::size_t> levels);

/// The group as the rows of algorithms.h see it, from level `first` on outwards to before level `end`.
AlgorithmGroup algorithmGroup(const Footprint& footprint, const Hardware& hardware, std::size_t first, std::size_t end);
inline AlgorithmGroup algorithmGroup(const Footprint& footprint, const Hardware& hardware)
{
    return algorithmGroup(footprint, hardware, 0, hardware.levels.size());
}

} // namespace shardboard

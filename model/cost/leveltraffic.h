// SPDX-License-Identifier: Apache-2.0
// How many bytes of a collective go over each level of the hardware. Whatever the algorithm, no level carries less than that: what
// is reduced or gathered crosses a level as few times as it can, inner levels first where sums make the data smaller.
#pragma once

#include "model/cost/collectivekind.h"
#include "model/hardware/footprint.h"

#include <vector>

namespace shardboard {

/// To whom the members of a group send: each to the next one and the last to the first, the same without the last, or anywhere.
enum class SendPattern { Ring, Line, Anywhere };

/// Bytes that a device sends over each level, inner first, on average over the group; `bytes` is S, the large side on one member.
/// Groups lie evenly on the levels; of others it is what the group that the footprint is of would send. Anywhere is the widest
/// level.
std::vector<double> bytesByLevel(CollectiveKind kind, const Footprint& footprint, double bytes,
                                 SendPattern sends = SendPattern::Anywhere);
/// The outermost level that a group reaches over, the innermost one where it is a single device.
std::size_t widestLevel(const Footprint& footprint);

} // namespace shardboard

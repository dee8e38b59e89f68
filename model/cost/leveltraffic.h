// SPDX-License-Identifier: Apache-2.0
// How many bytes of a collective go over each level of the hardware. What is reduced or gathered crosses a level as few times as it
// can, inner levels first where sums make the data smaller; unless a switch sums, no algorithm has a level carry less than that,
// and some that save steps on small data have it carry more.
#pragma once

#include "model/cost/collectivekind.h"
#include "model/hardware/footprint.h"

#include <vector>

namespace shardboard {

/// To whom the members of a group send: each to the next one and the last to the first, the same without the last, only the last
/// to the first, or anywhere.
enum class SendPattern { Ring, Line, Wrap, Anywhere };

/// What sums an all-reduce on a level: the devices, the switch of an island or those of a network (InSwitchReduction).
enum class SwitchSum { None, Island, Network };

/// How device groups reach over a level: by device, on average over all groups of the mesh.
struct LevelReach {
    double members = 0; ///< of units of which a group takes more than one member: the members that it takes
    double units = 0; ///< such units
    double meetings = 0; ///< other devices of the group that a device meets on this level, by the devices of the group
    double line = 0; ///< steps from a device of the group to the next one that lead over this level
    double wrap = 0; ///< the same of the step from the last one to the first
};

/// By level, inner first. Closed form where all groups lie evenly and alike, in row-major order; else all devices are looked at,
/// O(D log D).
std::vector<LevelReach> levelReach(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware);
std::vector<LevelReach> levelReach(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware,
                                   const Footprint& footprint); ///< for those who have it

/// Bytes that a device sends over each level, inner first; `bytes` is S, the large side on one member. Anywhere is the widest
/// level. `sums` by level; empty: no switch sums.
std::vector<double> bytesByLevel(CollectiveKind kind, const std::vector<LevelReach>& reach, double bytes,
                                 SendPattern sends = SendPattern::Anywhere, const std::vector<SwitchSum>& sums = {});
/// The outermost level that a group reaches over, the innermost one where it is a single device.
std::size_t widestLevel(const Footprint& footprint);

} // namespace shardboard

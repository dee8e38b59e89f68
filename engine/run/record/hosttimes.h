// SPDX-License-Identifier: Apache-2.0
// Merges what the processes of a run have measured of one execution. Each host has a clock of its own, and messages between hosts
// take time, too.
#pragma once

#include "engine/devices/context.h"

#include <vector>

namespace shardboard::engine {

/// `byRank`: of all ranks, all with as many devices and messages. `clocks`: by how many seconds now() is ahead of that of
/// rank 0, by rank. Spans of the result are by the clock of rank 0.
///
/// A device's seconds are those of its rank. Their combined work is over when that of the last rank is; then the messages are
/// added. A message is on its way from when the last of those that have part in it has come to it until the last of them has it;
/// waiting for one that comes later is not counted, as it is not within a host. Where clocks disagree it is not counted with less
/// than the shortest nor with more than the longest time that a rank has spent with it. Spans of devices that have part in messages
/// begin and end with them.
Timing timingOfAll(const std::vector<Timing>& byRank, const std::vector<double>& clocks);

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// What the processes of a run have measured of one execution, made one. Each host has a clock of its own, and what goes from host
// to host takes its time, too.
#pragma once

#include "engine/devices/context.h"

#include <vector>

namespace shardboard::engine {

/// `byPlace`: of all places, all with as many devices and messages. `clocks`: by how many seconds now() is ahead of that of
/// place 0, by place. Spans of the result are by the clock of place 0.
///
/// A device's seconds are those of its place. What they did together is over when the last place is; then the messages are added.
/// A message is on its way from when the last of those that have part in it has come to it until the last of them has it; waiting
/// for one that comes later is not counted, as it is not within a host. Where clocks disagree it is not counted with less than
/// the shortest nor with more than the longest time that a place has spent with it. Spans of devices that have part in messages
/// begin and end with them.
Timing timingOfAll(const std::vector<Timing>& byPlace, const std::vector<double>& clocks);

} // namespace shardboard::engine

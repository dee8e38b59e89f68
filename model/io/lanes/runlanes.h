// SPDX-License-Identifier: Apache-2.0
// A step of a run as lanes: what was measured, and what was predicted of the same executions.
//
// The time is that of the run's result: an operation takes as long as its slowest device, a collective ends for all devices at
// once, and one follows the other. So the lanes of a step add up to its seconds, whatever the threads that played the devices did
// meanwhile; the trace of the run (model/io/measured/trace.h) tells that.
#pragma once

#include "model/io/wire/profile.h"
#include "model/timeline/lanes.h"

#include <vector>

namespace shardboard {

/// Steps of which all executions were kept, in order.
std::vector<std::int64_t> wholeSteps(const RunProfile& profile);
/// The one whose seconds are nearest to the median of all whole steps; -1: there is none.
std::int64_t typicalStep(const RunProfile& profile);
/// Of an execution, as the result of the run counts it.
double executionSeconds(const RunProfile& profile, const ProfileEvent& event);

/// Of every device a predicted and a measured lane; `items` are those of the plan that ran.
Timeline runLanes(const RunProfile& profile, std::int64_t step, std::vector<TimelineItem> items, double memoryLimit = 0);

} // namespace shardboard

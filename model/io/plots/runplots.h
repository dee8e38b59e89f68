// SPDX-License-Identifier: Apache-2.0
// Plots of what was predicted and measured. Each is a pure function; the seconds in them are those of the table of errors and of
// the lanes (model/io/lanes), so that they add up to the step.
#pragma once

#include "model/io/lanes/errortable.h"
#include "model/io/wire/profile.h"
#include "model/plots/plot.h"
#include "model/timeline/lanes.h"

#include <string>

namespace shardboard {

/// Operations of a step of a run under the roof of the machine that ran: FLOP/s over FLOPs by byte, of one thread, because a
/// device's seconds are those of a core. Operations that only move data have no FLOPs; they stand where kMovesData says, as high
/// below the roof as they are below the rate of a copy. `step` as of runLanes().
Plot rooflinePlot(const RunProfile& profile, std::int64_t step, const std::vector<TimelineItem>& items);
/// The same as planned: under the peak and the memory of a device of the hardware.
Plot rooflinePlot(const Graph& graph, const Plan& plan, const Hardware& hardware);
inline constexpr double kMovesData = 1.0 / 16; ///< FLOPs by byte at which they are drawn

/// S by the seconds of a collective over S: the curve of the cost model for each kind over each number of devices that the plan
/// has, its limit for large messages, and the collectives of the plan on it; with a profile those measured in the step in their
/// place.
Plot bandwidthPlot(const Plan& plan, const Hardware& hardware, const RunProfile* profile, std::int64_t step,
                   const std::vector<TimelineItem>& items);

/// Seconds of one occurrence, measured over predicted, between lines of what is exact and 10 % more or less.
Plot accuracyPlot(const ErrorTable& table);
/// Mean of |measured - predicted| / predicted over rows of `least` seconds and more each; the weight of a row is 1. -1: there is
/// none.
double meanError(const ErrorTable& table, double least);

/// Of one group (a device, a stage) of a timeline: by cause as predicted, one upon the other, what was measured, and the limit
/// where it is near.
Plot memoryPlot(const Timeline& timeline, const std::string& group);
/// The group that holds the most; empty: nothing is known of memory.
std::string fullestGroup(const Timeline& timeline);

} // namespace shardboard

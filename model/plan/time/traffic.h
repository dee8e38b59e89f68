// SPDX-License-Identifier: Apache-2.0
// What the collectives of a plan carry over each level of the hardware in a step: within nodes, between nodes, and so on.
#pragma once

#include "model/hardware/hardware.h"
#include "model/plan/plan.h"

#include <vector>

namespace shardboard {

struct LevelTraffic {
    double bytes = 0; ///< that a device sends over this level in a step (bytesByLevel)
    /// Of the collectives that reach as far as this level and no farther, in which they run, beside the computation or not.
    double seconds = 0;
    friend bool operator==(const LevelTraffic&, const LevelTraffic&) = default;
};

/// By level, inner first. Of a pipeline it is that of the busiest stage (busiestShare), and of sends an average over the stages:
/// the seconds add up to those of Plan::device.
std::vector<LevelTraffic> trafficOf(const Graph& graph, const Plan& plan, const Hardware& hardware);

} // namespace shardboard

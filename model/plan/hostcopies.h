// SPDX-License-Identifier: Apache-2.0
// Copies between a device and its host, which a plan counts among what a step waits for, but which are no collectives.
#pragma once

#include "model/plan/plan.h"

namespace shardboard {

/// Seconds that a device of the busiest stage copies to and from its host in a step, hidden or not; 0 where nothing is offloaded.
/// They are a part of Plan::device.collectives.
double hostCopySeconds(const Graph& graph, const Plan& plan);

/// The rest of Plan::device.collectives: time in collectives alone.
double collectiveSecondsAlone(const Graph& graph, const Plan& plan);

} // namespace shardboard

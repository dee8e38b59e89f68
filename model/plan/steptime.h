// SPDX-License-Identifier: Apache-2.0
// How long the parts of a step take when collectives run beside the computation.
#pragma once

#include "model/graph/workload.h"
#include "model/plan/plan.h"

#include <vector>

namespace shardboard {

/// Whether a collective moves a weight or its gradient: nothing in the layer waits for the one before it, so that it can be
/// started early or finished late.
bool movesWeight(const Graph& graph, const Collective& collective);

/// Seconds of a planned segment, all its occurrences in a step.
struct SegmentTime {
    double compute = 0;
    double collectives = 0;
    double exposed = 0; ///< part of `collectives` in which the devices do not compute
    double seconds() const { return compute + exposed; }
};

/// By index into Plan::segments. What overlaps is hidden as far as the computation of its segment lasts: with `weights`
/// max(0, weights' - compute) + the others; with `all` max(0, collectives - compute).
std::vector<SegmentTime> segmentTimes(const Graph& graph, const Plan& plan, Overlap overlap);

} // namespace shardboard

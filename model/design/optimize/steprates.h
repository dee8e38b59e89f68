// SPDX-License-Identifier: Apache-2.0
// How much more a step takes at least for each second that an operation or a collective takes. The bound that they are rates of
// (stepbound.h) grows with all parts of a step, is convex in them, and doubles when all of them do; so the rates at any plan,
// summed over the parts of any other, never give more than that one takes.
#pragma once

#include "model/ops/overlap.h"
#include "model/plan/plan.h"

#include <array>
#include <vector>

namespace shardboard {

struct StepRates {
    struct Part {
        double compute = 1;
        std::array<double, kOverlapKinds.size()> collectives {};
    };
    std::vector<Part> parts; ///< by segment of the graph
    const Part& of(SegmentId segment) const { return parts[segment]; }
};

/// At an evaluated plan, for links of so many levels.
StepRates ratesAt(const Graph& graph, const Plan& plan, std::size_t levels);
/// Between two.
StepRates mixed(const StepRates& a, const StepRates& b, double ofB);

} // namespace shardboard

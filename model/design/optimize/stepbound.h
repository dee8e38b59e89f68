// SPDX-License-Identifier: Apache-2.0
// Seconds that no timeline of a step is shorter than. The search for layouts needs a step's time that is convex in the times of its
// parts and doubles when all of them do, which a schedule is not; so it searches with this, and says the timeline's seconds.
#pragma once

#include "model/plan/plan.h"
#include "model/plan/time/steptime.h"

#include <vector>

namespace shardboard {

class StepBound {
public:
    /// Keeps neither. `levels`: of the links between devices, each of which carries one collective at a time.
    StepBound(const Graph& graph, const Plan& plan, std::size_t levels);

    /// Of the plan's parts with these times. Without a pipeline for the passes, and again for the update,
    ///   max(compute + what nothing runs beside, (all collectives between devices) / levels, all copies to and from the host).
    /// With one, of the stages 0, b and p-1, b the busiest: such times of its work and of its update, one after the other; with
    /// 1F1B behind the first micro-batch's passes through what is before it and ahead of the last one's.
    double seconds(const std::vector<SegmentTime>& times) const;

private:
    struct Work { ///< on a device: some of the parts, each by a share of its seconds
        std::vector<std::pair<std::size_t, double>> parts;
    };
    double seconds(const Work& work, const std::vector<SegmentTime>& times) const;

    Overlap m_overlap;
    double m_levels;
    std::vector<std::vector<Work>> m_ways; ///< work that is done one after the other
};

} // namespace shardboard

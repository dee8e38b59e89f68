// SPDX-License-Identifier: Apache-2.0
// The predicted timeline of a stage as it is drawn: a lane for each of its streams, and why its compute stream stands still. Made
// for a window of time, so that a step of a million intervals costs what is looked at.
#pragma once

#include "model/plan/time/steptimeline.h"

#include <array>
#include <string>
#include <vector>

namespace shardboard {

enum class IdleCause {
    Collective, ///< it waits for one, a send to another stage among them
    Host, ///< it waits for copies between the host's memory and the device's
    Bubble, ///< other stages have not made yet what comes next
};
inline constexpr std::array kIdleCauses { IdleCause::Collective, IdleCause::Host, IdleCause::Bubble };
std::string idleCauseName(IdleCause cause); ///< waiting for a collective, waiting for the host, pipeline bubble

struct IdleInterval {
    double start = 0;
    double end = 0;
    IdleCause cause = IdleCause::Collective;
    TimelineInterval of; ///< what it waits for; of a bubble nothing
};

struct TimelineLane {
    std::string name; ///< compute, or a link
    std::vector<TimelineInterval> intervals; ///< in order of time; none begins before the one before it is over
};

struct StageLanes {
    std::int64_t stage = 0;
    std::vector<TimelineLane> lanes; ///< by StepTimeline::streams()
    std::vector<IdleInterval> idle; ///< in order of time; with the intervals of the first lane they are the window
};
/// What is in the window at least in part; what is idle is cut at its borders.
StageLanes stageLanes(const Plan& plan, const StepTimeline& timeline, std::int64_t stage, double from, double to);
StageLanes stageLanes(const Plan& plan, const StepTimeline& timeline, std::int64_t stage);

/// `block/q_proj`, the id of a collective, `send forward`, `copies of the host`, `gradients of weights`.
std::string intervalName(const Graph& graph, const Plan& plan, const TimelineInterval& interval);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// What the seconds of a step are made of, on one device: operations by what limits them, starting kernels, collectives that are not
// hidden, waiting for other stages. The list adds up to the step.
#pragma once

#include "model/hardware/hardware.h"
#include "model/plan/plan.h"

#include <string>
#include <vector>

namespace shardboard {

enum class TimeCauseKind {
    Compute, ///< operations of a kind that the rate of the units limits
    Memory, ///< operations of a kind that the memory's bandwidth limits
    Start, ///< kernels are started, or the device waits for the host to start them
    Collective, ///< exposed: the device waits for it, or computes longer beside it
    Bubble, ///< of a pipeline: others have not made yet what comes next
};
std::string timeCauseName(TimeCauseKind kind); ///< compute, memory, start, collective, bubble

struct TimeCause {
    TimeCauseKind kind = TimeCauseKind::Compute;
    std::string what; ///< an operation's kind, a kind of overlap, or empty
    double seconds = 0;
};

/// The longest first. Of a pipeline the device is of the busiest stage (Plan::device).
std::vector<TimeCause> whyTime(const Graph& graph, const Plan& plan, const Hardware& hardware);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// The file of `shardctl plan --timeline T.json`: a predicted step in the trace-event format that Perfetto and chrome://tracing
// open, with the names and arguments that traces of runs have (trace.h), so that both can be laid side by side.
//
// One process for each stage of a pipeline, or one for every device; in it a thread for each stream (`compute`, links, sends), a
// thread `idle` that says what the device waits for, and the counter `memory`. Stages that do the same show passes alone, but for
// the first of them. The process `critical path` has what decides how long the step takes.
#pragma once

#include "model/plan/time/timelinelanes.h"

#include <nlohmann/json.hpp>

namespace shardboard {

nlohmann::json predictedTrace(const Graph& graph, const Plan& plan, const StepTimeline& timeline);

/// The same in numbers, for programs: what each kind of device does how long, and why it stands still.
nlohmann::json timelineJson(const Plan& plan, const StepTimeline& timeline);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// The trace of any program (model/io/trace) as lanes; what lies within another slice gets a lane below.
#pragma once

#include "model/io/trace/matchtrace.h"
#include "model/timeline/lanes.h"

namespace shardboard {

/// With a plan its collectives are the plan's where `match` says so; without, `items` is empty and `match` too.
Timeline traceLanes(const Trace& trace, std::vector<TimelineItem> items = {}, const TraceMatch& match = {});

} // namespace shardboard

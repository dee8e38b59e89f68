// SPDX-License-Identifier: Apache-2.0
// What a trace says, whoever made it: our own runs, PyTorch's and JAX's profilers, anything in the trace-event format.
#pragma once

#include "model/cost/collectivekind.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// A stretch of time on a lane. 32 bytes, because traces have millions.
struct TraceSlice {
    std::int64_t start = 0; ///< nanoseconds from the first slice of the trace
    std::int64_t duration = 0; ///< nanoseconds
    std::uint32_t name = 0; ///< index into Trace::names
    std::uint32_t lane = 0; ///< index into Trace::lanes
    std::int32_t collective = -1; ///< index into Trace::collectives
    std::uint32_t depth = 0; ///< slices of its lane around it
    std::int64_t end() const { return start + duration; }
};

/// A thread of a process, or a stream of a device.
struct TraceLane {
    std::string process; ///< its name, or its number
    std::string thread;
    std::size_t first = 0; ///< of its slices, which lie together in order of start
    std::size_t count = 0;
    std::uint32_t depth = 0; ///< most slices at one time
    std::int64_t busy = 0; ///< nanoseconds in which it has at least one slice
};

/// A collective as far as the trace tells.
struct TraceCollective {
    CollectiveKind kind = CollectiveKind::AllReduce;
    std::int64_t elements = 0; ///< of S as in a plan (Collective::bytes); 0: the trace does not say
    std::int64_t bytes = 0; ///< the same in bytes; 0: the trace does not say, or not of what dtype they are
    std::int64_t groupSize = 0; ///< 0: the trace does not say
    std::vector<std::int64_t> ranks; ///< empty: the trace does not say
    std::size_t slice = 0; ///< index into Trace::slices
};

/// A value over time, as memory.
struct TraceCounter {
    std::string process;
    std::string name;
    std::vector<std::int64_t> times; ///< nanoseconds, ascending
    std::vector<double> values;
};

struct Trace {
    std::vector<std::string> names; ///< each once
    std::vector<TraceLane> lanes; ///< in the order in which the trace wants them shown
    std::vector<TraceSlice> slices; ///< by lane, then start, longer ones first
    std::vector<TraceCollective> collectives; ///< by start
    std::vector<TraceCounter> counters;
    std::int64_t end = 0; ///< nanoseconds from the first start to the last end
    std::vector<std::string> notes; ///< what was left aside, for people: `1,204 flow events`, `the file is cut off`

    const std::string& nameOf(const TraceSlice& slice) const { return names[slice.name]; }
};

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// What a timeline shows, wherever it comes from: a prediction (predictedlanes.h), a run or the trace of another program
// (model/io/lanes). Lanes with intervals on one axis of time, and the memory beneath. Values; nothing here knows who draws it.
#pragma once

#include "model/plan/plan.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

enum class IntervalKind : std::uint8_t {
    Forward,
    Recompute, ///< what the backward pass computes again
    Backward,
    Update, ///< of the optimizer
    Collective, ///< the device waits for it
    Hidden, ///< a collective beside computation
    Idle, ///< nothing; the name says why
    Other, ///< of programs whose slices tell nothing of the above
};
inline constexpr std::size_t kIntervalKinds = 8;
std::string intervalKindName(IntervalKind kind); ///< forward, …; collective, hidden collective, …

/// On its lane. Traces have millions.
struct LaneInterval {
    double start = 0; ///< seconds
    double seconds = 0;
    std::uint32_t name = 0; ///< index into Timeline::names
    std::int32_t item = -1; ///< index into Timeline::items; -1: nothing that the plan has
    std::int32_t layer = -1; ///< number in the model; -1: of none, or not told
    std::int32_t microBatch = -1;
    IntervalKind kind = IntervalKind::Other;
    double end() const { return start + seconds; }
};

/// Intervals that do not overlap, in order of time.
struct Lane {
    std::string group; ///< that it stands in: a device, a stage, a process
    std::string name; ///< in it: compute, nvlink4, a thread
    bool predicted = false;
    bool nested = false; ///< lies within the intervals of the lane before, as calls do
    std::vector<LaneInterval> intervals {};

    /// Of its intervals by kind.
    std::array<double, kIntervalKinds> secondsByKind() const;
};

/// Memory of one group over time, from each time up to the next.
struct MemoryLane {
    std::string group;
    bool predicted = false;
    double limit = 0; ///< bytes; 0: not known
    std::vector<double> times {};
    std::vector<std::string> causes {}; ///< one at least
    std::vector<std::vector<double>> bytes {}; ///< by cause, as long as `times`
    double total(std::size_t at) const;
    double peak() const;
};

/// An operation or collective of a plan, as intervals and rows of tables refer to it.
struct TimelineItem {
    std::string id; ///< as in the result of a run: `block/self_attn.o_proj`, or the collective's
    std::string kind; ///< matmul, all-reduce, …
    IntervalKind drawn = IntervalKind::Forward;
    PlannedSegmentId segment {};
    PlannedOpId operation {}; ///< none: a collective
    CollectiveId collective {};
};

/// A part of what decides how long the step takes.
struct PathPart {
    std::size_t lane = 0; ///< index into Timeline::lanes
    double start = 0;
    double end = 0;
};

struct Timeline {
    std::vector<std::string> names {}; ///< each once; the first are those of `items`
    std::vector<TimelineItem> items {};
    std::vector<Lane> lanes {}; ///< those of a group together
    std::vector<MemoryLane> memory {};
    /// The critical path, in order of time and without overlaps; empty: not known. Parts on one lane that follow each other are
    /// one.
    std::vector<PathPart> path {};
    double seconds = 0; ///< from 0 to its end
    std::vector<std::string> notes {}; ///< what was left aside, for people

    const std::string& nameOf(const LaneInterval& interval) const { return names[interval.name]; }
    std::size_t intervalCount() const;
};

/// Operations and collectives of a plan, in order of segments, then collectives. Ids are those of runs.
std::vector<TimelineItem> timelineItems(const Graph& graph, const Plan& plan);
/// Index of the item, or -1.
std::int32_t itemOf(const std::vector<TimelineItem>& items, PlannedSegmentId segment, PlannedOpId operation);
std::int32_t itemOf(const std::vector<TimelineItem>& items, CollectiveId collective);

/// Adds a part to a path, or makes its last one longer.
void addToPath(std::vector<PathPart>& path, const PathPart& part);

/// Adds `Idle` intervals under this name between those of a lane, from 0 to `end`; shorter ones than `least` are left out.
void fillIdle(Lane& lane, double end, double least, std::uint32_t name);

} // namespace shardboard

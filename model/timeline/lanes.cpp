// SPDX-License-Identifier: Apache-2.0
#include "model/timeline/lanes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace shardboard {

std::string intervalKindName(IntervalKind kind)
{
    switch (kind) {
    case IntervalKind::Forward:
        return "forward";
    case IntervalKind::Recompute:
        return "recompute";
    case IntervalKind::Backward:
        return "backward";
    case IntervalKind::Update:
        return "update";
    case IntervalKind::Collective:
        return "collective";
    case IntervalKind::Hidden:
        return "hidden collective";
    case IntervalKind::Idle:
        return "idle";
    case IntervalKind::Other:
        break;
    }
    return "other";
}

std::array<double, kIntervalKinds> Lane::secondsByKind() const
{
    std::array<double, kIntervalKinds> out {};
    for (const LaneInterval& it : intervals)
        out[static_cast<std::size_t>(it.kind)] += it.seconds;
    return out;
}

double MemoryLane::total(std::size_t at) const
{
    double out = 0;
    for (const std::vector<double>& cause : bytes)
        out += cause[at];
    return out;
}

double MemoryLane::peak() const
{
    double out = 0;
    for (std::size_t i = 0; i < times.size(); ++i)
        out = std::max(out, total(i));
    return out;
}

std::size_t Timeline::intervalCount() const
{
    std::size_t out = 0;
    for (const Lane& lane : lanes)
        out += lane.intervals.size();
    return out;
}

namespace {

IntervalKind drawnAs(const Graph& graph, const PlannedSegment& planned, const Op& op)
{
    switch (planned.phase) {
    case Phase::Forward:
        return IntervalKind::Forward;
    case Phase::Update:
        return IntervalKind::Update;
    case Phase::Backward:
        break;
    }
    const bool again = op.result != kNoTensor && graph.entry(op.result).again != kNoTensor;
    return again ? IntervalKind::Recompute : IntervalKind::Backward;
}

} // namespace

std::vector<TimelineItem> timelineItems(const Graph& graph, const Plan& plan)
{
    // Operations of two phases with one name have the phase before it, as in the result of a run.
    std::map<std::string, Phase> phases;
    std::set<std::string> ambiguous;
    const auto idOf = [&](const PlannedSegment& planned, const PlannedOp& op) { return planned.name + "/" + graph.op(op.op).name; };
    for (const PlannedSegment& planned : plan.segments)
        for (const PlannedOp& op : planned.ops)
            if (const std::string id = idOf(planned, op); phases.emplace(id, planned.phase).first->second != planned.phase)
                ambiguous.insert(id);
    std::vector<TimelineItem> out;
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const PlannedSegment& planned = plan.segments[s];
        for (std::size_t i = 0; i < planned.ops.size(); ++i) {
            const Op& op = graph.op(planned.ops[i].op);
            const std::string id = idOf(planned, planned.ops[i]);
            out.push_back({ ambiguous.contains(id) ? phaseName(planned.phase) + " " + id : id,
                            opKindName(op.kind),
                            drawnAs(graph, planned, op),
                            PlannedSegmentId(s),
                            PlannedOpId(i),
                            {} });
        }
    }
    for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
        const Collective& collective = plan.collectives[i];
        out.push_back({ collective.id,
                        collectiveName(collective.kind),
                        IntervalKind::Collective,
                        collective.plannedSegment,
                        {},
                        CollectiveId(i) });
    }
    return out;
}

std::int32_t itemOf(const std::vector<TimelineItem>& items, PlannedSegmentId segment, PlannedOpId operation)
{
    const auto it = std::ranges::find_if(items, [&](const TimelineItem& item) {
        return item.operation.valid() && item.segment == segment && item.operation == operation;
    });
    return it == items.end() ? -1 : static_cast<std::int32_t>(it - items.begin());
}

std::int32_t itemOf(const std::vector<TimelineItem>& items, CollectiveId collective)
{
    const auto it = std::ranges::find_if(
        items, [&](const TimelineItem& item) { return item.collective.valid() && item.collective == collective; });
    return it == items.end() ? -1 : static_cast<std::int32_t>(it - items.begin());
}

void addToPath(std::vector<PathPart>& path, const PathPart& part)
{
    const double rounding = 1e-9 * std::max(std::abs(part.end), 1e-12);
    if (!path.empty() && path.back().lane == part.lane && part.start <= path.back().end + rounding)
        path.back().end = std::max(path.back().end, part.end);
    else
        path.push_back(part);
}

void fillIdle(Lane& lane, double end, double least, std::uint32_t name)
{
    std::vector<LaneInterval> out;
    out.reserve(lane.intervals.size());
    double at = 0;
    const auto idleUntil = [&](double until) {
        if (until - at > least)
            out.push_back({ at, until - at, name, -1, -1, -1, IntervalKind::Idle });
    };
    for (const LaneInterval& it : lane.intervals) {
        idleUntil(it.start);
        out.push_back(it);
        at = std::max(at, it.end());
    }
    idleUntil(end);
    lane.intervals = std::move(out);
}

} // namespace shardboard

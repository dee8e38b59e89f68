// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/timelinelanes.h"

#include <algorithm>

namespace shardboard {

std::string idleCauseName(IdleCause cause)
{
    switch (cause) {
    case IdleCause::Collective:
        return "waiting for a collective";
    case IdleCause::Host:
        return "waiting for the host";
    case IdleCause::Bubble:
        break;
    }
    return "pipeline bubble";
}

StageLanes stageLanes(const Plan& plan, const StepTimeline& timeline, std::int64_t stage, double from, double to)
{
    StageLanes out;
    out.stage = stage;
    for (const std::string& stream : timeline.streams())
        out.lanes.push_back({ stream, {} });
    std::vector<IdleInterval> taken; // in which it computes or waits for something that is known
    timeline.visit(stage, from, to, [&](const TimelineInterval& it) {
        out.lanes[it.stream].intervals.push_back(it);
        const bool isCopy = !it.collective.valid() && it.segment.valid();
        if (it.stream == 0 || it.waited)
            taken.push_back({ it.start, it.end, isCopy ? IdleCause::Host : IdleCause::Collective, it });
    });
    for (TimelineLane& lane : out.lanes)
        std::ranges::sort(lane.intervals, {}, &TimelineInterval::start);
    std::ranges::sort(taken, {}, &IdleInterval::start);
    double at = std::max(0.0, from);
    const double end = std::min(timeline.seconds(), to);
    const double rounding = 1e-12 * timeline.seconds();
    const auto bubble = [&](double until) {
        if (until > at + rounding && isStaged(plan))
            out.idle.push_back({ at, until, IdleCause::Bubble, {} });
    };
    for (const IdleInterval& it : taken) {
        bubble(it.start);
        if (it.of.stream != 0) // cut at the window, and at what the device waited for before: it waits for one thing at a time
            if (const double start = std::max(at, it.start); std::min(it.end, end) > start)
                out.idle.push_back({ start, std::min(it.end, end), it.cause, it.of });
        at = std::max(at, it.end);
    }
    bubble(end);
    return out;
}

StageLanes stageLanes(const Plan& plan, const StepTimeline& timeline, std::int64_t stage)
{
    return stageLanes(plan, timeline, stage, -1, 2 * timeline.seconds() + 1);
}

std::string intervalName(const Graph& graph, const Plan& plan, const TimelineInterval& interval)
{
    if (interval.collective.valid())
        return plan.collective(interval.collective).id;
    if (!interval.segment.valid())
        return interval.stream == 0              ? "gradients of weights"
            : interval.run < 0                   ? "send between the ends"
            : interval.pass == PassKind::Forward ? "send forward"
                                                 : "send backward";
    const PlannedSegment& planned = plan.segment(interval.segment);
    if (!interval.operation.valid())
        return "copies of the host";
    return planned.name + "/" + graph.op(planned.ops[interval.operation].op).name;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/steprates.h"

#include "model/plan/time/steptime.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Of the plan's segments and times, without their operations.
struct Frame {
    Plan plan;
    double sends = 0;

    double seconds(const Graph& graph, std::vector<SegmentTime> times)
    {
        for (SegmentTime& time : times)
            time.hide(plan.overlap);
        setStepTimes(graph, times, sends, plan);
        return plan.seconds();
    }
};

} // namespace

StepRates ratesAt(const Graph& graph, const Plan& plan)
{
    const std::vector<SegmentTime> times = segmentTimes(graph, plan);
    Frame frame;
    frame.plan.pipeline = plan.pipeline;
    frame.plan.microBatches = plan.microBatches;
    frame.plan.overlap = plan.overlap;
    frame.plan.mesh = plan.mesh;
    for (const PlannedSegment& segment : plan.segments)
        frame.plan.segments.push_back({ segment.segment, {}, segment.firstLayer, segment.count, {}, segment.phase });
    const double step = frame.seconds(graph, times);
    const double little = step > 0 ? step * 1e-6 : 1e-9;
    StepRates out;
    out.parts.resize(graph.segments.size());
    for (StepRates::Part& part : out.parts)
        part.collectives.fill(1);
    std::vector<bool> known(graph.segments.size(), false);
    for (std::size_t s = 0; s < times.size(); ++s) {
        const SegmentId segment = plan.segments[s].segment;
        // Of a segment planned in several ways the one that has the most layers tells.
        if (known[segment] && plan.segments[s].count <= 1)
            continue;
        known[segment] = true;
        const auto rate = [&](auto change) {
            std::vector<SegmentTime> more = times;
            std::vector<SegmentTime> less = times;
            change(more[s], little);
            change(less[s], -little);
            return std::max(0.0, (frame.seconds(graph, more) - frame.seconds(graph, less)) / (2 * little));
        };
        StepRates::Part& part = out.parts[segment];
        part.compute = rate([](SegmentTime& time, double by) { time.compute += by; });
        for (const OverlapKind kind : kOverlapKinds)
            part.collectives[static_cast<std::size_t>(kind)] = rate([kind](SegmentTime& time, double by) { time.add(kind, by); });
    }
    return out;
}

StepRates mixed(const StepRates& a, const StepRates& b, double ofB)
{
    StepRates out = a;
    const auto mix = [ofB](double& to, double with) { to += ofB * (with - to); };
    for (std::size_t i = 0; i < out.parts.size(); ++i) {
        mix(out.parts[i].compute, b.parts[i].compute);
        for (std::size_t kind = 0; kind < kOverlapKinds.size(); ++kind)
            mix(out.parts[i].collectives[kind], b.parts[i].collectives[kind]);
    }
    return out;
}

} // namespace shardboard

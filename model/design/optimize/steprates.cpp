// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/steprates.h"

#include "model/design/optimize/stepbound.h"

#include <algorithm>

namespace shardboard {

StepRates ratesAt(const Graph& graph, const Plan& plan, std::size_t levels)
{
    const std::vector<SegmentTime> times = segmentTimes(graph, plan);
    const StepBound bound(graph, plan, levels);
    const double step = bound.seconds(times);
    const double little = step > 0 ? step * 1e-6 : 1e-9;
    StepRates out;
    out.parts.resize(graph.segments.size());
    for (StepRates::Part& part : out.parts)
        part.collectives.fill(1);
    std::vector<bool> known(graph.segments.size(), false);
    std::vector<SegmentTime> changed = times;
    for (std::size_t s = 0; s < times.size(); ++s) {
        const SegmentId segment = plan.segments[s].segment;
        // Of a segment planned in several ways the one that has the most layers tells.
        if (known[segment] && plan.segments[s].count <= 1)
            continue;
        known[segment] = true;
        const auto rate = [&](auto change) {
            change(changed[s], little);
            const double more = bound.seconds(changed);
            changed[s] = times[s];
            change(changed[s], -little);
            const double less = bound.seconds(changed);
            changed[s] = times[s];
            return std::max(0.0, (more - less) / (2 * little));
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

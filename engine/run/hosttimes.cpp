// SPDX-License-Identifier: Apache-2.0
#include "engine/run/hosttimes.h"

#include <algorithm>
#include <limits>

namespace shardboard::engine {

namespace {

using Span = Timing::Span;

Span shifted(const Span& span, double seconds)
{
    return span.worked() ? Span { span.start - seconds, span.end - seconds } : Span {};
}

Span merged(const Span& a, const Span& b)
{
    if (!a.worked() || !b.worked())
        return a.worked() ? a : b;
    return { std::min(a.start, b.start), std::max(a.end, b.end) };
}

} // namespace

Timing timingOfAll(const std::vector<Timing>& byPlace, const std::vector<double>& clocks)
{
    std::vector<Timing> places = byPlace;
    const std::size_t messages = places.front().brought.size();
    for (std::size_t place = 0; place < places.size(); ++place) {
        for (Span& span : places[place].spans)
            span = shifted(span, clocks[place]);
        for (Timing::Brought& message : places[place].brought)
            message.span = shifted(message.span, clocks[place]);
    }
    double brought = 0;
    for (std::size_t m = 0; m < messages; ++m) {
        constexpr double kNever = std::numeric_limits<double>::infinity();
        double allThere = -kNever;
        double over = -kNever;
        double shortest = kNever;
        double longest = 0;
        for (const Timing& timing : places)
            if (const Span& span = timing.brought[m].span; span.worked()) {
                allThere = std::max(allThere, span.start);
                over = std::max(over, span.end);
                shortest = std::min(shortest, span.end - span.start);
                longest = std::max(longest, span.end - span.start);
            }
        if (longest > 0)
            brought += std::clamp(over - allThere, shortest, longest) * places.front().brought[m].part;
        for (Timing& timing : places)
            if (const Span& span = timing.brought[m].span; span.worked())
                for (Span& device : timing.spans)
                    if (device.worked())
                        device = merged(device, { std::max(span.start, allThere), span.end });
    }
    Timing out;
    double together = 0;
    double wall = 0;
    for (const Timing& timing : places) {
        together = std::max(together, timing.together);
        wall = std::max(wall, timing.wall);
        out += timing;
    }
    out.together = together + brought;
    out.wall = wall + brought;
    out.brought.clear();
    return out;
}

} // namespace shardboard::engine

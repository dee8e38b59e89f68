// SPDX-License-Identifier: Apache-2.0
#include "engine/run/record/hosttimes.h"

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

Timing timingOfAll(const std::vector<Timing>& byRank, const std::vector<double>& clocks)
{
    std::vector<Timing> ranks = byRank;
    const std::size_t messages = ranks.front().brought.size();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        for (Span& span : ranks[rank].spans)
            span = shifted(span, clocks[rank]);
        for (Timing::Brought& message : ranks[rank].brought)
            message.span = shifted(message.span, clocks[rank]);
    }
    double brought = 0;
    for (std::size_t m = 0; m < messages; ++m) {
        constexpr double kNever = std::numeric_limits<double>::infinity();
        double allThere = -kNever;
        double over = -kNever;
        double shortest = kNever;
        double longest = 0;
        for (const Timing& timing : ranks)
            if (const Span& span = timing.brought[m].span; span.worked()) {
                allThere = std::max(allThere, span.start);
                over = std::max(over, span.end);
                shortest = std::min(shortest, span.end - span.start);
                longest = std::max(longest, span.end - span.start);
            }
        if (longest > 0)
            brought += std::clamp(over - allThere, shortest, longest) * ranks.front().brought[m].part;
        for (Timing& timing : ranks)
            if (const Span& span = timing.brought[m].span; span.worked())
                for (Span& device : timing.spans)
                    if (device.worked())
                        device = merged(device, { std::max(span.start, allThere), span.end });
    }
    Timing out;
    double combined = 0;
    double wall = 0;
    for (const Timing& timing : ranks) {
        combined = std::max(combined, timing.combined);
        wall = std::max(wall, timing.wall);
        out += timing;
    }
    out.combined = combined + brought;
    out.wall = wall + brought;
    out.brought.clear();
    return out;
}

} // namespace shardboard::engine

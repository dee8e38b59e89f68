// SPDX-License-Identifier: Apache-2.0
#include "model/io/lanes/tracelanes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardboard {

namespace {

constexpr double kNanosecond = 1e-9;
constexpr std::uint32_t kMostDepth = 24; ///< deeper calls are told by the one around them

} // namespace

Timeline traceLanes(const Trace& trace, std::vector<TimelineItem> items, const TraceMatch& match)
{
    Timeline out;
    out.seconds = static_cast<double>(trace.end) * kNanosecond;
    out.items = std::move(items);
    for (const TimelineItem& item : out.items)
        out.names.push_back(item.id);
    const auto firstName = static_cast<std::uint32_t>(out.names.size());
    out.names.insert(out.names.end(), trace.names.begin(), trace.names.end());
    out.notes = trace.notes;
    const std::vector<std::string> ofMatch = match.notes();
    out.notes.insert(out.notes.end(), ofMatch.begin(), ofMatch.end());
    std::map<std::string, std::int32_t> byId;
    std::map<int, std::int32_t> byCollective;
    for (std::size_t i = 0; i < out.items.size(); ++i) {
        byId.emplace(out.items[i].id, static_cast<std::int32_t>(i));
        if (out.items[i].collective.valid())
            byCollective.emplace(out.items[i].collective.number(), static_cast<std::int32_t>(i));
    }
    std::vector<std::int32_t> itemOfName(trace.names.size(), -1); // our own traces call slices as the plan does
    for (std::size_t i = 0; i < trace.names.size(); ++i)
        if (const auto found = byId.find(trace.names[i]); found != byId.end())
            itemOfName[i] = found->second;
    bool tooDeep = false;
    for (const TraceLane& lane : trace.lanes) {
        const std::size_t first = out.lanes.size();
        const std::uint32_t depth = std::min(std::max<std::uint32_t>(1, lane.depth), kMostDepth);
        tooDeep = tooDeep || lane.depth > kMostDepth;
        for (std::uint32_t i = 0; i < depth; ++i) {
            Lane one { lane.process, lane.thread };
            one.nested = i > 0;
            out.lanes.push_back(std::move(one));
        }
        std::vector<double> ends(depth, 0);
        for (std::size_t i = lane.first; i < lane.first + lane.count; ++i) {
            const TraceSlice& slice = trace.slices[i];
            if (slice.depth >= depth)
                continue;
            LaneInterval it { static_cast<double>(slice.start) * kNanosecond, static_cast<double>(slice.duration) * kNanosecond,
                              firstName + slice.name };
            if (slice.collective >= 0) {
                it.kind = IntervalKind::Collective;
                const auto index = static_cast<std::size_t>(slice.collective);
                if (index < match.planned.size() && match.planned[index].valid())
                    if (const auto found = byCollective.find(match.planned[index].number()); found != byCollective.end())
                        it.item = found->second;
            } else if (it.item = itemOfName[slice.name]; it.item >= 0) {
                it.kind = out.items[static_cast<std::size_t>(it.item)].drawn;
            }
            // Slices that cross (an error of whoever wrote them) are cut off.
            const double end = it.end();
            it.start = std::max(it.start, ends[slice.depth]);
            it.seconds = std::max(0.0, end - it.start);
            ends[slice.depth] = std::max(ends[slice.depth], end);
            out.lanes[first + slice.depth].intervals.push_back(it);
        }
    }
    if (tooDeep)
        out.notes.push_back("slices within more than " + std::to_string(kMostDepth) + " others are not shown");
    std::erase_if(out.lanes, [](const Lane& lane) { return lane.intervals.empty(); });
    for (const TraceCounter& counter : trace.counters) {
        if (counter.times.empty() || counter.name.find("emory") == std::string::npos)
            continue;
        MemoryLane one;
        one.group = counter.process;
        one.causes.push_back(counter.name);
        one.bytes.push_back(counter.values);
        for (const std::int64_t time : counter.times)
            one.times.push_back(static_cast<double>(time) * kNanosecond);
        out.memory.push_back(std::move(one));
    }
    return out;
}

} // namespace shardboard

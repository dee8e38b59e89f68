// SPDX-License-Identifier: Apache-2.0
#include "model/io/lanes/runlanes.h"

#include "model/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace shardboard {

std::vector<std::int64_t> wholeSteps(const RunProfile& profile)
{
    std::vector<std::int64_t> out;
    for (const ProfileEvent& event : profile.events)
        if (out.empty() || out.back() != event.step)
            out.push_back(event.step);
    if (profile.leftOut > 0 && !out.empty())
        out.pop_back(); // what was left out begins in it
    return out;
}

double executionSeconds(const RunProfile& profile, const ProfileEvent& event)
{
    if (profile.operations[static_cast<std::size_t>(event.operation)].collective)
        return event.seconds;
    double out = 0;
    for (const DeviceSpan& span : event.devices)
        out = std::max(out, span.seconds);
    return out;
}

std::int64_t typicalStep(const RunProfile& profile)
{
    const std::vector<std::int64_t> whole = wholeSteps(profile);
    if (whole.empty())
        return -1;
    std::map<std::int64_t, double> seconds;
    for (const ProfileEvent& event : profile.events)
        seconds[event.step] += executionSeconds(profile, event);
    std::vector<double> all;
    for (const std::int64_t step : whole)
        all.push_back(seconds[step]);
    const double middle = median(all);
    return *std::ranges::min_element(whole, {}, [&](std::int64_t step) { return std::abs(seconds[step] - middle); });
}

Timeline runLanes(const RunProfile& profile, std::int64_t step, std::vector<TimelineItem> items, double memoryLimit)
{
    Timeline out;
    out.items = std::move(items);
    std::map<std::string, std::int32_t> byId;
    for (std::size_t i = 0; i < out.items.size(); ++i) {
        out.names.push_back(out.items[i].id);
        byId.emplace(out.items[i].id, static_cast<std::int32_t>(i));
    }
    struct Drawn {
        std::uint32_t name;
        std::int32_t item;
        IntervalKind kind;
    };
    std::vector<Drawn> drawn;
    std::size_t unknown = 0;
    for (const ProfileOperation& operation : profile.operations) {
        if (const auto known = byId.find(operation.id); known != byId.end()) {
            drawn.push_back({ static_cast<std::uint32_t>(known->second), known->second,
                              out.items[static_cast<std::size_t>(known->second)].drawn });
            continue;
        }
        ++unknown;
        drawn.push_back({ static_cast<std::uint32_t>(out.names.size()), -1,
                          operation.collective ? IntervalKind::Collective : IntervalKind::Other });
        out.names.push_back(operation.id);
    }
    const auto slowest = static_cast<std::uint32_t>(out.names.size());
    const auto others = slowest + 1;
    out.names.insert(out.names.end(), { "waits for the slowest device", "other devices work" });
    std::map<std::int64_t, std::size_t> places;
    std::vector<Lane> measured;
    std::vector<Lane> predicted;
    for (const ProfiledDevice& device : profile.devices) {
        places.emplace(device.id, measured.size());
        measured.push_back({ device.name, "measured" });
        predicted.push_back({ device.name, "predicted", true });
        out.memory.push_back({ device.name, false, memoryLimit, {}, { "held" }, { {} } });
    }
    double at = 0;
    double then = 0;
    std::size_t slowestDevice = 0; ///< that the others waited for, the last time
    for (const ProfileEvent& event : profile.events) {
        if (event.step != step)
            continue;
        const auto index = static_cast<std::size_t>(event.operation);
        const ProfileOperation& operation = profile.operations[index];
        const double seconds = executionSeconds(profile, event);
        std::vector<const DeviceSpan*> spans(measured.size(), nullptr);
        for (const DeviceSpan& span : event.devices)
            if (const auto place = places.find(span.device); place != places.end())
                spans[place->second] = &span;
        for (std::size_t i = 0; i < measured.size(); ++i) {
            const DeviceSpan* span = spans[i];
            const double own = span == nullptr ? 0 : operation.collective ? seconds : std::min(span->seconds, seconds);
            const auto layer = static_cast<std::int32_t>(event.layer);
            const auto micro = static_cast<std::int32_t>(event.microBatch);
            std::vector<LaneInterval>& lane = measured[i].intervals;
            if (own > 0)
                lane.push_back({ at, own, drawn[index].name, drawn[index].item, layer, micro, drawn[index].kind });
            if (own < seconds)
                lane.push_back({ at + own, seconds - own, span == nullptr ? others : slowest, -1, -1, -1, IntervalKind::Idle });
            if (operation.predictedSeconds > 0)
                predicted[i].intervals.push_back(
                    span != nullptr ? LaneInterval { then, operation.predictedSeconds, drawn[index].name, drawn[index].item, layer,
                                                     micro, drawn[index].kind }
                                    : LaneInterval { then, operation.predictedSeconds, others, -1, -1, -1, IntervalKind::Idle });
            if (span != nullptr) {
                MemoryLane& memory = out.memory[i];
                memory.times.push_back(at);
                memory.bytes.front().push_back(static_cast<double>(span->memoryBytes));
            }
        }
        // A collective ends for all; the path stays where it was, if that device is not faster than another.
        const auto own = [&](std::size_t i) {
            return spans[i] == nullptr ? 0 : operation.collective ? seconds : spans[i]->seconds;
        };
        for (std::size_t i = 0; i < measured.size(); ++i)
            if (own(i) > own(slowestDevice))
                slowestDevice = i;
        if (seconds > 0 && !measured.empty())
            addToPath(out.path, { 2 * slowestDevice + 1, at, at + seconds }); // lanes stand in pairs
        at += seconds;
        then += operation.predictedSeconds;
    }
    out.seconds = std::max(at, then);
    for (std::size_t i = 0; i < measured.size(); ++i) {
        out.lanes.push_back(std::move(predicted[i]));
        out.lanes.push_back(std::move(measured[i]));
    }
    std::erase_if(out.memory, [](const MemoryLane& lane) { return lane.times.empty(); });
    if (unknown > 0)
        out.notes.push_back("operations of the run that the open design does not have: " + std::to_string(unknown));
    if (profile.leftOut > 0)
        out.notes.push_back("executions that were too many to be kept: " + std::to_string(profile.leftOut));
    return out;
}

} // namespace shardboard

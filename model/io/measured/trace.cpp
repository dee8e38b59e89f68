// SPDX-License-Identifier: Apache-2.0
#include "model/io/measured/trace.h"

#include "model/text/contains.h"

#include <algorithm>
#include <map>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::int64_t kComputeThread = 1;
constexpr std::int64_t kCollectiveThread = 2; ///< and those after it

/// Viewers take process 0 for the idle task.
std::int64_t processOf(std::int64_t device) { return device + 1; }
double microseconds(double seconds) { return seconds * 1e6; }

json rankList(const std::vector<std::int64_t>& ranks)
{
    std::string text = "[";
    for (const std::int64_t rank : ranks)
        text += (text.size() > 1 ? ", " : "") + std::to_string(rank);
    return text + "]"; // a text, as PyTorch has it
}

/// Elements that go in and come out on one member.
std::pair<std::int64_t, std::int64_t> elementsOf(const ProfileOperation& operation)
{
    const std::int64_t whole = operation.bytes / 4; // float32
    const std::int64_t part = whole / std::max<std::int64_t>(1, operation.groupSize);
    if (operation.kind == "all-gather")
        return { part, whole };
    if (operation.kind == "reduce-scatter" || operation.kind == "local-slice")
        return { whole, part };
    return { whole, whole };
}

class TraceWriter {
public:
    explicit TraceWriter(const RunProfile& profile)
        : m_profile(profile)
    {
    }

    json write()
    {
        for (const ProfileEvent& event : m_profile.events)
            addEvent(event);
        json list = json::array();
        addNames(list);
        std::ranges::stable_sort(m_events, [](const Timed& a, const Timed& b) { return a.time < b.time; });
        for (Timed& event : m_events)
            list.push_back(std::move(event.value));
        return { { "displayTimeUnit", "ms" },
                 { "traceEvents", std::move(list) },
                 { "otherData",
                   { { "machine", m_profile.machine },
                     { "mode", profileModeName(m_profile.mode) },
                     { "executions left out", std::to_string(m_profile.leftOut) } } } };
    }

private:
    struct Timed {
        double time;
        json value;
    };
    struct Slice {
        std::int64_t process;
        std::int64_t thread;
        double middle;
    };

    void addNames(json& list) const
    {
        const auto name = [&](std::int64_t process, std::optional<std::int64_t> thread, const char* what, json args) {
            json event { { "ph", "M" }, { "pid", process }, { "name", what }, { "args", std::move(args) } };
            event["tid"] = thread.value_or(0);
            event["ts"] = 0;
            list.push_back(std::move(event));
        };
        for (std::size_t i = 0; i < m_profile.devices.size(); ++i) {
            const ProfiledDevice& device = m_profile.devices[i];
            const std::int64_t process = processOf(device.id);
            name(process, std::nullopt, "process_name", { { "name", device.name } });
            name(process, std::nullopt, "process_sort_index", { { "sort_index", i } });
            name(process, kComputeThread, "thread_name", { { "name", "compute" } });
            const auto lanes = m_lanes.find(device.id);
            const std::size_t count = lanes == m_lanes.end() ? 1 : std::max<std::size_t>(1, lanes->second.size());
            for (std::size_t lane = 0; lane < count; ++lane)
                name(process, kCollectiveThread + static_cast<std::int64_t>(lane), "thread_name",
                     { { "name", lane == 0 ? std::string("collectives") : "collectives " + std::to_string(lane + 1) } });
        }
    }

    /// The first thread for collectives of the device on which nothing runs any more.
    std::int64_t laneFor(const DeviceSpan& span)
    {
        auto& ends = m_lanes[span.device];
        for (std::size_t lane = 0; lane < ends.size(); ++lane)
            if (ends[lane] <= span.start) {
                ends[lane] = span.end;
                return kCollectiveThread + static_cast<std::int64_t>(lane);
            }
        ends.push_back(span.end);
        return kCollectiveThread + static_cast<std::int64_t>(ends.size()) - 1;
    }

    void addEvent(const ProfileEvent& event)
    {
        const ProfileOperation& operation = m_profile.operations[static_cast<std::size_t>(event.operation)];
        std::map<std::int64_t, Slice> slices; // by device
        for (const DeviceSpan& span : event.devices) {
            const std::int64_t thread = operation.collective ? laneFor(span) : kComputeThread;
            const double start = microseconds(span.start);
            const double duration = microseconds(span.end) - start;
            json args = {
                { "step", event.step }, { "layer", event.layer }, { "micro-batch", event.microBatch }, { "seconds", span.seconds }
            };
            if (operation.collective)
                addCollectiveArguments(args, operation, span.device);
            else if (operation.flops > 0)
                args["flops"] = operation.flops;
            m_events.push_back({ start,
                                 { { "ph", "X" },
                                   { "pid", processOf(span.device) },
                                   { "tid", thread },
                                   { "ts", start },
                                   { "dur", duration },
                                   { "name", operation.id },
                                   { "cat", operation.collective ? "collective" : "kernel" },
                                   { "args", std::move(args) } } });
            slices[span.device] = { processOf(span.device), thread, start + duration / 2 };
            m_events.push_back({ start,
                                 { { "ph", "C" },
                                   { "pid", processOf(span.device) },
                                   { "tid", 0 },
                                   { "ts", start },
                                   { "name", "memory" },
                                   { "args", { { "bytes", span.memoryBytes } } } } });
        }
        for (const auto& group : operation.groups)
            addFlow(operation, group, slices);
    }

    static void addCollectiveArguments(json& args, const ProfileOperation& operation, std::int64_t device)
    {
        const auto [in, out] = elementsOf(operation);
        args["Collective name"] = operation.kind;
        args["In msg nelems"] = in;
        args["Out msg nelems"] = out;
        args["Group size"] = operation.groupSize;
        args["dtype"] = "Float";
        args["tensor"] = operation.tensor;
        for (const auto& group : operation.groups)
            if (contains(group, device))
                args["Process Group Ranks"] = rankList(group);
    }

    void addFlow(const ProfileOperation& operation, const std::vector<std::int64_t>& group,
                 const std::map<std::int64_t, Slice>& slices)
    {
        std::vector<Slice> members;
        for (const std::int64_t device : group)
            if (const auto found = slices.find(device); found != slices.end())
                members.push_back(found->second);
        if (members.size() < 2)
            return;
        std::ranges::stable_sort(members, [](const Slice& a, const Slice& b) { return a.middle < b.middle; });
        ++m_flows;
        for (std::size_t i = 0; i < members.size(); ++i) {
            const bool last = i + 1 == members.size();
            json event { { "ph",
                           i == 0     ? "s"
                               : last ? "f"
                                      : "t" },
                         { "pid", members[i].process },
                         { "tid", members[i].thread },
                         { "ts", members[i].middle },
                         { "id", m_flows },
                         { "name", operation.kind },
                         { "cat", "collective" } };
            if (last)
                event["bp"] = "e"; // binds to the slice around it, as the others do by themselves
            m_events.push_back({ members[i].middle, std::move(event) });
        }
    }

    const RunProfile& m_profile;
    std::vector<Timed> m_events;
    std::map<std::int64_t, std::vector<double>> m_lanes; ///< by device: when each of its threads for collectives is free again
    std::int64_t m_flows = 0;
};

} // namespace

json traceDocument(const RunProfile& profile) { return TraceWriter(profile).write(); }

} // namespace shardboard

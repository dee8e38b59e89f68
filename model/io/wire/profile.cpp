// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/profile.h"

#include "model/io/wire/profilemembers.h"
#include "model/text/names.h"

#include <array>
#include <cmath>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::array<const char*, 3> kModes { "none", "serial", "batched" };

/// Lists instead of objects, because there are many: [device, start, end, seconds, memory].
json spanToJson(const DeviceSpan& span)
{
    return json::array({ span.device, span.start, span.end, span.seconds, span.memoryBytes });
}

/// [operation, step, layer, micro-batch, seconds, wall, [spans]]
json eventToJson(const ProfileEvent& event)
{
    json spans = json::array();
    for (const DeviceSpan& span : event.devices)
        spans.push_back(spanToJson(span));
    return json::array(
        { event.operation, event.step, event.layer, event.microBatch, event.seconds, event.wallSeconds, std::move(spans) });
}

json eventsToJson(const std::vector<ProfileEvent>& events)
{
    json out = json::array();
    for (const ProfileEvent& event : events)
        out.push_back(eventToJson(event));
    return out;
}

/// The entries of a list that must have so many; `place` is that of the list in `from`.
class Row {
public:
    Row(JsonFields& from, const json& value, std::size_t size, const char* list, std::size_t place)
        : m_from(from)
        , m_value(value)
        , m_good(value.is_array() && value.size() == size)
        , m_list(list)
        , m_place(place)
    {
        if (!m_good)
            fail("is no list of " + std::to_string(size) + " entries");
    }
    double seconds(std::size_t index)
    {
        const double value = m_good && m_value[index].is_number() ? m_value[index].get<double>() : -1;
        if (!(value >= 0) || !std::isfinite(value))
            fail("entry " + std::to_string(index) + " is not a time");
        return value;
    }
    std::int64_t whole(std::size_t index)
    {
        const std::int64_t value = m_good && m_value[index].is_number_integer() ? m_value[index].get<std::int64_t>() : -1;
        if (value < 0)
            fail("entry " + std::to_string(index) + " is not a whole number of at least 0");
        return value;
    }
    const json& list(std::size_t index)
    {
        static const json kNothing = json::array();
        if (m_good && m_value[index].is_array())
            return m_value[index];
        fail("entry " + std::to_string(index) + " is not a list");
        return kNothing;
    }
    void fail(const std::string& what)
    {
        if (!m_from.error())
            m_from.fail(m_list + ("[" + std::to_string(m_place) + "]"), what, "send it as model/io/wire/profile.h says");
    }

private:
    JsonFields& m_from;
    const json& m_value;
    bool m_good;
    std::string m_list;
    std::size_t m_place;
};

ProfileEvent eventFromJson(JsonFields& from, const json& value, std::size_t place, std::size_t operations)
{
    ProfileEvent out;
    Row row(from, value, 7, "events", place);
    out.operation = row.whole(0);
    if (out.operation >= static_cast<std::int64_t>(operations))
        row.fail("there is no operation " + std::to_string(out.operation));
    out.step = row.whole(1);
    out.layer = row.whole(2);
    out.microBatch = row.whole(3);
    out.seconds = row.seconds(4);
    out.wallSeconds = row.seconds(5);
    for (const json& entry : row.list(6)) {
        Row values(from, entry, 5, "events", place);
        DeviceSpan span { values.whole(0), values.seconds(1), values.seconds(2), values.seconds(3), values.whole(4) };
        if (span.end < span.start)
            row.fail("a device's part ends before it starts");
        out.devices.push_back(span);
    }
    return out;
}

void readEvents(JsonFields& from, RunProfile& profile)
{
    const json* events = from.need("events");
    if (events != nullptr && !events->is_array())
        from.fail("events", "is not a list", "use [...]");
    for (std::size_t i = 0; !from.error() && i < events->size(); ++i)
        profile.events.push_back(eventFromJson(from, (*events)[i], i, profile.operations.size()));
}

} // namespace

std::string profileModeName(ProfileMode mode) { return kModes[static_cast<std::size_t>(mode)]; }

std::optional<ProfileMode> profileModeFromName(std::string_view name) { return namedIn<ProfileMode>(kModes, name); }

template <class Each, MembersOf<ProfiledDevice> Device>
void jsonMembers(Each& each, Device& device)
{
    each.value("id", device.id);
    each.value("name", device.name);
    each.value("announced_bytes", device.announcedBytes, { 0 });
    each.value("peak_bytes", device.peakBytes, { 0 });
    each.value("peak_at", device.peakAt);
}

template <class Each, MembersOf<ProfileOperation> Operation>
void jsonMembers(Each& each, Operation& operation)
{
    each.value("id", operation.id);
    each.value("kind", operation.kind);
    each.value("collective", operation.collective);
    each.value("flops", operation.flops);
    each.value("work_bytes", operation.workBytes);
    each.value("bytes", operation.bytes, { 0 });
    each.value("group_size", operation.groupSize, { 1 });
    each.value("tensor", operation.tensor);
    each.value("groups", operation.groups);
    each.value("predicted_seconds", operation.predictedSeconds);
}

template <class Each, MembersOf<RunProfile> Profile>
void jsonMembers(Each& each, Profile& profile)
{
    each.value("mode", profile.mode);
    each.value("machine", profile.machine);
    each.value("workers", profile.workers, { 0 });
    each.value("left_out", profile.leftOut, { 0 });
    each.value("limits", profile.limits);
    each.value("devices", profile.devices);
    each.value("operations", profile.operations);
    each.derived("events", [&] { return eventsToJson(profile.events); });
    if constexpr (Each::kReads)
        readEvents(each.from(), profile);
}

json profileToJson(const RunProfile& profile) { return jsonOf(profile); }
Result<RunProfile> profileFromJson(const json& value) { return messageFromJson<RunProfile>(value, "profile"); }

} // namespace shardboard

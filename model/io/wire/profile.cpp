// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/profile.h"

#include "model/core/jsonreader.h"

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

json operationToJson(const ProfileOperation& operation)
{
    return { { "id", operation.id },
             { "kind", operation.kind },
             { "collective", operation.collective },
             { "flops", operation.flops },
             { "work_bytes", operation.workBytes },
             { "bytes", operation.bytes },
             { "group_size", operation.groupSize },
             { "tensor", operation.tensor },
             { "groups", operation.groups },
             { "predicted_seconds", operation.predictedSeconds } };
}

/// The entries of a list that must have so many.
class Row {
public:
    Row(JsonReader& reader, std::size_t size)
        : m_reader(reader)
        , m_good(reader.value().is_array() && reader.value().size() == size)
    {
        if (!m_good)
            reader.fail("a list of " + std::to_string(size) + " entries is expected here");
    }
    double seconds(std::size_t index)
    {
        const double value = m_good && m_reader.value()[index].is_number() ? m_reader.value()[index].get<double>() : -1;
        if (!(value >= 0) || !std::isfinite(value))
            m_reader.fail("entry " + std::to_string(index) + " is not a time");
        return value;
    }
    std::int64_t whole(std::size_t index)
    {
        const std::int64_t value =
            m_good && m_reader.value()[index].is_number_integer() ? m_reader.value()[index].get<std::int64_t>() : -1;
        if (value < 0)
            m_reader.fail("entry " + std::to_string(index) + " is not a whole number of at least 0");
        return value;
    }
    const json& list(std::size_t index)
    {
        static const json kNothing = json::array();
        if (m_good && m_reader.value()[index].is_array())
            return m_reader.value()[index];
        m_reader.fail("entry " + std::to_string(index) + " is not a list");
        return kNothing;
    }

private:
    JsonReader& m_reader;
    bool m_good;
};

ProfileEvent eventFromJson(JsonReader reader, std::size_t operations, const std::string& where)
{
    ProfileEvent out;
    Row row(reader, 7);
    out.operation = row.whole(0);
    if (out.operation >= static_cast<std::int64_t>(operations))
        reader.fail("there is no operation " + std::to_string(out.operation));
    out.step = row.whole(1);
    out.layer = row.whole(2);
    out.microBatch = row.whole(3);
    out.seconds = row.seconds(4);
    out.wallSeconds = row.seconds(5);
    for (const json& entry : row.list(6)) {
        JsonReader item(entry, where);
        Row values(item, 5);
        DeviceSpan span { values.whole(0), values.seconds(1), values.seconds(2), values.seconds(3), values.whole(4) };
        if (!item.ok() || span.end < span.start)
            reader.fail("a device's part ends before it starts, or is not a list of its five numbers");
        out.devices.push_back(span);
    }
    return out;
}

ProfileOperation operationFromJson(JsonReader reader)
{
    ProfileOperation out;
    out.id = reader.text("id");
    out.kind = reader.text("kind");
    out.collective = reader.boolean("collective");
    out.flops = reader.number("flops");
    out.workBytes = reader.number("work_bytes");
    out.bytes = reader.integer("bytes", 0);
    out.groupSize = reader.integer("group_size", 1);
    out.tensor = reader.text("tensor");
    out.predictedSeconds = reader.number("predicted_seconds");
    for (JsonReader& group : reader.items("groups")) {
        std::vector<std::int64_t> ids;
        if (!group.value().is_array())
            group.fail("a list of devices is expected here");
        else
            for (const json& id : group.value())
                if (id.is_number_integer())
                    ids.push_back(id.get<std::int64_t>());
                else
                    group.fail("the id of a device is expected here");
        out.groups.push_back(std::move(ids));
    }
    return out;
}

} // namespace

std::string profileModeName(ProfileMode mode) { return kModes[static_cast<std::size_t>(mode)]; }

std::optional<ProfileMode> profileModeFromName(std::string_view name)
{
    for (std::size_t i = 0; i < kModes.size(); ++i)
        if (name == kModes[i])
            return static_cast<ProfileMode>(i);
    return std::nullopt;
}

json profileToJson(const RunProfile& profile)
{
    json devices = json::array();
    for (const ProfiledDevice& device : profile.devices)
        devices.push_back({ { "id", device.id },
                            { "name", device.name },
                            { "announced_bytes", device.announcedBytes },
                            { "peak_bytes", device.peakBytes },
                            { "peak_at", device.peakAt } });
    json operations = json::array();
    for (const ProfileOperation& operation : profile.operations)
        operations.push_back(operationToJson(operation));
    json events = json::array();
    for (const ProfileEvent& event : profile.events)
        events.push_back(eventToJson(event));
    return { { "mode", profileModeName(profile.mode) },
             { "machine", profile.machine },
             { "workers", profile.workers },
             { "limits",
               { { "gemm_flops_one", profile.limits.gemmFlopsOne },
                 { "gemm_flops_all", profile.limits.gemmFlopsAll },
                 { "copy_bytes_one", profile.limits.copyBytesOne },
                 { "copy_bytes_all", profile.limits.copyBytesAll } } },
             { "devices", std::move(devices) },
             { "operations", std::move(operations) },
             { "events", std::move(events) },
             { "left_out", profile.leftOut } };
}

Result<RunProfile> profileFromJson(const json& value)
{
    RunProfile out;
    const std::string where = "profile";
    JsonReader reader(value, where);
    if (!value.is_object())
        reader.fail("an object is expected here");
    const auto mode = profileModeFromName(reader.text("mode"));
    if (!mode)
        reader.child("mode").fail("none, serial or batched is expected here");
    out.mode = mode.value_or(ProfileMode::None);
    out.machine = reader.text("machine");
    out.workers = reader.integer("workers", 0);
    out.leftOut = reader.integer("left_out", 0);
    JsonReader limits = reader.child("limits");
    out.limits = { limits.number("gemm_flops_one"), limits.number("gemm_flops_all"), limits.number("copy_bytes_one"),
                   limits.number("copy_bytes_all") };
    for (JsonReader& item : reader.items("devices"))
        out.devices.push_back({ item.integer("id"), item.text("name"), item.integer("announced_bytes", 0),
                                item.integer("peak_bytes", 0), item.text("peak_at") });
    for (const JsonReader& item : reader.items("operations"))
        out.operations.push_back(operationFromJson(item));
    for (const JsonReader& item : reader.items("events")) {
        out.events.push_back(eventFromJson(item, out.operations.size(), where));
        if (!reader.ok())
            break;
    }
    if (!reader.ok())
        return reader.error();
    return out;
}

} // namespace shardboard

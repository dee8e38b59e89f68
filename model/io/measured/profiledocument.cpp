// SPDX-License-Identifier: Apache-2.0
#include "model/io/measured/profiledocument.h"

#include "model/core/statistics.h"

#include <algorithm>

namespace shardboard {

using nlohmann::json;

namespace {

json spreadJson(const std::vector<double>& samples)
{
    const Spread spread = spreadOf(samples);
    return { { "median", spread.median },
             { "min", spread.min },
             { "max", spread.max },
             { "quartile1", spread.quartile1 },
             { "quartile3", spread.quartile3 } };
}

/// Nothing where there was no time.
json ratio(double value, double seconds) { return seconds > 0 ? json(value / seconds) : json(nullptr); }

json machineJson(const RunProfile& profile)
{
    const MachineLimits& limits = profile.limits;
    return { { "name", profile.machine },
             { "workers", profile.workers },
             { "gemm_flops_per_second", { { "one", limits.gemmFlopsOne }, { "all", limits.gemmFlopsAll } } },
             { "copy_bytes_per_second", { { "one", limits.copyBytesOne }, { "all", limits.copyBytesAll } } } };
}

void addMeasured(json& out, const ProfileOperation& operation, const ProfileSummary& summary)
{
    out["collective"] = operation.collective;
    out["seconds"] = spreadJson(summary.samples);
    out["samples"] = summary.samples;
    out["wall_seconds"] = median(summary.wall);
    json devices = json::array();
    for (const auto& [device, samples] : summary.byDevice)
        devices.push_back({ { "device", device }, { "seconds", spreadJson(samples) }, { "samples", samples } });
    out["by_device"] = std::move(devices);
    out["flops"] = operation.flops;
    out["work_bytes"] = operation.workBytes;
    const double share = std::max(summary.gemmShare, summary.copyShare);
    out["share_of_limit"] = share > 0 ? json(share) : json(nullptr);
    out["limit"] = share <= 0 ? json(nullptr) : json(summary.gemmShare >= summary.copyShare ? "gemm" : "copy");
    if (!operation.collective)
        return;
    const auto bytes = static_cast<double>(operation.bytes);
    out["executed_bytes"] = operation.bytes;
    out["group_size"] = operation.groupSize;
    out["groups"] = operation.groups;
    out["algorithm"] = "shared-memory";
    out["algorithm_bandwidth"] = ratio(bytes, summary.seconds);
    out["bus_bandwidth"] = ratio(bytes * busFactor(operation.kind, operation.groupSize), summary.seconds);
    out["traffic_bytes"] = summary.bytes;
    out["traffic_bytes_per_second"] = ratio(summary.bytes, summary.seconds);
}

json memoryJson(const RunProfile& profile, const MemoryPrediction& predicted)
{
    json devices = json::array();
    for (const ProfiledDevice& device : profile.devices)
        devices.push_back({ { "device", device.id },
                            { "name", device.name },
                            { "peak_bytes", device.peakBytes },
                            { "peak_at", device.peakAt },
                            { "announced_bytes", device.announcedBytes } });
    return { { "devices", std::move(devices) },
             { "predicted",
               { { "peak_bytes_per_device", predicted.peakBytes },
                 { "in_run_bytes", predicted.inRunBytes > 0 ? json(predicted.inRunBytes) : json(nullptr) },
                 { "note", predicted.note } } } };
}

} // namespace

double busFactor(const std::string& kind, std::int64_t groupSize)
{
    const auto n = static_cast<double>(std::max<std::int64_t>(1, groupSize));
    if (kind == "all-reduce")
        return 2 * (n - 1) / n;
    if (kind == "all-gather" || kind == "reduce-scatter" || kind == "all-to-all")
        return (n - 1) / n;
    return 1;
}

double trafficOfGroup(const std::string& kind, std::int64_t groupSize, double bytes)
{
    const auto n = static_cast<double>(std::max<std::int64_t>(1, groupSize));
    if (kind == "all-gather" || kind == "reduce-scatter")
        return (n + 1) * bytes;
    if (kind == "broadcast")
        return n * bytes;
    if (kind == "local-slice")
        return 2 * bytes; // each of n reads and writes S/n
    return 2 * n * bytes; // all-reduce, all-to-all; send-recv: every member passes S on
}

std::vector<ProfileSummary> summarize(const RunProfile& profile)
{
    std::vector<ProfileSummary> out(profile.operations.size());
    std::vector<std::size_t> busy(out.size(), 0);
    const bool serial = profile.mode == ProfileMode::Serial;
    for (const ProfileEvent& event : profile.events) {
        const auto index = static_cast<std::size_t>(event.operation);
        ProfileSummary& summary = out[index];
        double slowest = 0;
        for (const DeviceSpan& span : event.devices) {
            summary.byDevice[span.device].push_back(span.seconds);
            slowest = std::max(slowest, span.seconds);
        }
        const bool alone = serial && !profile.operations[index].collective;
        summary.samples.push_back(alone ? slowest : event.seconds);
        summary.wall.push_back(event.wallSeconds);
        busy[index] = std::max(busy[index], event.devices.size());
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        const ProfileOperation& operation = profile.operations[i];
        ProfileSummary& summary = out[i];
        summary.seconds = median(summary.samples);
        const auto devices = static_cast<double>(busy[i]);
        if (operation.collective) {
            const double groups = devices / static_cast<double>(std::max<std::int64_t>(1, operation.groupSize));
            summary.bytes = trafficOfGroup(operation.kind, operation.groupSize, static_cast<double>(operation.bytes)) * groups;
        } else {
            const double counted = serial ? 1 : devices;
            summary.flops = operation.flops * counted;
            summary.bytes = operation.workBytes * counted;
        }
        const double gemm = serial ? profile.limits.gemmFlopsOne : profile.limits.gemmFlopsAll;
        const double copy = serial ? profile.limits.copyBytesOne : profile.limits.copyBytesAll;
        if (summary.seconds > 0 && gemm > 0)
            summary.gemmShare = summary.flops / gemm / summary.seconds;
        if (summary.seconds > 0 && copy > 0)
            summary.copyShare = summary.bytes / copy / summary.seconds;
    }
    return out;
}

json profileDocument(const RunResult& result, const RunProfile& profile, const MemoryPrediction& predicted)
{
    json out = toJson(result);
    out["format"] = "shardboard-profile";
    out["version"] = 1;
    out["mode"] = profileModeName(profile.mode);
    out["machine"] = machineJson(profile);
    out["clock"] = "seconds in which a thread had a core, so that other programs do not count; wall_seconds on a steady clock; "
                   "generated data is left out of both, and messages between hosts are in both with all their time";
    out["memory"] = memoryJson(profile, predicted);
    out["left_out"] = profile.leftOut;
    const std::vector<ProfileSummary> summaries = summarize(profile);
    std::map<std::string, std::size_t> byId;
    for (std::size_t i = 0; i < profile.operations.size(); ++i)
        byId.emplace(profile.operations[i].id, i);
    for (json& operation : out["operations"])
        if (const auto found = byId.find(operation["id"].get<std::string>()); found != byId.end())
            addMeasured(operation, profile.operations[found->second], summaries[found->second]);
    return out;
}

} // namespace shardboard

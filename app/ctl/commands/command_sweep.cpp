// SPDX-License-Identifier: Apache-2.0
// shardctl sweep: one design under many batches, sequences, micro-batches and numbers of devices.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "app/ctl/terminal.h"
#include "model/design/optimize/sweep.h"
#include "model/io/design/designfile.h"
#include "model/io/json/jsonwriter.h"
#include "model/text/figures.h"
#include "model/text/numbers.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <thread>

namespace shardboard {

namespace {

using nlohmann::ordered_json;

ordered_json pointJson(const SweepPoint& point)
{
    ordered_json out { { "batch", point.batch },
                       { "sequence", point.sequence },
                       { "micro_batches", point.microBatches },
                       { "devices", point.devices } };
    if (!point.refused.empty()) {
        out["refused"] = point.refused;
        return out;
    }
    out.update({ { "seconds", point.seconds },
                 { "tokens_per_second_per_device", point.tokensPerSecondPerDevice },
                 { "mfu", point.mfu },
                 { "peak_bytes_per_device", point.peakBytes },
                 { "fits", point.fit != Fit::DoesNotFit },
                 { "verdict", fitName(point.fit) } });
    return out;
}

} // namespace

int sweepCommand(const Arguments& arguments)
{
    SweepRequest request;
    if (arguments.has("--over"))
        if (const auto status = readSweep(arguments.text("--over"), "--over", request); !status.ok())
            return report(status.error());
    for (const SweepSetting& setting : kSweepSettings) {
        const std::string option = "--" + std::string(setting.name);
        if (!arguments.has(option))
            continue;
        if (!(request.*setting.values).empty())
            return report(usageError(option, "--over says which values it takes, too", "say it once"));
        auto read = sweepValuesFrom(arguments.text(option), option);
        if (!read.ok())
            return report(read.error());
        request.*setting.values = std::move(read).value();
    }
    const std::string& path = arguments.positional().front();
    const auto design = readDesign(path);
    if (!design.ok())
        return report(design.error());
    const InterruptGuard interrupts;
    request.cancelled = &InterruptGuard::flag();
    request.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const auto begin = std::chrono::steady_clock::now();
    const auto points = sweep(design.value(), request);
    if (!points.ok())
        return report(points.error().code == ErrorCode::Input ? ofFile(path, points.error()) : points.error());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (arguments.has("--json")) {
        ordered_json out { { "points", ordered_json::array() }, { "seconds", seconds } };
        for (const SweepPoint& point : points.value())
            out["points"].push_back(pointJson(point));
        std::cout << jsonText(out, 1) << "\n";
        return kDone;
    }
    Table table({ ">batch", ">sequence", ">micro-batches", ">devices", ">step", ">tok/s/device", ">MFU", ">memory", "" });
    for (const SweepPoint& point : points.value()) {
        std::vector<std::string> row { std::to_string(point.batch), std::to_string(point.sequence),
                                       std::to_string(point.microBatches), countText(point.devices) };
        if (point.refused.empty())
            row.insert(row.end(),
                       { secondsText(point.seconds), figures::digits(point.tokensPerSecondPerDevice), figures::percent(point.mfu),
                         bytesText(point.peakBytes), point.fit == Fit::Fits ? std::string() : std::string(fitName(point.fit)) });
        else
            row.insert(row.end(), { "-", "-", "-", "-", point.refused });
        table.add(std::move(row));
    }
    std::cout << table.text();
    return kDone;
}

} // namespace shardboard

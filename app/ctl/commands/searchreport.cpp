// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/commands/searchreport.h"

#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "app/ctl/terminal.h"
#include "model/design/optimize/designsearch.h"
#include "model/io/design/designfile.h"
#include "model/io/json/jsonwriter.h"
#include "model/text/figures.h"
#include "model/text/numbers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

namespace shardboard {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

ordered_json designJson(const SearchedDesign& found, const std::string& file)
{
    ordered_json out { { "mesh", found.design.mesh.text() },
                       { "preset", found.preset },
                       { "micro_batches", found.design.workload.microBatches },
                       { "virtual_stages", found.design.pipeline.chunks },
                       { "recompute", recomputeName(found.design.workload.recompute) },
                       { "dtype", dtypeName(found.design.workload.dtype) },
                       { "seconds", found.seconds },
                       { "tokens_per_second_per_device", found.tokensPerSecondPerDevice },
                       { "peak_bytes_per_device", found.peakBytes },
                       { "slowest_link_bytes", found.slowBytes } };
    if (found.design.workload.optimizer.present())
        out["zero"] = found.design.workload.optimizer.gradients ? 2 : 1;
    if (!file.empty())
        out["file"] = file;
    return out;
}

/// A front is read by its files, so that those of another one may not lie between them.
Status canTakeFront(const std::string& folder)
{
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (entry.path().extension() == ".shardboard")
            return inputError(folder, "it has designs already: " + entry.path().filename().string(),
                              "choose an empty folder, or delete them");
    return done();
}

/// Every design of the front as a file, and what they are.
Result<std::vector<std::string>> writeFront(const std::string& folder, const SearchResult& result)
{
    std::vector<std::string> files;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return inputError(folder, "the folder cannot be made: " + error.message(), "choose another one");
    for (std::size_t i = 0; i < result.front.size(); ++i) {
        std::string name = std::to_string(i + 1);
        name.insert(0, 3 - std::min<std::size_t>(3, name.size()), '0');
        files.push_back((std::filesystem::path(folder) / (name + ".shardboard")).string());
        if (const auto status = writeDesign(files.back(), result.front[i].design); !status.ok())
            return status.error();
    }
    return files;
}

ordered_json resultJson(const SearchResult& result, const std::vector<std::string>& files, SearchObjective objective)
{
    const auto gap = result.gap(objective);
    ordered_json out { { "feasible", result.best.has_value() },
                       { "complete", result.complete },
                       { "meshes", result.meshes },
                       { "groups", result.groups },
                       { "planned", result.planned },
                       { "ruled_out", result.ruledOut },
                       { "refused", result.refused },
                       { "first_seconds", result.firstSeconds },
                       { "seconds", result.seconds },
                       { "objective_name", searchObjectiveName(objective) },
                       { "objective", result.best ? ordered_json(result.front[*result.best].value(objective)) : ordered_json() },
                       { "lower_bound", gap ? ordered_json(result.lowerBound) : ordered_json() },
                       { "gap", gap ? ordered_json(*gap) : ordered_json() },
                       { "certificate", { { "exact", result.exact }, { "not_exact", result.notExact } } },
                       { "front", ordered_json::array() } };
    for (std::size_t i = 0; i < result.front.size(); ++i)
        out["front"].push_back(designJson(result.front[i], i < files.size() ? files[i] : std::string()));
    if (result.best)
        out["best"] = *result.best;
    if (result.before)
        out["before"] = designJson(*result.before, {});
    if (result.nearest)
        out["nearest"] = designJson(*result.nearest, {});
    return out;
}

void printResult(const SearchResult& result, SearchObjective objective)
{
    Table table({ "", "mesh", "preset", "settings", ">step", ">tok/s/device", ">memory", ">slowest link" });
    for (std::size_t i = 0; i < result.front.size(); ++i) {
        const SearchedDesign& found = result.front[i];
        table.add({ i == *result.best ? "best" : "", found.design.mesh.text(), found.preset, searchedSettings(found.design),
                    secondsText(found.seconds), figures::digits(found.tokensPerSecondPerDevice),
                    bytesText(static_cast<std::int64_t>(found.peakBytes)), bytesText(static_cast<std::int64_t>(found.slowBytes)) });
    }
    std::cout << table.text() << countText(static_cast<std::int64_t>(result.planned)) << " designs planned, "
              << countText(static_cast<std::int64_t>(result.ruledOut)) << " ruled out, "
              << countText(static_cast<std::int64_t>(result.refused)) << " refused on "
              << counted(static_cast<std::int64_t>(result.meshes), "mesh order")
              << formatted(" in %.2f s, the first that fits after %.2f s", result.seconds, result.firstSeconds)
              << (result.complete ? "" : "; the time was over before all were looked at") << "\n";
    if (const auto gap = result.gap(objective))
        std::cout << formatted("gap to the lower bound: %.3g %%\n", 100 * *gap);
    for (const std::string& sentence : result.exact)
        std::cout << "exact: " << sentence << "\n";
    for (const std::string& sentence : result.notExact)
        std::cout << "not exact: " << sentence << "\n";
    if (result.before)
        std::cout << "before: " << secondsText(result.before->seconds) << ", "
                  << bytesText(static_cast<std::int64_t>(result.before->peakBytes)) << (result.before->fits ? "" : ", over a limit")
                  << "\n";
}

int reportNone(const Arguments& arguments, const SearchResult& result, const SearchOptions& options)
{
    if (arguments.has("--json"))
        std::cout << jsonText(resultJson(result, {}, options.objective), 1) << "\n";
    if (!result.nearest)
        return report(result.complete
                          ? inputError("--search", "no design could be planned", "search more, or take another number of devices")
                          : inputError("--search", "the time was over before a design was planned", "give it more --time"));
    const SearchedDesign& nearest = *result.nearest;
    std::string over;
    std::string fix = "take more devices, or search more";
    if (options.memoryBytes && nearest.leastBytes > *options.memoryBytes) {
        over += ", " + bytesText(static_cast<std::int64_t>(nearest.leastBytes - *options.memoryBytes)) + " too much";
        fix += ", or raise --memory";
    }
    if (options.mostSeconds && nearest.seconds > *options.mostSeconds) {
        over += ", " + secondsText(nearest.seconds - *options.mostSeconds) + " too long";
        fix += ", or raise --within";
    }
    return report(inputError(
        "--search",
        std::string(result.complete ? "no design fits" : "none of the designs that were looked at in time fits") + ": the nearest, "
            + nearest.design.mesh.text() + " with " + nearest.preset + " and " + searchedSettings(nearest.design) + ", takes "
            + secondsText(nearest.seconds) + " and " + bytesText(static_cast<std::int64_t>(nearest.leastBytes)) + over,
        fix));
}

} // namespace

int searchAndReport(const Arguments& arguments, Design design, const std::optional<double>& memoryBytes, Clock::time_point begin)
{
    SearchOptions options;
    const auto parts = searchedPartsFrom(arguments.text("--search", "mesh,micro-batches,virtual-stages,recompute,zero"));
    if (!parts.ok())
        return report(parts.error());
    options.parts = parts.value();
    const auto devices = arguments.integer("--devices", design.mesh.deviceCount(), 1, kMaxDevices);
    if (!devices.ok())
        return report(devices.error());
    options.devices = devices.value();
    if (arguments.has("--devices") && !options.parts.mesh)
        return report(usageError("--devices", "the mesh is not searched", "add mesh to --search"));
    if (arguments.has("--objective")) {
        const auto objective = searchObjectiveFromName(arguments.text("--objective"));
        if (!objective)
            return report(usageError("--objective", "there is no objective '" + arguments.text("--objective") + "'",
                                     "use step-time, tokens-per-device, memory or slowest-link"));
        options.objective = *objective;
    }
    if (arguments.has("--within")) {
        const auto within = arguments.number("--within", 1, 1e-9, 1e9);
        if (!within.ok())
            return report(within.error());
        options.mostSeconds = within.value();
    }
    const auto time = arguments.number("--time", 60, 0.001, 1e6);
    if (!time.ok())
        return report(time.error());
    options.deadline = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time.value()));
    options.memoryBytes = memoryBytes;
    options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    if (arguments.has("--front"))
        if (const auto status = canTakeFront(arguments.text("--front")); !status.ok())
            return report(status.error());
    const InterruptGuard interrupts;
    options.cancelled = &InterruptGuard::flag();
    const auto result = searchDesigns(design, options);
    if (!result.ok())
        return report(result.error());
    if (!result.value().best)
        return reportNone(arguments, result.value(), options);
    std::vector<std::string> files;
    if (arguments.has("--front")) {
        auto written = writeFront(arguments.text("--front"), result.value());
        if (!written.ok())
            return report(written.error());
        files = std::move(written).value();
    }
    if (arguments.has("-o"))
        if (const auto status = writeDesign(arguments.text("-o"), result.value().front[*result.value().best].design); !status.ok())
            return report(status.error());
    if (arguments.has("--json"))
        std::cout << jsonText(resultJson(result.value(), files, options.objective), 1) << "\n";
    else
        printResult(result.value(), options.objective);
    return kDone;
}

} // namespace shardboard

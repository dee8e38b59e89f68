// SPDX-License-Identifier: Apache-2.0
// shardctl optimize: the best layouts of a design, with a lower bound.
#include "app/ctl/commands.h"
#include "app/ctl/commands/searchreport.h"
#include "app/ctl/table.h"
#include "app/ctl/terminal.h"
#include "model/design/compare.h"
#include "model/design/optimize/whatif.h"
#include "model/io/design/designfile.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/json/jsonwriter.h"
#include "model/text/figures.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <iostream>
#include <optional>

namespace shardboard {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// `--time` counts from the start of the process, reading included.
const Clock::time_point kProcessBegin = Clock::now();

constexpr double kGiB = 1024.0 * 1024 * 1024;

/// `80`, `80GiB`, `none`; without the option what the design's device has.
Result<std::optional<double>> memoryLimit(const Arguments& arguments, const Design& design)
{
    if (!arguments.has("--memory")) {
        const auto usable = usableMemory(design);
        if (!usable.ok())
            return usable.error();
        return std::optional<double>(usable.value());
    }
    std::string text = arguments.text("--memory");
    if (text == "none")
        return std::optional<double>();
    if (text.ends_with("GiB"))
        text.resize(text.size() - 3);
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size() || !(number > 0 && number <= 1e9))
        return usageError("--memory", "'" + arguments.text("--memory") + "' is no size", "give GiB, such as 80, or none");
    return std::optional(number * kGiB);
}

Result<OptimizeOptions> optionsOf(const Arguments& arguments, const Design& design)
{
    OptimizeOptions options;
    const auto limit = memoryLimit(arguments, design);
    if (!limit.ok())
        return limit.error();
    options.memoryBytes = limit.value();
    const auto seconds = arguments.number("--time", 60, 0.001, 1e6);
    if (!seconds.ok())
        return seconds.error();
    options.deadline = kProcessBegin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds.value()));
    if (arguments.has("--objective")) {
        const auto objective = layoutObjectiveFromName(arguments.text("--objective"));
        if (!objective)
            return usageError("--objective", "there is no objective '" + arguments.text("--objective") + "'",
                              "use step-time or memory");
        options.objective = *objective;
    }
    options.keep = arguments.texts("--keep");
    for (const std::string& text : arguments.texts("--forbid")) {
        const auto at = text.rfind('@');
        if (at == std::string::npos || at == 0 || at + 1 == text.size())
            return usageError("--forbid", "'" + text + "' is no pattern and mesh axis", "write PATTERN@AXIS, such as 'mlp*@model'");
        options.forbid.emplace_back(text.substr(0, at), text.substr(at + 1));
    }
    return options;
}

ordered_json boundedJson(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

ordered_json optimizedJson(const OptimizedDesign& answer, LayoutObjective objective)
{
    const Certificate& certificate = answer.certificate;
    ordered_json out { { "feasible", answer.feasible },
                       { "objective", certificate.objective },
                       { "objective_name", layoutObjectiveName(objective) },
                       { "lower_bound", certificate.lowerBound },
                       { "gap", certificate.gap() },
                       { "exact", certificate.proved && certificate.gap() <= 1e-9 },
                       { "seconds", certificate.seconds },
                       { "greedy", certificate.greedy },
                       { "greedy_fits", certificate.greedyFits },
                       { "step_seconds", answer.evaluation->plan.seconds() },
                       { "peak_bytes_per_device", answer.evaluation->plan.memory.peak },
                       { "memory_limit_bytes", answer.limit > 0 ? ordered_json(answer.limit) : ordered_json() } };
    if (!answer.feasible)
        out["missing_bytes"] = answer.missingBytes;
    out["certificate"] = { { "winner", certificate.winner },
                           { "modelled", certificate.modelled },
                           { "exact", certificate.exact },
                           { "not_exact", certificate.notExact },
                           { "search_seconds", certificate.searchSeconds },
                           { "networks", certificate.solved },
                           { "nodes", certificate.nodes },
                           { "strategies", certificate.strategies },
                           { "width", certificate.width },
                           { "largest_table", certificate.table } };
    out["history"] = ordered_json::array();
    for (const OptimizeProgress& now : certificate.history)
        out["history"].push_back(
            { { "seconds", now.seconds }, { "best", boundedJson(now.best) }, { "bound", now.bound }, { "what", now.what } });
    out["changes"] = ordered_json::array();
    for (const LayoutChange& change : answer.changes)
        out["changes"].push_back({ { "tensor", change.tensor }, { "from", change.from }, { "to", change.to } });
    return out;
}

std::string valueText(double value, LayoutObjective objective)
{
    return objective == LayoutObjective::Memory ? bytesText(static_cast<std::int64_t>(value)) : secondsText(value);
}

void printOptimized(const OptimizedDesign& answer, LayoutObjective objective)
{
    const Certificate& certificate = answer.certificate;
    std::cout << layoutObjectiveName(objective) << "    " << valueText(certificate.objective, objective) << ", by "
              << certificate.winner << "; before " << valueText(certificate.greedy, objective)
              << (certificate.greedyFits ? "" : ", which does not fit") << "\nlower bound  "
              << valueText(certificate.lowerBound, objective)
              << (certificate.proved && certificate.gap() <= 1e-9
                      ? std::string("  (optimal)")
                      : formatted("  (gap %.3g %%%s)", 100 * certificate.gap(), certificate.proved ? "" : ", not proved"))
              << "\nmemory       " << bytesText(answer.evaluation->plan.memory.peak)
              << (answer.limit > 0 ? " of " + bytesText(static_cast<std::int64_t>(answer.limit)) : std::string(", no limit"))
              << formatted("\nseconds      %.3f, of which %.3f in the search", certificate.seconds, certificate.searchSeconds)
              << "\n";
    for (const std::string& sentence : certificate.exact)
        std::cout << "exact: " << sentence << "\n";
    for (const std::string& sentence : certificate.notExact)
        std::cout << "not exact: " << sentence << "\n";
    if (answer.changes.empty())
        return;
    Table table({ "weight", "before", "now" });
    for (const LayoutChange& change : answer.changes)
        table.add({ change.tensor, change.from, change.to });
    std::cout << table.text();
}

std::string whatText(const WhatIf& one)
{
    if (one.kind == WhatIf::Kind::Replicated)
        return withoutLayer(one.tensor) + " on every device";
    return std::string("memory ") + (one.bytes < 0 ? "- " : "+ ") + bytesText(static_cast<std::int64_t>(std::abs(one.bytes)));
}

ordered_json whatIfJson(const WhatIfAnswer& answer)
{
    ordered_json out = ordered_json::array();
    for (const WhatIf& one : answer.cases) {
        ordered_json row { { "what", one.kind == WhatIf::Kind::Memory ? "memory" : "replicated" } };
        if (one.kind == WhatIf::Kind::Memory)
            row["bytes"] = one.bytes;
        else
            row["tensor"] = one.tensor;
        row["feasible"] = one.feasible;
        if (one.feasible)
            row.update({ { "objective", one.objective },
                         { "change", one.change },
                         { "peak_bytes_per_device", one.peakBytes },
                         { "peak_change", one.peakChange } });
        out.push_back(std::move(row));
    }
    return out;
}

void printWhatIf(const WhatIfAnswer& answer, LayoutObjective objective)
{
    Table table({ "what if", objective == LayoutObjective::Memory ? ">objective" : ">step", ">change", ">memory", ">change" });
    const CostLine::Unit unit = objective == LayoutObjective::Memory ? CostLine::Unit::Bytes : CostLine::Unit::Seconds;
    for (const WhatIf& one : answer.cases)
        if (one.feasible)
            table.add({ whatText(one), valueText(one.objective, objective), costDifferenceText(unit, one.change),
                        bytesText(static_cast<std::int64_t>(one.peakBytes)),
                        costDifferenceText(CostLine::Unit::Bytes, one.peakChange) });
        else
            table.add({ whatText(one), "does not fit", "", "", "" });
    std::cout << table.text();
    if (!answer.complete)
        std::cout << "the time was over before all were looked at\n";
}

int reportShort(const OptimizedDesign& answer, const std::string& path, bool json, LayoutObjective objective)
{
    if (json)
        std::cout << jsonText(optimizedJson(answer, objective), 1) << "\n";
    const MemoryByCause& memory = answer.evaluation->plan.memory;
    return report(inputError(path,
                             "no layouts that were tried fit: the least memory is " + bytesText(memory.least) + " at "
                                 + memory.peakAt + ", " + bytesText(static_cast<std::int64_t>(answer.missingBytes))
                                 + " more than the limit of " + bytesText(static_cast<std::int64_t>(answer.limit)),
                             "recompute, use more micro-batches or more devices, or raise --memory"));
}

} // namespace

int optimizeCommand(const Arguments& arguments)
{
    const std::string& path = arguments.positional().front();
    const auto read = readDesign(path);
    if (!read.ok())
        return report(read.error());
    Design design = read.value();
    if (arguments.has("--hardware")) {
        auto hardware = hardwareNamed(arguments.text("--hardware"));
        if (!hardware.ok())
            return report(hardware.error());
        setHardware(design, std::move(hardware).value());
    }
    if (arguments.has("--what-if") && arguments.has("--search"))
        return report(usageError("--what-if", "it is for layouts", "leave --search out"));
    for (const char* option : { "--devices", "--front", "--within" })
        if (arguments.has(option) && !arguments.has("--search"))
            return report(usageError(option, "it is for a search around the layouts", "add --search, such as --search mesh"));
    if (arguments.has("--search")) {
        for (const char* option : { "--keep", "--forbid" })
            if (arguments.has(option))
                return report(usageError(option, "it is for layouts", "leave --search out"));
        const auto limit = memoryLimit(arguments, design);
        return limit.ok() ? searchAndReport(arguments, design, limit.value(), kProcessBegin) : report(limit.error());
    }
    auto options = optionsOf(arguments, design);
    if (!options.ok())
        return report(options.error());
    const InterruptGuard interrupts;
    options.value().cancelled = &InterruptGuard::flag();
    std::optional<WhatIfAnswer> prices;
    Result<OptimizedDesign> answer = OptimizedDesign {};
    if (arguments.has("--what-if")) {
        auto asked = whatIf(design, { .optimize = options.value() });
        if (asked.ok())
            prices = std::move(asked).value();
        answer = asked.ok() ? Result<OptimizedDesign>(prices->best) : Result<OptimizedDesign>(asked.error());
    } else {
        answer = optimizeLayouts(design, options.value());
    }
    if (!answer.ok())
        return report(answer.error().code == ErrorCode::Input ? ofFile(path, answer.error()) : answer.error());
    const LayoutObjective objective = options.value().objective;
    if (!answer.value().feasible)
        return reportShort(answer.value(), path, arguments.has("--json"), objective);
    if (arguments.has("-o"))
        if (const auto status = writeDesign(arguments.text("-o"), answer.value().design); !status.ok())
            return report(status.error());
    if (arguments.has("--json")) {
        ordered_json out = optimizedJson(answer.value(), objective);
        if (prices) {
            out["what_if"] = whatIfJson(*prices);
            out["what_if_complete"] = prices->complete;
        }
        std::cout << jsonText(out, 1) << "\n";
    } else {
        printOptimized(answer.value(), objective);
        if (prices)
            printWhatIf(*prices, objective);
    }
    return kDone;
}

} // namespace shardboard

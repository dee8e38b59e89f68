// SPDX-License-Identifier: Apache-2.0
// shardctl plan: the collectives of a design with their causes, and memory and time per device.
#include "app/ctl/commands.h"
#include "app/ctl/commands/comparetext.h"
#include "app/ctl/commands/partstext.h"
#include "app/ctl/memoryoptions.h"
#include "app/ctl/table.h"
#include "app/ctl/visibleoutput.h"
#include "model/design/evaluate/fitadvice.h"
#include "model/design/optimize/optimize.h"
#include "model/families/window.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/documents/comparejson.h"
#include "model/io/file/textfile.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/measured/predictedtrace.h"
#include "model/io/wire/planjson.h"
#include "model/picker/profilemode.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/plan/pipeline.h"
#include "model/plan/planner/buildplan.h"
#include "model/plan/time/residuals.h"
#include "model/plan/time/traffic.h"
#include "model/plan/time/whytime.h"
#include "model/text/figures.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

namespace shardboard {

namespace {

std::string axesText(const Collective& collective, const Mesh& mesh)
{
    std::vector<std::string> names;
    for (const int axis : collective.axes)
        names.push_back(mesh.axis(axis).name);
    return joined(names);
}

/// `G1`, `shardboard, partials-only`
std::string pickerText(const PickerOptions& options)
{
    return profileName(options.profile)
        + (options.picker == PickerKind::Greedy ? std::string() : ", " + pickerName(options.picker));
}

/// `bf16`, `f8e4m3 (bf16 on a100-sxm-80)`; with the software where that is not the usual one.
std::string computedText(const Design& design)
{
    const Workload& workload = design.workload;
    std::string out = dtypeName(workload.dtype);
    if (const auto hardware = hardwareOf(design);
        hardware.ok() && workload.dtype == DType::F8E4M3 && !hardware.value().device.peak.fp8)
        out += " (computed in bf16: " + hardware.value().device.id + " has no fp8)";
    return out + (workload.software == Software::Fused ? std::string() : ", " + softwareName(workload.software) + " kernels");
}

std::string headline(const Design& design, const Evaluation& evaluation)
{
    return design.model.name + ", " + workloadName(design.workload.kind) + ", batch " + std::to_string(design.workload.batch)
        + ", sequence " + std::to_string(design.workload.sequence)
        + (design.workload.lastLogits() && design.model.kind == ModelKind::Decoder ? ", logits of the last token, " : ", ")
        + computedText(design) + "; mesh " + design.mesh.text() + " (" + countText(design.mesh.deviceCount()) + " devices, "
        + design.hardware + "); picker " + pickerText(design.picker) + "\n" + countText(evaluation.parameters) + " parameters, "
        + bytesText(evaluation.weightBytes) + "\n";
}

/// What goes from stage to stage is between the layers, and not in each of them.
bool isBetweenStages(const Collective& collective, const Plan& plan)
{
    return plan.pipeline && collective.kind == CollectiveKind::SendRecv
        && collective.axes == std::vector<int> { plan.pipeline->axis };
}

/// `forward, block x 32, each: 2 all-reduce over model`; parts without a collective are left out.
std::string perLayer(const Plan& plan)
{
    std::string out;
    const bool phases =
        std::ranges::any_of(plan.segments, [](const PlannedSegment& segment) { return segment.phase != Phase::Forward; });
    for (std::size_t i = 0; i < plan.segments.size(); ++i) {
        std::map<std::string, int> counts;
        for (const Collective& collective : plan.collectives)
            if (collective.plannedSegment == PlannedSegmentId(i) && collective.isCall() && !isBetweenStages(collective, plan))
                ++counts[collectiveName(collective.kind) + " over " + axesText(collective, plan.mesh)];
        const PlannedSegment& segment = plan.segments[i];
        std::vector<std::string> parts;
        for (const auto& [what, count] : counts)
            parts.push_back(std::to_string(count) + " " + what);
        if (segment.host.toHost > 0)
            parts.push_back(bytesText(segment.host.toHost) + " to the host");
        if (segment.host.toDevice > 0)
            parts.push_back(bytesText(segment.host.toDevice) + " from the host");
        if (parts.empty())
            continue;
        out += "  " + (phases ? phaseName(segment.phase) + ", " : std::string()) + segment.name
            + (segment.count > 1 ? " x " + std::to_string(segment.count) + ", each" : std::string()) + ": " + joined(parts) + "\n";
    }
    for (const Collective& collective : plan.collectives)
        if (isBetweenStages(collective, plan))
            out += "  between stages: " + std::to_string(collective.count) + " a step, " + collective.cause + "\n";
    return out.empty() ? out : "In each part of the model\n" + out + "\n";
}

std::string collectivesTable(const Evaluation& evaluation)
{
    const Plan& plan = evaluation.plan;
    Table table(
        { ">count", "collective", "over", ">group", "link", "algorithm", "tensor", ">bytes", ">time", "wanted by", "caused by" });
    for (const Collective& c : plan.collectives) {
        const PlannedSegment& segment = plan.segments[static_cast<std::size_t>(c.plannedSegment)];
        const std::int64_t groups = plan.mesh.deviceCount() / c.groupSize;
        table.add({ c.joins ? "joined" : std::to_string(c.count), collectiveName(c.kind), axesText(c, plan.mesh),
                    std::to_string(groups) + " x " + std::to_string(c.groupSize), c.link, c.algorithm,
                    evaluation.graph.tensor(c.tensor).name, bytesText(c.bytes), secondsText(c.seconds),
                    segment.name + "/" + evaluation.graph.op(c.op).name, c.cause });
    }
    if (table.empty())
        return "No collective: every operation finds its operands where it needs them.\n";
    return "Collectives in one step (bytes: large side on one device, per call)\n" + table.text();
}

std::string memoryText(const MemoryByCause& memory)
{
    Table table({ "memory per device, at the peak", ">bytes", ">" });
    const auto add = [&](const std::string& name, std::int64_t bytes) { table.add({ name, countText(bytes), bytesText(bytes) }); };
    for (const MemoryCause& cause : memoryCauses()) {
        // Of training gradients are told even where none are there yet at the moment of the peak.
        const bool training = cause.bytes == &MemoryBytes::gradients && memory.optimizer > 0;
        if (cause.always || training || memory.*cause.bytes > 0)
            add(cause.name, memory.*cause.bytes);
        if (cause.bytes == &MemoryBytes::activations && memory.kept > 0)
            add("  kept for the backward pass", memory.kept);
    }
    add("peak" + (memory.peakAt.empty() ? std::string() : " at " + memory.peakAt), memory.peak);
    return table.text(0);
}

/// `in the memory of the host: 28.2 GiB a device, of 256 GiB`; empty where nothing is offloaded.
std::string hostText(const Plan& plan, const Hardware& hardware)
{
    const std::int64_t bytes = hostBytes(plan);
    if (bytes == 0)
        return {};
    const auto limit = static_cast<std::int64_t>(hostLinkOf(hardware.device).memoryBytes);
    return "in the memory of the host: " + bytesText(bytes) + " a device" + (limit > 0 ? ", of " + bytesText(limit) : std::string())
        + "\n";
}

/// `peaks of the stages: 70 GiB, 66 GiB; the fullest is stage 0`
std::string stagesText(const PlannedPipeline& pipeline)
{
    std::vector<std::string> peaks;
    for (const MemoryByCause& stage : pipeline.memory)
        peaks.push_back(bytesText(stage.peak));
    std::string out =
        "peaks of the stages: " + joined(peaks) + "; the fullest is stage " + std::to_string(pipeline.fullestStage) + "\n";
    if (pipeline.runEnds.empty())
        return out;
    std::vector<std::int64_t> layers;
    for (std::int64_t run = 0; run < pipeline.stages * pipeline.chunks; ++run)
        layers.push_back(layersOfRun(pipeline, run).size());
    return out + "layers of the " + (pipeline.chunks > 1 ? "runs" : "stages") + ": " + stageLayersText(layers)
        + "; the busiest is stage " + std::to_string(pipeline.busiestStage) + "\n";
}

/// `computed again for the backward pass of block: attention in, mlp in`
std::string recomputedText(const Evaluation& evaluation)
{
    std::string out;
    for (const PlannedSegment& segment : evaluation.plan.segments)
        if (const auto names = recomputedIn(evaluation.graph, segment); !names.empty())
            out += "computed again for the backward pass of " + segment.name + ": " + joined(names) + "\n";
    return out;
}

/// `5,762`, `0.34`
std::string rateText(double rate) { return rate < 10 ? formatted("%.2f", rate) : countText(std::llround(rate)); }

/// What P and the 12Lhs count that is not computed. A tied table is that of the logits, too.
std::string mfuNote(const ModelSpec& model)
{
    return std::string("that counts ")
        + (model.tiedEmbeddings ? "" : "the embedding's table, in which rows are only looked up, and ")
        + "all of causal attention, of which kernels compute half";
}

/// `5,762 tok/s/device, MFU 38.6 % (6P + 12Lhs), HFU 43.1 %`
std::string performanceText(const ModelSpec& model, const Performance& performance)
{
    if (performance.tokensPerSecondPerDevice <= 0)
        return {};
    std::string out = rateText(performance.tokensPerSecondPerDevice) + " tok/s/device";
    if (performance.mfu > 0)
        out += ", MFU " + figures::percent(performance.mfu) + " (6P + 12Lhs FLOPs a token of training, a third of it for inference"
            + (performance.mfu > 1 ? "; " + mfuNote(model) + ")" : ")");
    if (performance.recomputing > 1 || performance.padding > 1)
        out += ", HFU " + figures::percent(performance.hfu) + " with "
            + (performance.recomputing > 1 ? "what is computed again" : "")
            + (performance.recomputing > 1 && performance.padding > 1 ? " and " : "")
            + (performance.padding > 1 ? "what pads experts" : "");
    return out + "\n";
}

/// What the figures of a plan do not say by themselves.
std::vector<std::string> notesOf(const Design& design, const Plan& plan)
{
    std::vector<std::string> notes;
    if (plan.performance.mfu > 1)
        notes.push_back("mfu is above 1: " + mfuNote(design.model));
    if (const double capacity = design.workload.capacityFactor; design.model.moe.present() && capacity > 0 && capacity < 1)
        notes.push_back("experts take " + figures::percent(capacity)
                        + " of what tokens send to them, and the rest is dropped: the model's FLOPs leave it out");
    if (const std::string windows = windowText(design.model, design.workload.sequence); !windows.empty())
        notes.push_back(windows);
    return notes;
}

nlohmann::json fitJson(const FitAdvice& advice)
{
    const auto option = [](const FitOption& o) {
        return nlohmann::json { { "what", o.what },
                                { "peak_bytes", o.peakBytes },
                                { "seconds", o.seconds },
                                { "lost_seconds", o.lostSeconds }, // below 0: faster

                                { "devices", o.devices } };
    };
    nlohmann::json out {
        { "fits", advice.fits() },          { "verdict", fitName(advice.fit()) }, { "least_bytes", advice.leastBytes },
        { "most_bytes", advice.mostBytes }, { "limit_bytes", advice.limitBytes }, { "missing_bytes", advice.missing() },
        { "tried", advice.tried },          { "fixes", nlohmann::json::array() }
    };
    for (const FitOption& fix : advice.fixes)
        out["fixes"].push_back(option(fix));
    if (!advice.nearest.empty())
        out["nearest"] = option(advice.nearest.front());
    return out;
}

/// Sets what an option names; an unknown name is a usage error.
template <class T, class FromName>
Status choose(const Arguments& arguments, const char* option, T& value, FromName fromName, const char* what, const char* known)
{
    if (!arguments.has(option))
        return done();
    const std::string text = arguments.text(option);
    const std::optional<T> named = fromName(text);
    if (!named)
        return usageError(option, std::string("there is no ") + what + " '" + text + "'", std::string("use ") + known);
    value = *named;
    return done();
}

std::optional<TransitionSet> transitionsFrom(const std::string& text)
{
    if (const auto named = TransitionSet::named(text))
        return named;
    TransitionSet set;
    for (const std::string_view pair : split(std::string_view(text), ','))
        if (!set.add(pair))
            return std::nullopt;
    return set;
}

/// No picker of operations: all layouts are chosen at once, and each operation then takes its row.
constexpr const char* kOptimalPicker = "optimal";

/// The options of one run in place of those of the design.
Status choosePicker(const Arguments& arguments, PickerOptions& options)
{
    Status status = done();
    if (arguments.text("--picker") != kOptimalPicker)
        status = choose(arguments, "--picker", options.picker, pickerFromName, "picker", "greedy, partials-only, none or optimal");
    PickerProfile profile = options.profile;
    if (status.ok())
        status = choose(arguments, "--profile", profile, profileFromName, "profile", kProfileList);
    chooseProfile(options, profile);
    if (status.ok())
        status = choose(arguments, "--on-reshard", options.onReshard, onReshardFromName, "mode", "silent, warn or raise");
    if (status.ok())
        status = choose(arguments, "--allow-transitions", options.allowedTransitions, transitionsFrom, "set of transitions",
                        "DEFAULT, ALL, or pairs such as P->R,S->R");
    if (!status.ok())
        return status;
    const auto budget = arguments.integer("--budget", options.budgetBytes(), 0, std::int64_t { 1 } << 62);
    if (!budget.ok())
        return budget.error();
    options.setBudgetBytes(budget.value());
    if (arguments.has("--allow-partial-to-sharded"))
        options.allowPartialToSharded = true;
    return done();
}

Status chooseRun(const Arguments& arguments, Design& design)
{
    if (arguments.has("--hardware")) {
        auto hardware = hardwareNamed(arguments.text("--hardware"));
        if (!hardware.ok())
            return hardware.error();
        setHardware(design, std::move(hardware).value());
    }
    if (auto status = chooseMemory(arguments, design.memory); !status.ok())
        return status;
    if (auto status = choosePicker(arguments, design.picker); !status.ok())
        return status;
    if (arguments.text("--picker") != kOptimalPicker)
        return done();
    OptimizeOptions options;
    const auto memory = usableMemory(design);
    if (!memory.ok())
        return memory.error();
    options.memoryBytes = memory.value();
    auto optimized = optimizeLayouts(design, options);
    if (!optimized.ok())
        return optimized.error();
    design = std::move(optimized.value().design);
    return done();
}

/// What a device sends over each level of the hardware in a step.
nlohmann::json trafficJson(const Evaluation& evaluation, const Design& design)
{
    auto out = nlohmann::json::array();
    const auto hardware = hardwareOf(design);
    if (!hardware.ok())
        return out;
    const auto traffic = trafficOf(evaluation.graph, evaluation.plan, hardware.value());
    for (std::size_t level = 0; level < traffic.size(); ++level)
        out.push_back({ { "level", level },
                        { "fabric", fabricName(hardware.value().levels[level].fabric) },
                        { "link", hardware.value().levels[level].link.id },
                        { "bytes_per_device", traffic[level].bytes },
                        { "collective_seconds", traffic[level].seconds } });
    return out;
}

/// In words what a row of TimeCause is about.
std::string causeText(const TimeCause& cause)
{
    switch (cause.kind) {
    case TimeCauseKind::Compute:
        return cause.what + ", limited by the units that compute";
    case TimeCauseKind::Memory:
        return cause.what + ", limited by the memory's bandwidth";
    case TimeCauseKind::Start:
        return "starting kernels, and waiting for the host";
    case TimeCauseKind::Collective:
        return "collectives that are not hidden: " + cause.what;
    case TimeCauseKind::Bubble:
        break;
    }
    return "waiting for other stages";
}

std::string whyTimeText(const std::vector<TimeCause>& causes, double step)
{
    Table table({ "what a device's step is made of", ">time", ">share" });
    for (const TimeCause& cause : causes)
        table.add(
            { causeText(cause), secondsText(cause.seconds), formatted("%.1f %%", step > 0 ? 100 * cause.seconds / step : 0) });
    table.add({ "step", secondsText(step), "100 %" });
    return table.text(0);
}

/// `likely 1.2 s to 1.5 s, as 24 published steps: GPUs, dense models (…)`
std::string rangeText(const PredictedRange& range, std::string (*text)(double))
{
    return "likely " + text(range.least) + " to " + text(range.most) + ", as " + range.from + "\n";
}

/// Both lines where there is such a range.
std::string rangesText(const Evaluation& evaluation, const Hardware& hardware)
{
    std::string out;
    if (const auto range = stepRange(evaluation.graph, evaluation.plan, hardware))
        out += "step: " + rangeText(*range, [](double seconds) { return secondsText(seconds); });
    if (const auto range = memoryRange(evaluation.graph, evaluation.plan, hardware))
        out += "memory: " + rangeText(*range, [](double bytes) { return bytesText(std::llround(bytes)); });
    return out;
}

/// Keys `least`, `most` and `from`; null where nothing of the kind was published.
nlohmann::json rangeJson(const std::optional<PredictedRange>& range)
{
    if (!range)
        return nullptr;
    return { { "least", range->least }, { "most", range->most }, { "from", range->from } };
}

/// `[{kind, what, seconds, share}]`, the longest first; the seconds add up to the step.
nlohmann::json whyTimeJson(const std::vector<TimeCause>& causes, double step)
{
    nlohmann::json out = nlohmann::json::array();
    for (const TimeCause& cause : causes)
        out.push_back({ { "kind", timeCauseName(cause.kind) },
                        { "what", cause.what },
                        { "seconds", cause.seconds },
                        { "share", step > 0 ? cause.seconds / step : 0 } });
    return out;
}

/// The other design as it is in its file: options of this run are of the first one.
int compareWith(const OpenDesign& design, const Arguments& arguments)
{
    const std::string otherPath = arguments.text("--against");
    const auto other = openDesign(otherPath);
    if (!other.ok())
        return report(other.error());
    const DesignComparison comparison =
        compareDesigns(other.value().design, *other.value().evaluation, design.design, *design.evaluation);
    if (arguments.has("--json"))
        std::cout << jsonText(comparisonToJson(comparison), 1) << "\n";
    else
        std::cout << comparisonText(comparison, std::filesystem::path(otherPath).filename().string(),
                                    std::filesystem::path(arguments.positional().front()).filename().string());
    return kDone;
}

} // namespace

int planCommand(const Arguments& arguments)
{
    const auto opened =
        openDesign(arguments.positional().front(), Misfits::Refuse, [&](Design& design) { return chooseRun(arguments, design); });
    if (!opened.ok())
        return report(opened.error());
    const Design& design = opened.value().design;
    const Evaluation& evaluation = *opened.value().evaluation;
    if (arguments.has("--against"))
        return compareWith(opened.value(), arguments);
    std::vector<TimeCause> causes;
    std::string ranges;
    const auto hardware = hardwareOf(design);
    if (hardware.ok()) {
        causes = whyTime(evaluation.graph, evaluation.plan, hardware.value());
        ranges = rangesText(evaluation, hardware.value());
    }
    std::optional<StepTimeline> timeline;
    if (arguments.has("--timeline")) {
        if (!design.model.hasGraph())
            return report(inputError("--timeline", "this model has no operations to show", "use a model with a graph"));
        timeline.emplace(evaluation.graph, evaluation.plan, evaluation.plan.kernelShare);
        const std::string text = jsonText(predictedTrace(evaluation.graph, evaluation.plan, *timeline)) + "\n";
        if (const auto written = writeFileAtomically(arguments.text("--timeline"), text); !written.ok())
            return report(written.error());
    }
    if (arguments.has("--json")) {
        for (const DesignFinding& finding : evaluation.findings)
            if (finding.kind == "reshard") // else all findings are told at the end
                printFinding(finding);
        auto document = planToJson(evaluation.graph, evaluation.plan);
        document["parameters"] = evaluation.parameters;
        document["parts"] = partsJson(evaluation.graph, evaluation.plan);
        document["notes"] = notesOf(design, evaluation.plan);
        document["traffic"] = trafficJson(evaluation, design);
        if (hardware.ok()) {
            document["totals"]["seconds_range"] = rangeJson(stepRange(evaluation.graph, evaluation.plan, hardware.value()));
            document["memory"]["range_bytes"] = rangeJson(memoryRange(evaluation.graph, evaluation.plan, hardware.value()));
        }
        document["why_time"] = whyTimeJson(causes, evaluation.plan.seconds());
        if (timeline)
            document["timeline"] = timelineJson(evaluation.plan, *timeline);
        if (const auto advice = fitAdvice(design); advice.ok())
            document["memory"]["fit"] = fitJson(advice.value());
        std::cout << jsonText(document, 1) << "\n";
        return kDone;
    }
    std::cout << headline(design, evaluation) << "\n";
    if (design.model.hasGraph())
        std::cout << collectivesTable(evaluation) << "\n" << perLayer(evaluation.plan);
    if (arguments.has("--parts") && design.model.hasGraph())
        std::cout << partsText(evaluation.graph, evaluation.plan) << "\n";
    if (arguments.has("--why-time") && design.model.hasGraph())
        std::cout << whyTimeText(causes, evaluation.plan.seconds()) << "\n";
    std::cout << memoryText(evaluation.plan.memory) << (hardware.ok() ? hostText(evaluation.plan, hardware.value()) : std::string())
              << recomputedText(evaluation);
    if (const auto& pipeline = evaluation.plan.pipeline)
        std::cout << "pipeline of " << pipeline->stages << (pipeline->stages == 1 ? " stage over " : " stages over ")
                  << evaluation.plan.mesh.axis(pipeline->axis).name << ", "
                  << (pipeline->chunks > 1 ? "interleaved, " + std::to_string(pipeline->chunks) + " runs of layers on each"
                                           : scheduleTitle(pipeline->schedule, 1))
                  << ": " << evaluation.plan.microBatches << " micro-batches, bubble "
                  << figures::percent(evaluation.plan.seconds() > 0 ? pipeline->bubbleSeconds() / evaluation.plan.seconds() : 0)
                  << " of the step; predicted step: " << secondsText(evaluation.plan.seconds()) << " = "
                  << secondsText(pipeline->stageSeconds) << " of the busiest stage + bubble "
                  << secondsText(pipeline->bubbleSeconds()) << " + update " << secondsText(pipeline->updateSeconds) << "\n";
    else if (design.model.hasGraph())
        std::cout << "predicted step: " << secondsText(evaluation.plan.seconds()) << " = compute "
                  << secondsText(evaluation.plan.computeSeconds) << " + collectives " << secondsText(evaluation.plan.exposedSeconds)
                  << (design.workload.overlap == Overlap::None
                          ? std::string()
                          : " of " + secondsText(evaluation.plan.collectiveSeconds) + ", the rest beside the computation")
                  << "\n";
    if (const auto& pipeline = evaluation.plan.pipeline)
        std::cout << stagesText(*pipeline);
    std::cout << ranges << performanceText(design.model, evaluation.plan.performance);
    if (const std::string windows = windowText(design.model, design.workload.sequence); !windows.empty())
        std::cout << windows << "\n";
    if (const auto advice = fitAdvice(design); advice.ok())
        std::cout << fitText(advice.value()) << "\n";
    printFindings(evaluation.findings);
    return kDone;
}

} // namespace shardboard

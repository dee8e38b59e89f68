// SPDX-License-Identifier: Apache-2.0
// What `shardctl run` shows: progress while it runs, the table of operations at the end.
#include "app/ctl/commands/runreport.h"
#include "app/ctl/commands.h"
#include "app/ctl/commands/runtable.h"
#include "app/ctl/table.h"
#include "app/ctl/terminal.h"
#include "app/ctl/visibleoutput.h"
#include "app/worker/runinworker.h"
#include "model/core/statistics.h"
#include "model/io/design/designfile.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/measured/profiledocument.h"
#include "model/io/measured/projection.h"
#include "model/io/measured/trace.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

namespace shardboard {

namespace {

void printProfile(const RunProfile& profile)
{
    const MachineLimits& limits = profile.limits;
    print("\nprofile, %s, %lld worker %s; products %.0f GFLOP/s and copies %.1f GB/s (read and written) of one thread, %.0f and "
          "%.1f of all\n",
          profileModeName(profile.mode).c_str(), static_cast<long long>(profile.workers),
          profile.workers == 1 ? "thread" : "threads", limits.gemmFlopsOne / 1e9, limits.copyBytesOne / 1e9,
          limits.gemmFlopsAll / 1e9, limits.copyBytesAll / 1e9);
    const std::vector<ProfileSummary> summaries = summarize(profile);
    Table table({ "operation", "kind", ">samples", ">median", ">quartiles", ">of the limit", ">algbw", ">busbw" });
    for (std::size_t i = 0; i < summaries.size(); ++i) {
        const ProfileOperation& operation = profile.operations[i];
        const ProfileSummary& summary = summaries[i];
        if (summary.samples.empty())
            continue;
        const Spread spread = spreadOf(summary.samples);
        const double share = std::max(summary.gemmShare, summary.copyShare);
        const double rate = summary.seconds > 0 ? static_cast<double>(operation.bytes) / summary.seconds / 1e9 : 0;
        table.add({ operation.id, operation.kind, std::to_string(summary.samples.size()), secondsText(spread.median),
                    secondsText(spread.quartile1) + " to " + secondsText(spread.quartile3),
                    share > 0 ? formatted("%.0f %% %s", 100 * share, summary.gemmShare >= summary.copyShare ? "gemm" : "copy") : "",
                    operation.collective ? formatted("%.1f GB/s", rate) : "",
                    operation.collective ? formatted("%.1f GB/s", rate * busFactor(operation.kind, operation.groupSize)) : "" });
    }
    std::cout << table.text();
    if (profile.leftOut > 0)
        print("%lld executions were not kept, because there were too many\n", static_cast<long long>(profile.leftOut));
}

void printMemory(const RunProfile& profile, const MemoryPrediction& predicted)
{
    const ProfiledDevice* most = nullptr;
    for (const ProfiledDevice& device : profile.devices)
        if (most == nullptr || device.peakBytes > most->peakBytes)
            most = &device;
    if (most == nullptr)
        return;
    print("memory: %s held most, %s at %s", most->name.c_str(), bytesText(most->peakBytes).c_str(), most->peakAt.c_str());
    if (predicted.inRunBytes > 0)
        print("; the plan has %s for what a run holds (%s)", bytesText(predicted.inRunBytes).c_str(), predicted.note.c_str());
    print("\n");
}

void printProjection(const Projection& projection)
{
    print("projected on %s: a step of what ran %s = %s computing + %s communicating\n", projection.target.c_str(),
          secondsText(projection.stepSeconds()).c_str(), secondsText(projection.computeSeconds).c_str(),
          secondsText(projection.collectiveSeconds).c_str());
    if (projection.notRun.empty() && projection.pipeline && projection.pipeline->stages > 1) {
        const PlannedPipeline& pipeline = *projection.pipeline;
        print("  the whole model: %s = %s of the busiest stage + %s in which it waits + %s updating\n",
              secondsText(projection.wholeSeconds()).c_str(), secondsText(pipeline.stageSeconds).c_str(),
              secondsText(pipeline.bubbleSeconds()).c_str(), secondsText(pipeline.updateSeconds).c_str());
        print("    of all %lld stages together %s computing and %s communicating", static_cast<long long>(pipeline.stages),
              secondsText(projection.wholeComputeSeconds).c_str(), secondsText(projection.wholeCollectiveSeconds).c_str());
        if (projection.overlap != Overlap::None) // the difference of two sums: without overlap it is what their rounding leaves
            print(", of which %s hide behind computation",
                  secondsText(std::max(0.0, projection.wholeCollectiveSeconds - projection.exposedSeconds)).c_str());
        print("\n");
    } else if (projection.notRun.empty()) {
        print("  the whole model: %s = %s computing + %s communicating that nothing hides, of %s\n",
              secondsText(projection.wholeSeconds()).c_str(), secondsText(projection.wholeComputeSeconds).c_str(),
              secondsText(projection.exposedSeconds).c_str(), secondsText(projection.wholeCollectiveSeconds).c_str());
    }
    print("  %s\n", projection.statement().c_str());
}

/// What the plan says of the part of a device's memory that a run holds: weights are made up where they are used, and
/// everything is float32.
MemoryPrediction predictionOf(const Plan& plan, const RunCommand& command)
{
    MemoryPrediction out;
    out.peakBytes = plan.memory.peak;
    if (command.options.layers > 0 || !command.options.ends) {
        out.note = "not all layers ran";
        return out;
    }
    const MemoryBytes& memory = plan.memory;
    const double planned = static_cast<double>(memory.activations + memory.logits + memory.gathered + memory.reshard);
    out.inRunBytes = static_cast<std::int64_t>(planned * 32 / static_cast<double>(bitsOf(command.dtype))) + memory.gradients;
    out.note = "activations, logits, gathered weights, reshards in float32, and gradients; weights and cache exist only while they "
               "are read";
    return out;
}

Status writeFiles(const RunCommand& command, const RunResult& result, const RunProfile& profile, const MemoryPrediction& predicted,
                  const std::optional<Projection>& projection)
{
    if (!command.profilePath.empty()) {
        nlohmann::json document = profileDocument(result, profile, predicted);
        if (projection)
            document["projection"] = toJson(*projection);
        if (auto status = writeFileAtomically(command.profilePath, jsonText(document, 1) + "\n"); !status.ok())
            return status;
    }
    if (!command.tracePath.empty()) {
        const nlohmann::json document = traceDocument(profile);
        return writeFileAtomically(command.tracePath, jsonText(document) + "\n");
    }
    return done();
}

} // namespace

int executeRun(const Graph& graph, const Plan& plan, const RunCommand& command)
{
    for (const std::string& path : { command.profilePath, command.tracePath })
        if (auto status = checkWritable(path); !status.ok())
            return report(status.error());
    ProgressLine line;
    RunProfile profile;
    RunReports reports;
    reports.waiting = [](const std::string& what) { std::cerr << visibleText(what) << "\n"; };
    reports.announce = [](std::int64_t bytes, double seconds) {
        std::fprintf(stderr, "needs %s of memory and about %s on this machine\n", bytesText(bytes).c_str(),
                     secondsText(seconds).c_str());
    };
    reports.progress = [&](std::int64_t step, std::int64_t of, const std::string& what) { line.show(step, of, what); };
    reports.profile = [&](RunProfile measured) { profile = std::move(measured); };
    const auto result = [&] {
        const InterruptGuard guard;
        return runInWorker(graph, plan, command.options, command.engine, reports, InterruptGuard::flag());
    }();
    line.clear();
    if (result.cancelled()) {
        std::fputs("cancelled\n", stderr);
        return kCancelled;
    }
    if (!result.ok())
        return report(result.error());
    std::optional<Projection> projection;
    if (!command.projectTo.empty())
        projection = project(result.value(), graph, plan, command.projectTo);
    const MemoryPrediction predicted = predictionOf(plan, command);
    // The result is shown even where a file could not be written: the run may have taken long.
    Status written = writeFiles(command, result.value(), profile, predicted, projection);
    if (command.keep)
        if (auto kept = command.keep(result.value(), profile); written.ok())
            written = kept;
    if (command.json) {
        nlohmann::json document = toJson(result.value());
        if (projection)
            document["projection"] = toJson(*projection);
        std::cout << jsonText(document, 2) << "\n";
    } else {
        std::cout << runTable(result.value()) << "\n" << runSummary(result.value());
        if (profile.mode != ProfileMode::None) {
            printProfile(profile);
            printMemory(profile, predicted);
        }
        if (projection)
            printProjection(*projection);
    }
    if (!written.ok())
        return report(written.error());
    return result.value().compared && !result.value().verified ? kFindings : kDone;
}

} // namespace shardboard

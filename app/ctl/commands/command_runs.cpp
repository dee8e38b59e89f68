// SPDX-License-Identifier: Apache-2.0
// shardctl runs: those that `shardctl run --keep` and the window have kept.
#include "app/ctl/commands.h"
#include "app/ctl/commands/runtable.h"
#include "app/ctl/table.h"
#include "app/ctl/visibleoutput.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/runs/keptruns.h"
#include "model/text/numbers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <tuple>
#include <utility>

namespace shardboard {

namespace {

using nlohmann::ordered_json;

std::string verifiedText(const RunResult& result) { return !result.compared ? "not asked" : result.verified ? "yes" : "NO"; }

ordered_json aboutJson(const KeptRun& run)
{
    if (!run.problem.empty())
        return { { "name", run.name }, { "bytes", run.bytes }, { "error", run.problem } };
    return { { "name", run.name },
             { "made", run.made },
             { "design", run.design },
             { "hardware", run.hardware },
             { "mesh", run.mesh },
             { "backend", run.result.backend },
             { "layers", run.result.layers },
             { "steps", run.result.steps },
             { "step_seconds", run.result.stepMedian },
             { "predicted_step_seconds", run.result.predictedStepSeconds },
             { "verified", run.result.compared ? ordered_json(run.result.verified) : ordered_json() },
             { "bytes", run.bytes } };
}

int listRuns(const std::string& root, bool json)
{
    const auto runs = keptRuns(root);
    if (!runs.ok())
        return report(runs.error());
    std::int64_t bytes = 0;
    ordered_json list = ordered_json::array();
    Table table({ "name", "made", "mesh", "backend", ">layers", ">step", "verified", ">on disk" });
    for (const KeptRun& run : runs.value()) {
        bytes += run.bytes;
        list.push_back(aboutJson(run));
        if (run.problem.empty())
            table.add({ run.name, run.made, run.mesh, run.result.backend, std::to_string(run.result.layers),
                        secondsText(run.result.stepMedian), verifiedText(run.result), bytesText(run.bytes) });
        else
            std::cerr << "warning: " << visibleText(run.problem) << "\n";
    }
    if (json) {
        std::cout << jsonText(ordered_json { { "folder", root }, { "bytes", bytes }, { "runs", std::move(list) } }) << "\n";
        return kDone;
    }
    std::cout << (table.empty() ? "no run is kept" : table.text()) << (table.empty() ? "" : "\n")
              << (table.empty() ? " in " : "in ") << visibleText(root);
    if (bytes > 0)
        std::cout << ", " << bytesText(bytes);
    std::cout << "\n";
    return kDone;
}

int showRun(const std::string& root, const std::string& name, bool json)
{
    const auto run = keptRun(root, name);
    if (!run.ok())
        return report(run.error());
    if (json) {
        ordered_json out = aboutJson(run.value());
        out["design_file"] = keptDesignPath(root, name);
        out["run"] = toJson(run.value().result);
        std::cout << jsonText(out, 2) << "\n";
        return kDone;
    }
    std::cout << name << ", " << run.value().made << ": " << run.value().design << " on mesh " << run.value().mesh
              << ", planned for " << run.value().hardware << "\n  " << visibleText(keptDesignPath(root, name)) << "\n\n"
              << runTable(run.value().result) << "\n"
              << runSummary(run.value().result);
    return kDone;
}

int compareTwo(const std::string& root, const std::string& a, const std::string& b, bool json)
{
    const auto first = keptRun(root, a);
    if (!first.ok())
        return report(first.error());
    const auto second = keptRun(root, b);
    if (!second.ok())
        return report(second.error());
    const double before = first.value().result.stepMedian;
    const double after = second.value().result.stepMedian;
    const auto differences = compareRuns(first.value().result, second.value().result);
    if (json) {
        ordered_json list = ordered_json::array();
        for (const RunDifference& one : differences)
            list.push_back({ { "id", one.id },
                             { "kind", one.kind },
                             { "a_seconds", one.countA > 0 ? ordered_json(one.a) : ordered_json() },
                             { "b_seconds", one.countB > 0 ? ordered_json(one.b) : ordered_json() },
                             { "a_count", one.countA },
                             { "b_count", one.countB },
                             { "lost_seconds", one.lost() } });
        std::cout << jsonText(ordered_json {
            { "a", aboutJson(first.value()) }, { "b", aboutJson(second.value()) }, { "operations", std::move(list) } })
                  << "\n";
        return kDone;
    }
    std::cout << "a step: " << secondsText(before) << " in " << a << ", " << secondsText(after) << " in " << b;
    if (before > 0)
        std::cout << formatted(" (%+.1f %%)", 100 * (after / before - 1));
    std::cout << "\n";
    for (const auto& [what, x, y] :
         { std::tuple { "mesh", first.value().mesh, second.value().mesh },
           std::tuple { "backend", first.value().result.backend, second.value().result.backend },
           std::tuple { "layers", std::to_string(first.value().result.layers), std::to_string(second.value().result.layers) } })
        if (x != y)
            std::cout << "  " << what << ": " << x << " and " << y << "\n";
    Table table({ "operation", "kind", ">times", ">seconds each", ">in the other", ">of a step" });
    for (const RunDifference& one : differences)
        table.add({ one.id, one.kind,
                    one.countA == one.countB ? std::to_string(one.countA)
                                             : std::to_string(one.countA) + " and " + std::to_string(one.countB),
                    one.countA > 0 ? secondsText(one.a) : "-", one.countB > 0 ? secondsText(one.b) : "-",
                    (one.lost() < 0 ? "-" : "+") + secondsText(std::abs(one.lost())) });
    std::cout << "\n" << table.text();
    return kDone;
}

} // namespace

int runsCommand(const Arguments& arguments)
{
    const std::string& what = arguments.positional().front();
    const std::size_t names = arguments.positional().size() - 1;
    const bool json = arguments.has("--json");
    const std::string root = arguments.text("--folder", defaultRunsFolder());
    if (root.empty())
        return report(usageError("--folder", "there is no home folder with kept runs", "give a folder"));
    constexpr std::pair<std::string_view, std::size_t> kActions[] = {
        { "list", 0 }, { "show", 1 }, { "compare", 2 }, { "rename", 2 }, { "delete", 1 }
    };
    const auto action = std::ranges::find(kActions, what, &std::pair<std::string_view, std::size_t>::first);
    if (action == std::end(kActions))
        return report(
            usageError("shardctl runs", "'" + what + "' is nothing to do with runs", "use list, show, compare, rename, or delete"));
    if (names != action->second)
        return report(usageError("shardctl runs " + what,
                                 "it takes " + counted(static_cast<std::int64_t>(action->second), "name") + ", and there are "
                                     + std::to_string(names),
                                 "see shardctl runs --help"));
    if (what == "list")
        return listRuns(root, json);
    const std::string& name = arguments.positional()[1];
    if (what == "show")
        return showRun(root, name, json);
    if (what == "compare")
        return compareTwo(root, name, arguments.positional()[2], json);
    const Status status = what == "delete" ? removeRun(root, name) : renameRun(root, name, arguments.positional()[2]);
    if (!status.ok())
        return report(status.error());
    if (json)
        std::cout << jsonText(ordered_json { { "folder", root }, { what == "delete" ? "deleted" : "renamed", name } }) << "\n";
    return kDone;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// shardctl trace: what a trace says, and which of its collectives are those of a plan.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"

#include "model/core/statistics.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/trace/matchtrace.h"
#include "model/io/trace/readtrace.h"
#include "model/text/numbers.h"
#include "model/text/visibletext.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <map>
#include <tuple>

namespace shardboard {

namespace {

using nlohmann::ordered_json;

double secondsOf(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

/// Collectives of a trace that are alike.
struct AlikeCollectives {
    std::int64_t count = 0;
    std::int64_t total = 0; ///< nanoseconds
    std::vector<double> seconds;
};
using AlikeKey = std::tuple<CollectiveKind, std::int64_t, std::int64_t, std::int64_t>; // kind, bytes, elements, size of the group

std::map<AlikeKey, AlikeCollectives> alike(const Trace& trace)
{
    std::map<AlikeKey, AlikeCollectives> out;
    for (const TraceCollective& collective : trace.collectives) {
        AlikeCollectives& all = out[{ collective.kind, collective.bytes, collective.elements, collective.groupSize }];
        const std::int64_t duration = trace.slices[collective.slice].duration;
        ++all.count;
        all.total += duration;
        all.seconds.push_back(secondsOf(duration));
    }
    return out;
}

ordered_json lanesJson(const Trace& trace)
{
    ordered_json out = ordered_json::array();
    for (const TraceLane& lane : trace.lanes)
        out.push_back({ { "process", lane.process },
                        { "thread", lane.thread },
                        { "slices", lane.count },
                        { "busy_seconds", secondsOf(lane.busy) } });
    return out;
}

ordered_json collectivesJson(const Trace& trace)
{
    ordered_json out = ordered_json::array();
    for (const auto& [key, all] : alike(trace)) {
        const auto& [kind, bytes, elements, groupSize] = key;
        ordered_json row { { "kind", collectiveName(kind) },
                           { "count", all.count },
                           { "seconds", median(all.seconds) },
                           { "total_seconds", secondsOf(all.total) } };
        row["bytes"] = bytes > 0 ? ordered_json(bytes) : ordered_json();
        row["elements"] = elements > 0 ? ordered_json(elements) : ordered_json();
        row["group_size"] = groupSize > 0 ? ordered_json(groupSize) : ordered_json();
        out.push_back(std::move(row));
    }
    return out;
}

std::vector<double> inSeconds(const std::vector<std::int64_t>& nanoseconds)
{
    std::vector<double> out;
    out.reserve(nanoseconds.size());
    for (const std::int64_t one : nanoseconds)
        out.push_back(secondsOf(one));
    return out;
}

ordered_json matchJson(const TraceMatch& match, const Plan& plan, const std::string& hardware)
{
    ordered_json matched = ordered_json::array();
    for (const auto& [id, nanoseconds] : match.nanoseconds) {
        const Collective& collective = plan.collective(id);
        matched.push_back({ { "id", collective.id },
                            { "kind", collectiveName(collective.kind) },
                            { "bytes", collective.bytes },
                            { "count_per_step", collective.count },
                            { "seen", nanoseconds.size() },
                            { "seconds", median(inSeconds(nanoseconds)) },
                            { "predicted_seconds", match.secondsOf(plan, id) } });
        if (const auto group = match.together.find(id); group != match.together.end()) {
            ordered_json members = ordered_json::array();
            for (const CollectiveId member : group->second)
                members.push_back(plan.collective(member).id);
            matched.back()["together"] = std::move(members);
        }
    }
    ordered_json unmatched = ordered_json::array();
    for (const auto& [reason, count] : match.unmatched)
        unmatched.push_back({ { "count", count }, { "reason", reason } });
    ordered_json unseen = ordered_json::array();
    for (const CollectiveId id : match.unseen)
        unseen.push_back(plan.collective(id).id);
    return { { "matched", match.matched },
             { "predicted_for", hardware },
             { "collectives", std::move(matched) },
             { "unmatched", std::move(unmatched) },
             { "unseen", std::move(unseen) },
             { "in_turn", match.inTurn },
             { "notes", match.notes() } };
}

std::string orUnknown(std::int64_t value) { return value > 0 ? countText(value) : "?"; }

void printTrace(const Trace& trace)
{
    std::cout << counted(static_cast<std::int64_t>(trace.slices.size()), "slice") << " in " << secondsText(secondsOf(trace.end))
              << "\n\n";
    Table lanes({ "process", "thread", ">slices", ">busy", ">of the time" });
    for (const TraceLane& lane : trace.lanes)
        if (lane.count > 0)
            lanes.add({ lane.process, lane.thread, countText(static_cast<std::int64_t>(lane.count)),
                        secondsText(secondsOf(lane.busy)),
                        figures::percent(trace.end == 0 ? 0 : static_cast<double>(lane.busy) / static_cast<double>(trace.end)) });
    std::cout << lanes.text();
    if (!trace.collectives.empty()) {
        Table table({ "collective", ">bytes", ">elements", ">group", ">count", ">median", ">total" });
        for (const auto& [key, all] : alike(trace)) {
            const auto& [kind, bytes, elements, groupSize] = key;
            table.add({ collectiveName(kind), orUnknown(bytes), orUnknown(elements), orUnknown(groupSize), countText(all.count),
                        secondsText(median(all.seconds)), secondsText(secondsOf(all.total)) });
        }
        std::cout << "\n" << table.text();
    } else {
        std::cout << "\n  no collective was recognized\n";
    }
    for (const std::string& note : trace.notes)
        std::cerr << "note: " << note << "\n";
}

void printMatch(const TraceMatch& match, const Plan& plan, std::size_t all, const std::string& hardware)
{
    std::cout << "\n"
              << match.matched << " of " << counted(static_cast<std::int64_t>(all), "collective") << " in the plan, predicted for "
              << visibleText(hardware) << "\n";
    Table table({ "collective of the plan", ">a step", ">seen", ">median", ">predicted", ">predicted / median" });
    for (const auto& [id, nanoseconds] : match.nanoseconds) {
        const Collective& collective = plan.collective(id);
        const double measured = median(inSeconds(nanoseconds));
        const double predicted = match.secondsOf(plan, id);
        const auto group = match.together.find(id);
        const std::string more = group == match.together.end() ? "" : " and " + std::to_string(group->second.size() - 1) + " more";
        table.add({ collective.id + more, countText(collective.count), countText(static_cast<std::int64_t>(nanoseconds.size())),
                    secondsText(measured), secondsText(predicted), measured > 0 ? formatted("%.2f", predicted / measured) : "-" });
    }
    if (!table.empty())
        std::cout << table.text();
    Table others({ ">count", "not in the plan, because" });
    for (const auto& [reason, count] : match.unmatched)
        others.add({ countText(count), reason });
    if (!others.empty())
        std::cout << "\n" << others.text();
    if (!match.unseen.empty())
        std::cout << "\nthe plan has " << counted(static_cast<std::int64_t>(match.unseen.size()), "collective")
                  << " that the trace does not have:\n";
    for (const CollectiveId id : match.unseen)
        std::cout << "  " << visibleText(plan.collective(id).id) << "\n";
    for (const std::string& note : match.notes())
        std::cerr << "note: " << note << "\n";
}

} // namespace

int traceCommand(const Arguments& arguments)
{
    const auto trace = readTrace(arguments.positional().front());
    if (!trace.ok())
        return report(trace.error());
    std::optional<OpenDesign> design;
    if (arguments.has("--design")) {
        auto opened = openDesign(arguments.text("--design"));
        if (!opened.ok())
            return report(opened.error());
        if (!opened.value().design.model.hasGraph())
            return report(inputError(arguments.text("--design"), "there is no plan: " + opened.value().design.model.notUnderstood,
                                     "give a design of a family that is understood"));
        design = std::move(opened).value();
    }
    std::optional<TraceMatch> match;
    if (design)
        match = matchTrace(trace.value(), design->evaluation->graph, design->evaluation->plan);
    if (!arguments.has("--json")) {
        printTrace(trace.value());
        if (match)
            printMatch(*match, design->evaluation->plan, trace.value().collectives.size(), design->design.hardware);
        return kDone;
    }
    ordered_json out { { "seconds", secondsOf(trace.value().end) },
                       { "slices", trace.value().slices.size() },
                       { "lanes", lanesJson(trace.value()) },
                       { "collectives", collectivesJson(trace.value()) },
                       { "notes", trace.value().notes } };
    if (match)
        out["plan"] = matchJson(*match, design->evaluation->plan, design->design.hardware);
    std::cout << jsonText(out) << "\n";
    return kDone;
}

} // namespace shardboard

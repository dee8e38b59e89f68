// SPDX-License-Identifier: Apache-2.0
// The rules of the trace-event format that Perfetto and chrome://tracing rely on, read from the format's description and not
// from the code that writes it.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shardboard::test {

/// What is wrong with a trace, in words; empty when nothing is.
inline std::vector<std::string> traceDefects(const nlohmann::json& trace)
{
    using nlohmann::json;
    std::vector<std::string> out;
    if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array())
        return { "no list traceEvents" };
    if (trace.contains("displayTimeUnit") && trace["displayTimeUnit"] != "ms" && trace["displayTimeUnit"] != "ns")
        out.push_back("displayTimeUnit is neither ms nor ns");
    using Thread = std::pair<std::int64_t, std::int64_t>;
    std::map<Thread, std::vector<std::pair<double, double>>> slices;
    std::map<std::int64_t, std::vector<std::tuple<std::string, Thread, double>>> flows;
    std::map<std::pair<std::int64_t, std::string>, double> counters;
    std::set<std::int64_t> namedProcesses;
    std::set<Thread> namedThreads;
    std::map<Thread, std::vector<std::string>> open; // of B and E
    double before = 0;
    std::size_t index = 0;
    for (const json& event : trace["traceEvents"]) {
        const std::string at = "event " + std::to_string(index++) + ": ";
        if (!event.is_object() || !event.contains("ph") || !event["ph"].is_string() || !event.contains("pid")
            || !event["pid"].is_number_integer() || !event.contains("name") || !event["name"].is_string()) {
            out.push_back(at + "ph, pid or name is missing");
            continue;
        }
        const std::string kind = event["ph"];
        const auto process = event["pid"].get<std::int64_t>();
        const Thread thread { process, event.value("tid", std::int64_t { 0 }) };
        if (event.contains("args") && !event["args"].is_object())
            out.push_back(at + "args is no object");
        if (kind == "M") {
            static const std::set<std::string> known { "process_name", "thread_name", "process_labels", "process_sort_index",
                                                       "thread_sort_index" };
            if (!known.contains(event["name"].get<std::string>()) || !event.contains("args"))
                out.push_back(at + "unknown metadata");
            else if (event["name"] == "process_name" && event["args"].contains("name") && event["args"]["name"].is_string())
                namedProcesses.insert(process);
            else if (event["name"] == "thread_name" && event["args"].contains("name") && event["args"]["name"].is_string())
                namedThreads.insert(thread);
            else if (event["name"].get<std::string>().ends_with("sort_index")
                     && !event["args"].value("sort_index", json()).is_number_integer())
                out.push_back(at + "a sort index is not a number");
            continue;
        }
        if (!event.contains("ts") || !event["ts"].is_number() || !std::isfinite(event["ts"].get<double>())
            || event["ts"].get<double>() < 0) {
            out.push_back(at + "no time, or a negative one");
            continue;
        }
        const double time = event["ts"];
        if (time < before)
            out.push_back(at + "earlier than the event before");
        before = time;
        if (kind != "C" && !event.contains("tid"))
            out.push_back(at + "no thread");
        if (kind == "X") {
            const double duration = event.contains("dur") && event["dur"].is_number() ? event["dur"].get<double>() : -1;
            if (!(duration >= 0))
                out.push_back(at + "a slice without a duration");
            slices[thread].emplace_back(time, time + duration);
        } else if (kind == "B") {
            open[thread].push_back(event["name"]);
        } else if (kind == "E") {
            if (open[thread].empty())
                out.push_back(at + "an end without a beginning");
            else
                open[thread].pop_back();
        } else if (kind == "s" || kind == "t" || kind == "f") {
            if (!event.contains("id") || !event.contains("cat"))
                out.push_back(at + "a flow without id or category");
            else
                flows[event["id"].get<std::int64_t>()].emplace_back(kind, thread, time);
            if (kind == "f" && event.value("bp", "") != "e")
                out.push_back(at + "the end of a flow that binds to the next slice");
        } else if (kind == "C") {
            if (!event.contains("args") || event["args"].empty())
                out.push_back(at + "a counter without values");
            const json values = event.value("args", json::object());
            for (const auto& [name, value] : values.items())
                if (!value.is_number() || value.get<double>() < 0)
                    out.push_back(at + "the counter " + name + " is not a number of at least 0");
            counters[{ process, event["name"] }] = time;
        } else if (kind != "i" && kind != "b" && kind != "n" && kind != "e") {
            out.push_back(at + "unknown kind " + kind);
        }
    }
    for (const auto& [thread, names] : open)
        if (!names.empty())
            out.push_back("a beginning without an end: " + names.back());
    constexpr double kRounding = 1e-6; // microseconds
    for (auto& [thread, list] : slices) {
        if (!namedThreads.contains(thread))
            out.push_back("thread " + std::to_string(thread.second) + " of process " + std::to_string(thread.first)
                          + " has no name");
        if (!namedProcesses.contains(thread.first))
            out.push_back("process " + std::to_string(thread.first) + " has no name");
        std::ranges::sort(
            list, [](const auto& a, const auto& b) { return a.first < b.first || (a.first == b.first && a.second > b.second); });
        std::vector<double> ends;
        for (const auto& [start, end] : list) {
            while (!ends.empty() && ends.back() <= start + kRounding)
                ends.pop_back();
            if (!ends.empty() && end > ends.back() + kRounding)
                out.push_back("slices of thread " + std::to_string(thread.second) + " of process " + std::to_string(thread.first)
                              + " cross");
            ends.push_back(end);
        }
    }
    for (const auto& [id, steps] : flows) {
        const std::string at = "flow " + std::to_string(id);
        if (steps.size() < 2 || std::get<0>(steps.front()) != "s" || std::get<0>(steps.back()) != "f")
            out.push_back(at + " does not go from a start to an end");
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const auto& [kind, thread, time] = steps[i];
            if (i > 0 && i + 1 < steps.size() && kind != "t")
                out.push_back(at + " has an end in the middle");
            bool inside = false;
            for (const auto& [start, end] : slices[thread])
                inside = inside || (time >= start - kRounding && time <= end + kRounding);
            if (!inside)
                out.push_back(at + " touches no slice");
        }
    }
    for (const auto& [counter, time] : counters)
        if (!namedProcesses.contains(counter.first))
            out.push_back("a counter of a process without a name");
    return out;
}

} // namespace shardboard::test

// SPDX-License-Identifier: Apache-2.0
// shardctl solve: a general layout problem, its best assignment, and how good that is at least.
#include "app/ctl/commands.h"
#include "app/ctl/terminal.h"
#include "app/ctl/visibleoutput.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/problem/problemfile.h"
#include "model/solver/network.h"
#include "model/solver/solve.h"
#include "model/text/numbers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <limits>
#include <thread>

namespace shardboard {

namespace {

using Clock = solver::Options::Clock;

/// `--time` counts from the start of the process, reading included.
const Clock::time_point kProcessStart = Clock::now();

constexpr double kMostSeconds = 1e6;

Result<double> timeOf(const Arguments& arguments)
{
    const std::string text = arguments.text("--time", "60");
    double seconds = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (problem != std::errc() || end != text.data() + text.size() || !(seconds > 0 && seconds <= kMostSeconds))
        return usageError("--time", "'" + text + "' is not a time", "give seconds, e.g. 60 or 0.5, at most 1000000");
    return seconds;
}

/// Costs are whole numbers in the document; a sum that no 64 bits hold is written as its digits.
nlohmann::json costJson(solver::Wide value)
{
    if (value >= std::numeric_limits<std::int64_t>::min() && value <= std::numeric_limits<std::int64_t>::max())
        return static_cast<std::int64_t>(value);
    return solver::wideText(value);
}

double secondsSinceStart() { return std::chrono::duration<double>(Clock::now() - kProcessStart).count(); }

double gapOf(const solver::Solution& solution)
{
    if (solution.cost == solution.bound)
        return 0;
    const auto cost = static_cast<double>(solution.cost);
    return cost == 0 ? 1 : (cost - static_cast<double>(solution.bound)) / std::abs(cost);
}

/// What is certain about the bound, in words.
std::string certainty(const solver::Solution& solution)
{
    if (solution.enumerated)
        return "all assignments that could be better were looked at";
    if (!solution.proof)
        return "the least of every cost, added up";
    std::string out = counted(static_cast<std::int64_t>(solution.proof->order.size()), "node") + " eliminated exactly, ";
    out += solution.proof->messages.empty()
        ? "none left"
        : counted(static_cast<std::int64_t>(solution.proof->messages.size()), "link") + " between the others relaxed";
    if (!solution.proof->prices.empty())
        out += ", memory priced at " + counted(static_cast<std::int64_t>(solution.proof->prices.size()), "time");
    return out;
}

nlohmann::json certificateJson(const solver::Solution& solution)
{
    nlohmann::json out { { "bound", certainty(solution) },
                         { "bound_seconds", solution.boundSeconds },
                         { "enumerated", solution.enumerated } };
    if (solution.proof)
        out.update({ { "eliminated_nodes", solution.proof->order.size() },
                     { "relaxed_links", solution.proof->messages.size() },
                     { "priced_times", solution.proof->prices.size() } });
    return out;
}

/// Where no node is alive, and a limit below 0.
Error limitBelowZero(const solver::Excess& excess, const std::string& path)
{
    return inputError(path + ":problem.usage_limit",
                      "no assignment is feasible: the limit is " + solver::wideText(excess.limit)
                          + ", and at times when no node is alive nothing is used",
                      "use a limit of 0 or more");
}

int reportInfeasible(const solver::Excess& excess, const std::string& path, bool json)
{
    const std::string time = std::to_string(excess.time);
    if (json)
        std::cout << jsonText(nlohmann::json { { "feasible", false },
                                               { "time", excess.time },
                                               { "least_usage", costJson(excess.usage) },
                                               { "usage_limit", costJson(excess.limit) },
                                               { "excess", costJson(excess.usage - excess.limit) },
                                               { "seconds", secondsSinceStart() } })
                  << "\n";
    if (excess.limit < 0 && excess.usage == 0)
        return report(limitBelowZero(excess, path));
    return report(inputError(
        path + ":problem.usage_limit",
        "no assignment is feasible: at time " + time + " even the least usages sum to " + solver::wideText(excess.usage) + ", "
            + solver::wideText(excess.usage - excess.limit) + " over the limit",
        "raise the limit to " + solver::wideText(excess.usage) + ", or give the nodes alive then strategies that use less"));
}

void printSolution(const solver::Solution& solution)
{
    std::cout << "cost         " << solver::wideText(solution.cost) << "\nlower bound  " << solver::wideText(solution.bound)
              << (solution.optimal ? "  (optimal)" : formatted("  (gap %.4g %%)", 100 * gapOf(solution))) << "\n             "
              << certainty(solution) << formatted("\nseconds      %.2f\nassignment  ", secondsSinceStart());
    for (const int strategy : solution.assignment)
        std::cout << " " << strategy;
    std::cout << "\n";
}

} // namespace

int solveCommand(const Arguments& arguments)
{
    const auto seconds = timeOf(arguments);
    if (!seconds.ok())
        return report(seconds.error());
    const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
    const auto threads = arguments.integer("--threads", std::min<std::int64_t>(cores, 64), 1, 256);
    if (!threads.ok())
        return report(threads.error());
    const auto seed = arguments.integer("--seed", 1, 0, std::numeric_limits<std::int64_t>::max());
    if (!seed.ok())
        return report(seed.error());
    const std::string& path = arguments.positional().front();
    const auto problem = readProblem(path);
    if (!problem.ok())
        return report(problem.error());

    const InterruptGuard interrupts;
    ProgressLine progress;
    solver::Options options;
    // Room for what is under way when the time is over, and for writing.
    const double spare = std::min(0.2 * seconds.value(), 0.3 + 0.015 * seconds.value());
    options.deadline =
        kProcessStart + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds.value() - spare));
    options.threads = static_cast<int>(threads.value());
    options.seed = static_cast<std::uint64_t>(seed.value());
    options.cancelled = &InterruptGuard::flag();
    options.progress = [&](const solver::Progress& now) {
        progress.show(static_cast<std::int64_t>(secondsSinceStart()), static_cast<std::int64_t>(std::ceil(seconds.value())),
                      now.cost < solver::kForbiddenCost ? formatted("s  cost %.10g  lower bound %.10g", now.cost, now.bound)
                                                        : "s  with costs of 10^17 and more so far");
    };
    const solver::Solution solution = solver::solve(problem.value(), options);
    progress.clear();
    if (solution.infeasible)
        return reportInfeasible(*solution.infeasible, path, arguments.has("--json"));
    if (arguments.has("--json"))
        std::cout << jsonText(nlohmann::json { { "assignment", solution.assignment },
                                               { "cost", costJson(solution.cost) },
                                               { "lower_bound", costJson(solution.bound) },
                                               { "gap", gapOf(solution) },
                                               { "feasible", true },
                                               { "optimal", solution.optimal },
                                               { "certificate", certificateJson(solution) },
                                               { "seconds", secondsSinceStart() } })
                  << "\n";
    else
        printSolution(solution);
    return kDone;
}

} // namespace shardboard

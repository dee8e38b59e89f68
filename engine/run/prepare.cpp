// SPDX-License-Identifier: Apache-2.0
#include "engine/run/prepare.h"

#include "engine/devices/executor.h"
#include "engine/devices/team.h"
#include "engine/machine/index.h"
#include "engine/run/schedule/checkprogram.h"
#include "engine/run/step/steprunner.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kMostSteps = 100000;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::string sizeText(std::int64_t bytes)
{
    char text[32];
    const double gib = static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
    std::snprintf(text, sizeof text, gib < 10 ? "%.2f GiB" : "%.0f GiB", gib);
    return text;
}

/// What the walk through the program has found.
struct Estimate {
    std::vector<std::int64_t> neededByRank; ///< bytes, those outside the arena included
    double seconds = 0;
};

/// Memory that a plan may come to need before it is given up: more than there is, so that it is told how much is missing
/// where that can be found out soon.
std::int64_t worthPlanning(std::int64_t available)
{
    constexpr std::int64_t kTimes = 4;
    return available > kUnlimited / kTimes ? 0 : std::max(kTimes * available, std::int64_t { 1 } << 30);
}

std::string tooMuchText(const std::string& needed, std::int64_t available)
{
    return "the run needs " + needed + " and " + sizeText(available)
        + " are available; use a smaller batch or sequence, fewer devices or layers, or leave out embedding and head";
}

/// Walks through one step with and one without verification, computing nothing.
Estimate estimateOf(const RunRequest& request, Executor& executor, PreparedRun& run)
{
    Estimate out;
    const int ranks = run.deviceRanks.rankCount();
    const std::int64_t available =
        request.limits.availableBytes > 0 ? request.limits.availableBytes : executor.availableToAll(ranks, request.team);
    Arena arena(run.deviceRanks);
    arena.limit(worthPlanning(available), [&](std::int64_t needed) { // need not be looked at to its end
        return Failure { "memory", tooMuchText("more than " + sizeText(needed) + " of memory", available), "" };
    });
    arena.countDevices(&run.devices);
    Context context { arena, executor, nullptr, run.workers, {} };
    std::optional<PlanningTeam> counting;
    if (request.team != nullptr)
        context.team = &counting.emplace(*request.team);
    const int processes = counting ? counting->rankCount() : 1;
    const int busy = request.options.profile == ProfileMode::Serial ? 1 : run.workers;
    const auto seconds = [&] { return executor.secondsOf(context.work, busy * processes); };
    RunRecord record;
    StepRunner runner(request, context, record);
    runner.runStep(run.passes, request.options.verify);
    out.seconds = seconds();
    if (request.steps() > 1) {
        context.work = {};
        runner.runStep(run.passes, false);
        out.seconds += static_cast<double>(request.steps() - 1) * seconds();
    }
    run.arenaBytes = arena.highWater();
    for (int rank = 0; rank < ranks; ++rank) {
        run.arenaByRank.push_back(arena.highWater(rank));
        out.neededByRank.push_back(executor.bytesAt(rank, arena.highWater(rank), context, request.profiled()));
    }
    out.seconds += executor.secondsOfFirstUse(run.arenaBytes);
    if (request.profiled())
        out.seconds += 0.6; // the machine's limits
    return out;
}

/// Each memory has to do with what is taken from it.
void checkMemory(const std::vector<MemoryDemand>& demands)
{
    for (const MemoryDemand& demand : demands) {
        if (demand.bytes <= demand.available)
            continue;
        const std::string needed = sizeText(demand.bytes) + " of memory";
        if (demand.name.empty())
            throw Failure { "memory", tooMuchText(needed, demand.available), "" };
        throw Failure {
            "memory",
            "the run needs " + needed + " on " + demand.name + " and " + sizeText(demand.available)
                + " are available there; use a smaller batch or sequence, more devices, or leave out embedding and head",
            ""
        };
    }
}

/// Throws Failure "memory" where there is less than that.
void announce(const RunRequest& request, const Executor& executor, const Estimate& estimate)
{
    const RunHooks& hooks = request.hooks;
    const std::vector<std::int64_t>& needed = estimate.neededByRank;
    if (request.team != nullptr && hooks.announceByProcess) {
        std::vector<std::int64_t> byProcess(at(request.team->rankCount()), 0);
        for (std::size_t rank = 0; rank < needed.size(); ++rank)
            byProcess[at(executor.processOf(static_cast<int>(rank)))] += needed[rank];
        hooks.announceByProcess(byProcess);
    }
    if (hooks.announce)
        hooks.announce(std::accumulate(needed.begin(), needed.end(), std::int64_t { 0 }), estimate.seconds);
    checkMemory(executor.demandsOf(needed, request.limits.availableBytes, request.team));
}

} // namespace

PreparedRun prepareRun(const RunRequest& request, Executor& executor)
{
    const RunOptions& options = request.options;
    if (options.steps < 1 || options.steps > kMostSteps)
        failPlan("steps must be 1 to " + std::to_string(kMostSteps), "options.steps");
    checkProgram(request.program, options);
    executor.check(request.program, options);
    PreparedRun run;
    run.passes = scheduleOf(request.program, options);
    run.workers = executor.workers(request.limits.workers);
    run.deviceRanks = executor.deviceRanksOf(request.program.plan.mesh, request.team);
    announce(request, executor, estimateOf(request, executor, run));
    return run;
}

} // namespace shardboard::engine

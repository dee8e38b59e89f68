// SPDX-License-Identifier: Apache-2.0
#include "engine/run/prepare.h"

#include "engine/devices/executor.h"
#include "engine/devices/team.h"
#include "engine/machine/limits.h"
#include "engine/machine/machine.h"
#include "engine/run/schedule/checkprogram.h"
#include "engine/run/step/steprunner.h"
#include "model/core/checked.h"

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

/// What the walk through the program has found, beside the memory of its arena.
struct Estimate {
    std::vector<std::int64_t> broughtByRank; ///< memory for what comes from other hosts
    double seconds = 0;
};

DeviceRanks deviceRanksOf(const RunRequest& request)
{
    const Mesh& mesh = request.program.plan.mesh;
    return request.executor != nullptr ? request.executor->deviceRanksOf(mesh)
        : request.team != nullptr      ? DeviceRanks(mesh, request.team->rankCount(), request.team->rank())
                                       : DeviceRanks();
}

/// Memory of all the devices or hosts that run a program, if all have as much as this one.
std::int64_t availableToAll(const RunRequest& request, const DeviceRanks& deviceRanks)
{
    const Team* team = request.team;
    if (request.limits.availableBytes > 0)
        return request.limits.availableBytes;
    if (request.executor != nullptr)
        return checkedMultiply(request.executor->availableBytes(), deviceRanks.rankCount()).value_or(kUnlimited);
    int here = 0;
    for (int rank = 0; team != nullptr && rank < team->rankCount(); ++rank)
        here += team->sameHost(rank, team->rank()) ? 1 : 0;
    return here == 0 ? availableMemory() : checkedMultiply(availableMemory(), team->rankCount()).value_or(kUnlimited) / here;
}

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

double secondsOf(const Work& work, int workers)
{
    constexpr double kGenerated = 1.2e9; // values a second and core
    constexpr double kTouched = 2.0e9;
    return (work.flops / (0.75 * measuredFlops()) + work.generated / kGenerated + work.touched / kTouched) / workers;
}

/// Walks through one step with and one without verification, computing nothing.
Estimate estimateOf(const RunRequest& request, PreparedRun& run)
{
    Executor* executor = request.executor;
    Estimate out;
    const std::int64_t available = availableToAll(request, run.deviceRanks);
    Arena arena(run.deviceRanks);
    arena.limit(worthPlanning(available), [&](std::int64_t needed) { // need not be looked at to its end
        return Failure { "memory", tooMuchText("more than " + sizeText(needed) + " of memory", available), "" };
    });
    arena.countDevices(&run.devices);
    Context context { arena, nullptr, run.workers, {} };
    context.executor = executor;
    std::optional<PlanningTeam> counting;
    if (request.team != nullptr)
        context.team = &counting.emplace(*request.team);
    const int processes = counting ? counting->rankCount() : 1;
    const int busy = request.options.profile == ProfileMode::Serial ? 1 : run.workers;
    const auto seconds = [&] {
        return executor != nullptr ? executor->secondsOf(context.work) : secondsOf(context.work, busy * processes);
    };
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
    for (int rank = 0; rank < run.deviceRanks.rankCount(); ++rank) {
        run.arenaByRank.push_back(arena.highWater(rank));
        // The ranks of an executor are its devices, and it takes nothing by the processes' messages.
        out.broughtByRank.push_back(counting && executor == nullptr ? counting->mostBrought(rank) : 0);
    }
    if (executor == nullptr)
        out.seconds += static_cast<double>(run.arenaBytes) / 2e9; // first touch
    if (request.profiled())
        out.seconds += 0.6; // the machine's limits
    return out;
}

void checkMemory(std::int64_t needed, std::int64_t available)
{
    if (needed > available)
        throw Failure { "memory", tooMuchText(sizeText(needed) + " of memory", available), "" };
}

/// Of an executor: each of its memories has to do with what lies there.
void checkMemory(const std::vector<std::int64_t>& byRank, const Executor& executor)
{
    for (std::size_t i = 0; i < byRank.size(); ++i) {
        const int rank = static_cast<int>(i);
        const std::int64_t available = executor.availableBytesAt(rank);
        const std::string name = executor.nameOf(rank);
        if (byRank[i] > available && !name.empty())
            throw Failure {
                "memory",
                "the run needs " + sizeText(byRank[i]) + " of memory on " + name + " and " + sizeText(available)
                    + " are available there; use a smaller batch or sequence, more devices, or leave out embedding and head",
                ""
            };
        checkMemory(byRank[i], available);
    }
}

/// Of the memories of an executor, or of every process. The limits of the machine are measured by the first one, and their memory
/// given back, before the run takes its own.
std::vector<std::int64_t> neededByRank(const RunRequest& request, const PreparedRun& run, const Estimate& estimate)
{
    std::vector<std::int64_t> needed = run.arenaByRank;
    for (std::size_t rank = 0; rank < needed.size(); ++rank)
        if (request.executor != nullptr)
            needed[rank] += request.executor->overheadBytes();
        else
            needed[rank] = std::max(needed[rank] + estimate.broughtByRank[rank],
                                    request.profiled() && rank == 0 ? limitsMemory(run.workers) : 0)
                + processMemory(run.workers);
    return needed;
}

std::int64_t onThisHost(const std::vector<std::int64_t>& byRank, const Team* team)
{
    std::int64_t sum = 0;
    for (std::size_t rank = 0; rank < byRank.size(); ++rank)
        if (team == nullptr || team->sameHost(static_cast<int>(rank), team->rank()))
            sum += byRank[rank];
    return sum;
}

/// Several processes can have a part of an executor; without one every process is a rank.
std::vector<std::int64_t> byProcess(const std::vector<std::int64_t>& byRank, const Executor* executor, int processes)
{
    if (executor == nullptr)
        return byRank;
    std::vector<std::int64_t> needed(static_cast<std::size_t>(processes), 0);
    for (std::size_t rank = 0; rank < byRank.size(); ++rank)
        needed[static_cast<std::size_t>(executor->processOf(static_cast<int>(rank)))] += byRank[rank];
    return needed;
}

/// Throws Failure "memory" where there is less than that.
void announce(const RunRequest& request, const std::vector<std::int64_t>& byRank, double seconds)
{
    const RunHooks& hooks = request.hooks;
    const std::int64_t limit = request.limits.availableBytes;
    const std::int64_t needed = std::accumulate(byRank.begin(), byRank.end(), std::int64_t { 0 });
    if (request.team != nullptr && hooks.announceByProcess)
        hooks.announceByProcess(byProcess(byRank, request.executor, request.team->rankCount()));
    if (hooks.announce)
        hooks.announce(needed, seconds);
    if (request.executor != nullptr && limit == 0)
        checkMemory(byRank, *request.executor);
    else
        checkMemory(request.executor != nullptr ? needed : onThisHost(byRank, request.team), limit > 0 ? limit : availableMemory());
}

} // namespace

PreparedRun prepareRun(const RunRequest& request)
{
    const RunOptions& options = request.options;
    Executor* executor = request.executor;
    if (executor == nullptr && request.team == nullptr && options.backend != "cpu")
        failPlan("this runs on the cpu alone, not on '" + options.backend + "'", "options.backend");
    if (options.steps < 1 || options.steps > kMostSteps)
        failPlan("steps must be 1 to " + std::to_string(kMostSteps), "options.steps");
    checkProgram(request.program, options);
    if (executor != nullptr)
        executor->check(request.program, options);
    PreparedRun run;
    run.passes = scheduleOf(request.program, options);
    run.workers = executor != nullptr ? 1 : request.limits.workers > 0 ? request.limits.workers : std::min(usableCores(), 64);
    run.deviceRanks = deviceRanksOf(request);
    const Estimate estimate = estimateOf(request, run);
    announce(request, neededByRank(request, run, estimate), estimate.seconds);
    return run;
}

} // namespace shardboard::engine

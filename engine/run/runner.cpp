// SPDX-License-Identifier: Apache-2.0
#include "engine/run/runner.h"

#include "engine/devices/executor.h"
#include "engine/devices/team.h"
#include "engine/machine/limits.h"
#include "engine/machine/machine.h"
#include "engine/run/checkprogram.h"
#include "engine/run/profiler.h"
#include "engine/run/schedule.h"
#include "engine/run/steprunner.h"
#include "model/core/checked.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <system_error>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kMiB = std::int64_t { 1 } << 20;
constexpr std::int64_t kMostSteps = 100000;

std::string sizeText(std::int64_t bytes)
{
    char text[32];
    const double gib = static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
    std::snprintf(text, sizeof text, gib < 10 ? "%.2f GiB" : "%.0f GiB", gib);
    return text;
}

struct Estimate {
    std::int64_t arenaBytes = 0; ///< of all processes
    std::vector<std::int64_t> arenaByRank;
    std::vector<std::int64_t> broughtByRank; ///< memory for what comes from other hosts
    double seconds = 0;
    DeviceMemory devices; ///< whose peaks stay when all is given back
};

/// A profiled run goes through one step that is not timed: the libraries make their kernels then. It is also the one that is
/// verified, so that the timed steps find the caches as they left them.
bool warmsUp(const RunOptions& options) { return options.profile != ProfileMode::None; }
std::int64_t stepsOf(const RunOptions& options) { return options.steps + (warmsUp(options) ? 1 : 0); }

double secondsOf(const Work& work, int workers)
{
    constexpr double kGenerated = 1.2e9; // values a second and core
    constexpr double kTouched = 2.0e9;
    return (work.flops / (0.75 * measuredFlops()) + work.generated / kGenerated + work.touched / kTouched) / workers;
}

/// A run as it is decided before anything is planned.
struct Setup {
    const RunRequest& request;
    Executor* executor = nullptr; ///< who does the work; null: the workers of this process
    Team* team = nullptr; ///< the processes of the run; with an executor, each of them has a part of it
    std::vector<SegmentPass> passes = {};
    int workers = 1;
    std::int64_t available = 0; ///< bytes, to all the devices or hosts of the run

    const Program& program() const { return request.program; }
    const RunOptions& options() const { return request.options; }
    bool profiled() const { return request.options.profile != ProfileMode::None; }
    DeviceRanks deviceRanks() const
    {
        const Mesh& mesh = program().plan.mesh;
        return executor != nullptr ? executor->deviceRanksOf(mesh)
            : team != nullptr      ? DeviceRanks(mesh, team->rankCount(), team->rank())
                                   : DeviceRanks();
    }
};

/// Memory that a plan may come to need before it is given up: more than there is, so that it is told how much is missing
/// where that can be found out soon.
std::int64_t worthPlanning(std::int64_t available)
{
    constexpr std::int64_t kTimes = 4;
    return available > std::numeric_limits<std::int64_t>::max() / kTimes ? 0
                                                                         : std::max(kTimes * available, std::int64_t { 1 } << 30);
}

std::string tooMuchText(const std::string& needed, std::int64_t available)
{
    return "the run needs " + needed + " and " + sizeText(available)
        + " are available; use a smaller batch or sequence, fewer devices or layers, or leave out embedding and head";
}

/// Walks through one step with and one without verification, computing nothing.
Estimate plan(const Setup& setup)
{
    const RunOptions& options = setup.options();
    Executor* executor = setup.executor;
    Team* team = setup.team;
    Estimate out;
    Arena arena(setup.deviceRanks());
    arena.limit(worthPlanning(setup.available), [&](std::int64_t needed) { // need not be looked at to its end
        return Failure { "memory", tooMuchText("more than " + sizeText(needed) + " of memory", setup.available), "" };
    });
    arena.countDevices(&out.devices);
    Context context { arena, nullptr, setup.workers, {} };
    context.executor = executor;
    std::optional<PlanningTeam> counting;
    if (team != nullptr)
        context.team = &counting.emplace(*team);
    const int processes = team != nullptr ? team->rankCount() : 1;
    const int ranks = arena.deviceRanks().rankCount();
    const auto seconds = [&](const Work& work, int on) {
        return executor != nullptr ? executor->secondsOf(work) : secondsOf(work, on * processes);
    };
    RunRecord record;
    RunHooks silent;
    silent.cancel = setup.request.hooks.cancel;
    StepRunner runner(setup.program(), options, silent, context, record);
    runner.showValues(team != nullptr ? team->showsValues() : static_cast<bool>(setup.request.hooks.value));
    const int busy = options.profile == ProfileMode::Serial ? 1 : setup.workers;
    runner.runStep(setup.passes, options.verify);
    out.seconds = seconds(context.work, busy);
    if (stepsOf(options) > 1) {
        context.work = {};
        runner.runStep(setup.passes, false);
        out.seconds += static_cast<double>(stepsOf(options) - 1) * seconds(context.work, busy);
    }
    out.arenaBytes = arena.highWater();
    for (int rank = 0; rank < ranks; ++rank) {
        out.arenaByRank.push_back(arena.highWater(rank));
        // The ranks of an executor are its devices, and it takes nothing by the processes' messages.
        out.broughtByRank.push_back(counting && executor == nullptr ? counting->mostBrought(rank) : 0);
    }
    if (executor == nullptr)
        out.seconds += static_cast<double>(out.arenaBytes) / 2e9; // first touch
    if (setup.profiled())
        out.seconds += 0.6; // the machine's limits
    return out;
}

/// On all workers, in pieces after which a cancel is seen.
void touchPages(TaskPool& pool, std::byte* memory, std::int64_t bytes)
{
    constexpr std::int64_t kPiece = 4 * kMiB;
    constexpr std::int64_t kPage = 4096;
    pool.run((bytes + kPiece - 1) / kPiece, [&](std::int64_t piece, int) {
        for (std::int64_t at = piece * kPiece; at < std::min(bytes, (piece + 1) * kPiece); at += kPage)
            memory[at] = std::byte { 0 };
    });
}

void checkMemory(std::int64_t needed, std::int64_t available)
{
    if (needed > available)
        throw Failure { "memory", tooMuchText(sizeText(needed) + " of memory", available), "" };
}

/// Of an executor: each of its memories has to do with what lies there.
void checkMemory(const Estimate& estimate, const Executor& executor)
{
    for (std::size_t rank = 0; rank < estimate.arenaByRank.size(); ++rank) {
        const std::int64_t available = executor.availableBytesAt(static_cast<int>(rank));
        const std::int64_t needed = estimate.arenaByRank[rank] + executor.overheadBytes();
        const std::string name = executor.nameOf(static_cast<int>(rank));
        if (needed > available && !name.empty())
            throw Failure {
                "memory",
                "the run needs " + sizeText(needed) + " of memory on " + name + " and " + sizeText(available)
                    + " are available there; use a smaller batch or sequence, more devices, or leave out embedding and head",
                ""
            };
        checkMemory(needed, available);
    }
}

/// Of every process. The limits of the machine are measured by the first one, and their memory given back, before the run
/// takes its own.
std::vector<std::int64_t> neededByRank(const Estimate& estimate, bool profiled, int workers)
{
    std::vector<std::int64_t> needed;
    for (std::size_t rank = 0; rank < estimate.arenaByRank.size(); ++rank)
        needed.push_back(
            std::max(estimate.arenaByRank[rank] + estimate.broughtByRank[rank], profiled && rank == 0 ? limitsMemory(workers) : 0)
            + processMemory(workers));
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

/// The same of an executor that several processes have a part of.
std::vector<std::int64_t> neededByProcess(const Estimate& estimate, const Executor& executor, int processes)
{
    std::vector<std::int64_t> needed(static_cast<std::size_t>(processes), 0);
    for (std::size_t rank = 0; rank < estimate.arenaByRank.size(); ++rank)
        needed[static_cast<std::size_t>(executor.processOf(static_cast<int>(rank)))] +=
            estimate.arenaByRank[rank] + executor.overheadBytes();
    return needed;
}

/// Memory of all the devices or hosts that run a program, if all have as much as this one.
std::int64_t availableToAll(const Setup& setup)
{
    const Team* team = setup.team;
    if (setup.request.limits.availableBytes > 0)
        return setup.request.limits.availableBytes;
    if (setup.executor != nullptr)
        return checkedMultiply(setup.executor->availableBytes(), setup.deviceRanks().rankCount())
            .value_or(std::numeric_limits<std::int64_t>::max());
    int here = 0;
    for (int rank = 0; team != nullptr && rank < team->rankCount(); ++rank)
        here += team->sameHost(rank, team->rank()) ? 1 : 0;
    return here == 0
        ? availableMemory()
        : checkedMultiply(availableMemory(), team->rankCount()).value_or(std::numeric_limits<std::int64_t>::max()) / here;
}

/// Checks the program, and decides what passes it goes through and on how many workers. Throws Failure.
Setup setUp(const RunRequest& request, Executor* executor, Team* team)
{
    const RunOptions& options = request.options;
    if (executor == nullptr && team == nullptr && options.backend != "cpu")
        failPlan("this runs on the cpu alone, not on '" + options.backend + "'", "options.backend");
    if (options.steps < 1 || options.steps > kMostSteps)
        failPlan("steps must be 1 to " + std::to_string(kMostSteps), "options.steps");
    checkProgram(request.program, options);
    if (executor != nullptr)
        executor->check(request.program, options);
    Setup setup { request, executor, team };
    setup.passes = scheduleOf(request.program, options);
    setup.workers = executor != nullptr ? 1 : request.limits.workers > 0 ? request.limits.workers : std::min(usableCores(), 64);
    setup.available = availableToAll(setup);
    return setup;
}

/// Announces what the run needs, and throws Failure "memory" where there is less.
void announce(const Setup& setup, const Estimate& estimate)
{
    const RunHooks& hooks = setup.request.hooks;
    const RunLimits& limits = setup.request.limits;
    const Executor* executor = setup.executor;
    const auto byRank = neededByRank(estimate, setup.profiled() && executor == nullptr, setup.workers);
    const std::int64_t needed = executor != nullptr
        ? estimate.arenaBytes + static_cast<std::int64_t>(estimate.arenaByRank.size()) * executor->overheadBytes()
        : std::accumulate(byRank.begin(), byRank.end(), std::int64_t { 0 });
    if (setup.team != nullptr && hooks.announceByProcess)
        hooks.announceByProcess(executor != nullptr ? neededByProcess(estimate, *executor, setup.team->rankCount()) : byRank);
    if (hooks.announce)
        hooks.announce(needed, estimate.seconds);
    if (executor != nullptr && limits.availableBytes == 0)
        checkMemory(estimate, *executor);
    else
        checkMemory(executor != nullptr ? needed : onThisHost(byRank, setup.team),
                    limits.availableBytes > 0 ? limits.availableBytes : availableMemory());
}

/// Gives the arena the memory that was announced.
void reserve(const Setup& setup, const Estimate& estimate, TaskPool& pool, std::optional<Arena>& arena)
{
    const bool poison = setup.request.limits.poison;
    if (Executor* executor = setup.executor; executor != nullptr) {
        arena.emplace(setup.deviceRanks(), executor->reserveAll(estimate.arenaByRank));
        if (poison)
            arena->poisonWith([executor](std::byte* first, std::int64_t bytes) { executor->poison(first, bytes); });
        return;
    }
    if (setup.team != nullptr)
        arena.emplace(setup.deviceRanks(), setup.team->reserve(estimate.arenaByRank));
    else
        arena.emplace(estimate.arenaBytes);
    arena->poison(poison);
    arena->onFirstUse([&pool](std::byte* first, std::int64_t bytes) { touchPages(pool, first, bytes); });
}

/// Of the first process, when the run is profiled.
MachineLimits limitsOf(const Setup& setup, TaskPool& pool)
{
    if (!setup.profiled() || (setup.team != nullptr && setup.team->rank() != 0))
        return {};
    return setup.executor != nullptr ? setup.executor->measureLimits() : measureLimits(pool);
}

RunResult run(const RunRequest& request, Executor* executor, Team* team)
{
    const Setup setup = setUp(request, executor, team);
    const RunOptions& options = request.options;
    const Estimate estimate = plan(setup);
    announce(setup, estimate);

    // Asked before the run takes its memory; nobody waits for it where all that moves is small.
    const std::int64_t cacheShare =
        executor == nullptr && estimate.arenaBytes > kLeastCacheShare ? cacheShareBytes() : kUsualCacheShare;
    TaskPool pool(setup.workers, request.hooks.cancel);
    const MachineLimits limitsHere = limitsOf(setup, pool);
    DeviceMemory memory;
    std::optional<Arena> arena;
    reserve(setup, estimate, pool, arena);
    if (setup.profiled())
        arena->countDevices(&memory);
    Context context { *arena, &pool, setup.workers, {}, options.profile == ProfileMode::Serial, executor, team };
    context.cacheShare = cacheShare;
    RunRecord record;
    Profiler profiler(request.program, memory, now());
    StepRunner runner(request.program, options, request.hooks, context, record);
    runner.setSteps(stepsOf(options));
    if (team != nullptr)
        runner.showValues(team->showsValues());
    if (setup.profiled())
        runner.setProfiler(&profiler);
    for (std::int64_t step = 0; step < stepsOf(options); ++step) {
        if (step == 1 && warmsUp(options)) {
            record.forgetTimes();
            profiler.beginMeasuring();
        }
        profiler.beginStep();
        runner.runStep(setup.passes, options.verify && step == 0);
        record.endStep();
    }
    if (!options.breakCollective.empty() && !runner.broke())
        failPlan("the collective to break is not in the part that ran", "options.break_collective");

    RunResult result;
    result.backend = options.backend;
    result.devices = request.program.plan.mesh.deviceCount();
    result.steps = options.steps;
    result.layers = layersIn(setup.passes);
    for (const SegmentPass& pass : setup.passes)
        result.tolerance = std::max(result.tolerance, toleranceOf(pass.segment->phase, options.designDtype));
    result.peakBytes = arena->highWater();
    record.finish(result);
    if (team != nullptr)
        team->hostBarrier(); // nobody's memory goes before all are done with it
    if (setup.profiled() && request.hooks.profile) {
        RunProfile profile = profiler.take(options.profile, setup.workers);
        profile.limits = limitsHere;
        for (ProfiledDevice& device : profile.devices)
            device.announcedBytes = estimate.devices.peak(device.id);
        request.hooks.profile(profile);
    }
    return result;
}

} // namespace

double toleranceOf(Phase phase, bool rounded)
{
    if (phase == Phase::Forward)
        return rounded ? kToleranceRounded : kToleranceF32;
    return rounded ? kToleranceRoundedGradient : kToleranceGradient;
}

namespace {

RunOutcome tryRun(const RunRequest& request, Executor* executor, Team* team)
{
    try {
        return run(request, executor, team);
    } catch (const Failure& failure) {
        return failure;
    } catch (const Stopped&) {
        return Failure { "cancelled", "the run was cancelled", "" };
    } catch (const std::bad_alloc&) {
        return Failure { "memory", std::string("the system gave no more memory; ") + kMoreMemory, "" };
    } catch (const std::system_error& e) { // of a thread that could not be started
        return Failure { "memory", std::string("the system gave no more threads: ") + e.what() + "; " + kMoreMemory, "" };
    } catch (const std::exception& e) {
        return Failure { "internal", e.what(), "" };
    }
}

} // namespace

RunOutcome runProgram(const RunRequest& request) { return tryRun(request, nullptr, nullptr); }
RunOutcome runProgramOn(Executor& executor, const RunRequest& request) { return tryRun(request, &executor, nullptr); }
RunOutcome runProgramOn(Executor& executor, Team& team, const RunRequest& request) { return tryRun(request, &executor, &team); }
RunOutcome runProgramOn(Team& team, const RunRequest& request) { return tryRun(request, nullptr, &team); }

} // namespace shardboard::engine

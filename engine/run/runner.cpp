// SPDX-License-Identifier: Apache-2.0
#include "engine/run/runner.h"

#include "engine/calibrate/limits.h"
#include "engine/devices/machine.h"
#include "engine/devices/team.h"
#include "engine/run/checkprogram.h"
#include "engine/run/executor.h"
#include "engine/run/passagerunner.h"
#include "engine/run/profiler.h"
#include "engine/run/schedule.h"
#include "model/core/checked.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
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
    std::vector<std::int64_t> arenaByPlace;
    std::vector<std::int64_t> broughtByPlace; ///< memory for what comes from other hosts
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

Placement placementOf(const Program& program, const Team* team)
{
    return team != nullptr ? Placement(program.plan.mesh, team->places(), team->place()) : Placement();
}

/// Memory that a plan may come to need before it is given up: more than there is, so that it is told how much is missing
/// where that can be found out soon.
std::int64_t worthPlanning(std::int64_t available)
{
    constexpr std::int64_t kTimes = 4;
    return available > std::numeric_limits<std::int64_t>::max() / kTimes ? 0
                                                                         : std::max(kTimes * available, std::int64_t { 1 } << 30);
}

/// Walks through one step with and one without verification, computing nothing.
Estimate plan(const Program& program, const RunOptions& options, const std::vector<Passage>& passages, const RunHooks& hooks,
              int workers, Executor* executor, const Team* team, std::int64_t available)
{
    Estimate out;
    Arena arena(executor != nullptr ? executor->placementOf(program.plan.mesh) : placementOf(program, team));
    arena.limit(worthPlanning(available));
    arena.countDevices(&out.devices);
    Context context { arena, nullptr, workers, {} };
    context.executor = executor;
    std::optional<PlanningTeam> counting;
    if (team != nullptr)
        context.team = &counting.emplace(*team);
    const int processes = team != nullptr ? team->places() : 1;
    const int places = arena.placement().places();
    const auto seconds = [&](const Work& work, int on) {
        return executor != nullptr ? executor->secondsOf(work) : secondsOf(work, on * processes);
    };
    RunRecord record;
    RunHooks silent;
    silent.cancel = hooks.cancel;
    PassageRunner runner(program, options, silent, context, record);
    runner.showValues(team != nullptr ? team->showsValues() : static_cast<bool>(hooks.value));
    const int busy = options.profile == ProfileMode::Serial ? 1 : workers;
    runner.runStep(passages, options.verify);
    out.seconds = seconds(context.work, busy);
    if (stepsOf(options) > 1) {
        context.work = {};
        runner.runStep(passages, false);
        out.seconds += static_cast<double>(stepsOf(options) - 1) * seconds(context.work, busy);
    }
    out.arenaBytes = arena.highWater();
    for (int place = 0; place < places; ++place) {
        out.arenaByPlace.push_back(arena.highWater(place));
        // The places of an executor are its devices, and it takes nothing by the processes' messages.
        out.broughtByPlace.push_back(counting && executor == nullptr ? counting->mostBrought(place) : 0);
    }
    if (executor == nullptr)
        out.seconds += static_cast<double>(out.arenaBytes) / 2e9; // first touch
    if (options.profile != ProfileMode::None)
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

std::string tooMuchText(const std::string& needed, std::int64_t available)
{
    return "the run needs " + needed + " and " + sizeText(available)
        + " are available; use a smaller batch or sequence, fewer devices or layers, or leave out embedding and head";
}

void checkMemory(std::int64_t needed, std::int64_t available)
{
    if (needed > available)
        throw Failure { "memory", tooMuchText(sizeText(needed) + " of memory", available), "" };
}

/// Of an executor: each of its memories has to do with what lies there.
void checkMemory(const Estimate& estimate, const Executor& executor)
{
    for (std::size_t place = 0; place < estimate.arenaByPlace.size(); ++place) {
        const std::int64_t available = executor.availableBytesAt(static_cast<int>(place));
        const std::int64_t needed = estimate.arenaByPlace[place] + executor.overheadBytes();
        const std::string name = executor.nameOf(static_cast<int>(place));
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
std::vector<std::int64_t> neededByPlace(const Estimate& estimate, bool profiled, int workers)
{
    std::vector<std::int64_t> needed;
    for (std::size_t place = 0; place < estimate.arenaByPlace.size(); ++place)
        needed.push_back(std::max(estimate.arenaByPlace[place] + estimate.broughtByPlace[place],
                                  profiled && place == 0 ? limitsMemory(workers) : 0)
                         + processMemory(workers));
    return needed;
}

std::int64_t onThisHost(const std::vector<std::int64_t>& byPlace, const Team* team)
{
    std::int64_t sum = 0;
    for (std::size_t place = 0; place < byPlace.size(); ++place)
        if (team == nullptr || team->sameHost(static_cast<int>(place), team->place()))
            sum += byPlace[place];
    return sum;
}

/// The same of an executor that several processes have a part of.
std::vector<std::int64_t> neededByProcess(const Estimate& estimate, const Executor& executor, int processes)
{
    std::vector<std::int64_t> needed(static_cast<std::size_t>(processes), 0);
    for (std::size_t place = 0; place < estimate.arenaByPlace.size(); ++place)
        needed[static_cast<std::size_t>(executor.processOf(static_cast<int>(place)))] +=
            estimate.arenaByPlace[place] + executor.overheadBytes();
    return needed;
}

/// Who runs a program: without both the workers of this process, with both an executor of which each process has a part.
struct By {
    Executor* executor = nullptr;
    Team* team = nullptr;
};

/// Memory of all the devices or hosts that run a program, if all have as much as this one.
std::int64_t availableToAll(const RunLimits& limits, const By& by, const Program& program)
{
    if (limits.availableBytes > 0)
        return limits.availableBytes;
    if (by.executor != nullptr)
        return checkedMultiply(by.executor->availableBytes(), by.executor->placementOf(program.plan.mesh).places())
            .value_or(std::numeric_limits<std::int64_t>::max());
    int here = 0;
    for (int place = 0; by.team != nullptr && place < by.team->places(); ++place)
        here += by.team->sameHost(place, by.team->place()) ? 1 : 0;
    return here == 0
        ? availableMemory()
        : checkedMultiply(availableMemory(), by.team->places()).value_or(std::numeric_limits<std::int64_t>::max()) / here;
}

/// A plan that needs far more than there is need not be looked at to its end.
Estimate planWithin(std::int64_t available, const std::function<Estimate()>& plan)
{
    try {
        return plan();
    } catch (const Arena::TooMuch& needed) {
        throw Failure { "memory", tooMuchText("more than " + sizeText(needed.bytes) + " of memory", available), "" };
    }
}

RunResult run(const Program& program, const RunOptions& options, const RunHooks& hooks, const RunLimits& limits, const By& by)
{
    Executor* executor = by.executor;
    if (executor == nullptr && by.team == nullptr && options.backend != "cpu")
        failPlan("this runs on the cpu alone, not on '" + options.backend + "'", "options.backend");
    if (options.steps < 1 || options.steps > kMostSteps)
        failPlan("steps must be 1 to " + std::to_string(kMostSteps), "options.steps");
    checkProgram(program, options);
    if (executor != nullptr)
        executor->check(program, options);
    const auto passages = scheduleOf(program, options);
    const int workers = executor != nullptr ? 1 : limits.workers > 0 ? limits.workers : std::min(usableCores(), 64);
    const bool profiled = options.profile != ProfileMode::None;
    const std::int64_t available = availableToAll(limits, by, program);
    const Estimate estimate =
        planWithin(available, [&] { return plan(program, options, passages, hooks, workers, executor, by.team, available); });
    const auto byPlace = neededByPlace(estimate, profiled && executor == nullptr, workers);
    const std::int64_t needed = executor != nullptr
        ? estimate.arenaBytes + static_cast<std::int64_t>(estimate.arenaByPlace.size()) * executor->overheadBytes()
        : std::accumulate(byPlace.begin(), byPlace.end(), std::int64_t { 0 });
    if (by.team != nullptr && hooks.announceByProcess)
        hooks.announceByProcess(executor != nullptr ? neededByProcess(estimate, *executor, by.team->places()) : byPlace);
    if (hooks.announce)
        hooks.announce(needed, estimate.seconds);
    if (executor != nullptr && limits.availableBytes == 0)
        checkMemory(estimate, *executor);
    else
        checkMemory(executor != nullptr ? needed : onThisHost(byPlace, by.team),
                    limits.availableBytes > 0 ? limits.availableBytes : availableMemory());

    // Asked before the run takes its memory; nobody waits for it where all that moves is small.
    const std::int64_t cacheShare =
        executor == nullptr && estimate.arenaBytes > kLeastCacheShare ? cacheShareBytes() : kUsualCacheShare;
    TaskPool pool(workers, hooks.cancel);
    const MachineLimits limitsHere = !profiled || (by.team != nullptr && by.team->place() != 0) ? MachineLimits {}
        : executor != nullptr                                                                   ? executor->measureLimits()
                                                                                                : measureLimits(pool);
    DeviceMemory memory;
    std::optional<Arena> room;
    if (executor != nullptr) {
        room.emplace(executor->placementOf(program.plan.mesh), executor->reserveAll(estimate.arenaByPlace));
        if (limits.poison)
            room->poisonWith([executor](std::byte* first, std::int64_t bytes) { executor->poison(first, bytes); });
    } else {
        if (by.team != nullptr)
            room.emplace(placementOf(program, by.team), by.team->reserve(estimate.arenaByPlace));
        else
            room.emplace(estimate.arenaBytes);
        room->poison(limits.poison);
        room->onFirstUse([&](std::byte* first, std::int64_t bytes) { touchPages(pool, first, bytes); });
    }
    Arena& arena = *room;
    if (profiled)
        arena.countDevices(&memory);
    Context context { arena, &pool, workers, {}, options.profile == ProfileMode::Serial, executor, by.team };
    context.cacheShare = cacheShare;
    RunRecord record;
    Profiler profiler(program, memory, now());
    PassageRunner runner(program, options, hooks, context, record);
    runner.setSteps(stepsOf(options));
    if (by.team != nullptr)
        runner.showValues(by.team->showsValues());
    if (profiled)
        runner.setProfiler(&profiler);
    for (std::int64_t step = 0; step < stepsOf(options); ++step) {
        if (step == 1 && warmsUp(options)) {
            record.forgetTimes();
            profiler.beginMeasuring();
        }
        profiler.beginStep();
        runner.runStep(passages, options.verify && step == 0);
        record.endStep();
    }
    if (!options.breakCollective.empty() && !runner.broke())
        failPlan("the collective to break is not in the part that ran", "options.break_collective");

    RunResult result;
    result.backend = options.backend;
    result.devices = program.plan.mesh.deviceCount();
    result.steps = options.steps;
    result.layers = layersIn(passages);
    for (const Passage& passage : passages)
        result.tolerance = std::max(result.tolerance, toleranceOf(passage.segment->phase, options.designDtype));
    result.peakBytes = arena.highWater();
    record.finish(result);
    if (by.team != nullptr)
        by.team->meet(); // nobody's memory goes before all are done with it
    if (profiled && hooks.profile) {
        RunProfile profile = profiler.take(options.profile, workers);
        profile.limits = limitsHere;
        for (ProfiledDevice& device : profile.devices)
            device.announcedBytes = estimate.devices.peak(device.id);
        hooks.profile(profile);
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

RunOutcome runBy(const By& by, const Program& program, const RunOptions& options, const RunHooks& hooks, const RunLimits& limits)
{
    try {
        return run(program, options, hooks, limits, by);
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

RunOutcome runProgram(const Program& program, const RunOptions& options, const RunHooks& hooks, const RunLimits& limits)
{
    return runBy({}, program, options, hooks, limits);
}

RunOutcome runProgramOn(Executor& executor, const Program& program, const RunOptions& options, const RunHooks& hooks,
                        const RunLimits& limits)
{
    return runBy({ &executor, nullptr }, program, options, hooks, limits);
}

RunOutcome runProgramOn(Executor& executor, Team& team, const Program& program, const RunOptions& options, const RunHooks& hooks,
                        const RunLimits& limits)
{
    return runBy({ &executor, &team }, program, options, hooks, limits);
}

RunOutcome runProgramTogether(Team& team, const Program& program, const RunOptions& options, const RunHooks& hooks,
                              const RunLimits& limits)
{
    return runBy({ nullptr, &team }, program, options, hooks, limits);
}

} // namespace shardboard::engine

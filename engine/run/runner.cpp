// SPDX-License-Identifier: Apache-2.0
#include "engine/run/runner.h"

#include "engine/devices/executor.h"
#include "engine/devices/team.h"
#include "engine/run/prepare.h"
#include "engine/run/record/tolerance.h"
#include "engine/run/step/steprunner.h"

#include <algorithm>
#include <new>
#include <system_error>

namespace shardboard::engine {

namespace {

/// Of the first process, when the run is profiled.
MachineLimits limitsOf(const RunRequest& request, Executor& executor, TaskPool& pool)
{
    if (!request.profiled() || (request.team != nullptr && request.team->rank() != 0))
        return {};
    return executor.measureLimits(pool);
}

RunResult run(const RunRequest& request, Executor& executor)
{
    const RunOptions& options = request.options;
    const PreparedRun prepared = prepareRun(request, executor);

    // Asked before the run takes its memory.
    const std::int64_t cacheShare = executor.cacheShare(prepared.arenaBytes);
    TaskPool pool(prepared.workers, request.hooks.cancel);
    const MachineLimits limitsHere = limitsOf(request, executor, pool);
    DeviceMemory memory;
    Arena arena(prepared.deviceRanks, executor.reserve(prepared.arenaByRank, request.team));
    executor.ready(arena, pool, request.limits.poison);
    if (request.profiled())
        arena.countDevices(&memory);
    Context context { arena, executor, &pool, prepared.workers, {}, options.profile == ProfileMode::Serial, request.team };
    context.cacheShare = cacheShare;
    RunRecord record;
    Profiler profiler(request.program, memory, now());
    StepRunner runner(request, context, record, request.profiled() ? &profiler : nullptr);
    for (std::int64_t step = 0; step < request.steps(); ++step) {
        if (step > 0 && step == request.warmUps()) {
            record.forgetTimes();
            profiler.beginMeasuring();
        }
        profiler.beginStep();
        runner.runStep(prepared.passes, options.verify && step == 0);
        record.endStep();
    }
    if (!options.breakCollective.empty() && !runner.broke())
        failPlan("the collective to break is not in the part that ran", "options.break_collective");

    RunResult result;
    result.backend = options.backend;
    result.devices = request.program.plan.mesh.deviceCount();
    result.steps = options.steps;
    result.layers = layersIn(prepared.passes);
    for (const SegmentPass& pass : prepared.passes)
        result.tolerance = std::max(result.tolerance, toleranceOf(pass.segment->phase, options.designDtype));
    result.peakBytes = arena.highWater();
    record.finish(result);
    if (request.team != nullptr)
        request.team->hostBarrier(); // nobody's memory goes before all are done with it
    if (request.profiled() && request.hooks.profile) {
        RunProfile profile = profiler.take(options.profile, prepared.workers);
        profile.limits = limitsHere;
        for (ProfiledDevice& device : profile.devices)
            device.announcedBytes = prepared.devices.peak(device.id);
        request.hooks.profile(profile);
    }
    return result;
}

} // namespace

RunOutcome outcomeOf(const std::function<RunOutcome()>& work)
{
    try {
        return work();
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

RunOutcome runProgram(const RunRequest& request, Executor& executor)
{
    return outcomeOf([&]() -> RunOutcome { return run(request, executor); });
}

} // namespace shardboard::engine

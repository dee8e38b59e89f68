// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/context.h"

#include "engine/devices/team.h"

#include <algorithm>
#include <utility>

namespace shardboard::engine {

double Timing::slowest() const { return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end()); }

std::int64_t Timing::slowestDevice() const
{
    return seconds.empty() ? 0 : std::max_element(seconds.begin(), seconds.end()) - seconds.begin();
}

Timing& Timing::operator+=(const Timing& more)
{
    seconds.resize(std::max(seconds.size(), more.seconds.size()), 0.0);
    spans.resize(std::max(spans.size(), more.spans.size()));
    for (std::size_t i = 0; i < more.seconds.size(); ++i)
        seconds[i] += more.seconds[i];
    for (std::size_t i = 0; i < more.spans.size(); ++i) {
        const Span& other = more.spans[i];
        if (!spans[i].worked())
            spans[i] = other;
        else if (other.worked())
            spans[i] = { std::min(spans[i].start, other.start), std::max(spans[i].end, other.end) };
    }
    combined += more.combined;
    wall += more.wall;
    brought.insert(brought.end(), more.brought.begin(), more.brought.end());
    return *this;
}

Timing Timing::share(double part) const
{
    Timing out = *this;
    for (double& value : out.seconds)
        value *= part;
    out.combined *= part;
    out.wall *= part;
    for (Brought& message : out.brought)
        message.part *= part;
    return out;
}

void Context::hostBarrier() const
{
    if (team != nullptr)
        team->hostBarrier();
}

bool Context::does(std::size_t task, const Mesh& mesh, std::int64_t position) const
{
    if (team == nullptr)
        return true;
    if (sharesReference)
        return team->referenceRank() >= 0
            && task % team->referenceRanks().size() == static_cast<std::size_t>(team->referenceRank());
    return arena.deviceRanks().isOwn(mesh, position);
}

SharedReference::SharedReference(Context& context)
    : m_context(context)
    , m_before(std::exchange(context.sharesReference, true))
{
    context.hostBarrier();
}

namespace {

/// Those of the tasks that this process does.
std::vector<std::size_t> tasksHere(const Context& context, const Mesh& mesh, const std::vector<std::int64_t>& devices)
{
    std::vector<std::size_t> tasks;
    for (std::size_t i = 0; i < devices.size(); ++i)
        if (context.does(i, mesh, devices[i]))
            tasks.push_back(i);
    return tasks;
}

/// Device after device, and where there are several processes on this host one after the other.
void runOneAfterTheOther(Context& context, std::vector<std::size_t>& tasks, const std::vector<std::int64_t>& devices,
                         const std::function<void(std::size_t, int)>& run)
{
    std::stable_sort(tasks.begin(), tasks.end(), [&](std::size_t a, std::size_t b) { return devices[a] < devices[b]; });
    const auto runAll = [&] {
        context.pool->run(tasks.empty() ? 0 : 1, [&](std::int64_t, int worker) {
            for (const std::size_t i : tasks) {
                context.pool->checkCancelled();
                run(i, worker);
            }
        });
    };
    if (context.team == nullptr || context.sharesReference)
        return runAll();
    for (int rank = 0; rank < context.arena.deviceRanks().rankCount(); ++rank) {
        if (rank == context.arena.deviceRanks().own())
            runAll();
        if (context.team->sameHost(rank, context.arena.deviceRanks().own()))
            context.hostBarrier();
    }
}

} // namespace

void runTasks(Context& context, const Mesh& mesh, const std::vector<std::int64_t>& devices,
              const std::function<void(std::size_t, int)>& task)
{
    const auto tasks = tasksHere(context, mesh, devices);
    if (context.sharesReference)
        context.hostBarrier(); // the memory that is written to is ready at its rank
    context.pool->run(static_cast<std::int64_t>(tasks.size()),
                      [&](std::int64_t index, int worker) { task(tasks[static_cast<std::size_t>(index)], worker); });
    if (context.sharesReference)
        context.hostBarrier();
}

Timing runTimed(Context& context, const Mesh& mesh, const std::vector<std::int64_t>& devices,
                const std::function<double(std::size_t, int)>& task)
{
    struct Spent {
        double seconds = 0;
        double wall = 0;
        Timing::Span span;
        int worker = 0;
    };
    std::vector<Spent> spent(devices.size());
    const auto runOne = [&](std::size_t i, int worker) {
        Spent& mine = spent[i];
        mine.worker = worker;
        mine.span.start = now();
        const double start = coreSeconds();
        const double uncounted = task(i, worker);
        mine.seconds = std::max(0.0, coreSeconds() - start - uncounted);
        mine.span.end = now();
        mine.wall = std::max(0.0, mine.span.end - mine.span.start - uncounted);
    };
    std::vector<std::size_t> tasks = tasksHere(context, mesh, devices);
    const auto count = static_cast<std::int64_t>(tasks.size());
    if (context.sharesReference)
        context.hostBarrier();
    if (context.serial)
        runOneAfterTheOther(context, tasks, devices, runOne);
    else
        context.pool->run(count, [&](std::int64_t index, int worker) { runOne(tasks[static_cast<std::size_t>(index)], worker); });
    if (context.sharesReference)
        context.hostBarrier();

    Timing timing;
    timing.seconds.assign(static_cast<std::size_t>(mesh.deviceCount()), 0.0);
    timing.spans.assign(static_cast<std::size_t>(mesh.deviceCount()), {});
    std::vector<double> byWorker(static_cast<std::size_t>(context.pool->workers()), 0.0);
    for (const std::size_t i : tasks) {
        const auto device = static_cast<std::size_t>(devices[i]);
        Timing::Span& span = timing.spans[device];
        span = span.worked() ? Timing::Span { std::min(span.start, spent[i].span.start), std::max(span.end, spent[i].span.end) }
                             : spent[i].span;
        timing.seconds[device] += spent[i].seconds;
        timing.combined += spent[i].seconds;
        byWorker[static_cast<std::size_t>(spent[i].worker)] += spent[i].wall;
    }
    timing.wall = *std::max_element(byWorker.begin(), byWorker.end());
    if (!context.serial && count > 0)
        timing.combined /= static_cast<double>(std::min<std::int64_t>(context.pool->workers(), count));
    return timing;
}

} // namespace shardboard::engine

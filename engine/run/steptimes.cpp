// SPDX-License-Identifier: Apache-2.0
// What the executions of a run took, of all processes.
#include "engine/run/passagerunner.h"

#include "engine/run/hosttimes.h"
#include "engine/devices/team.h"

#include <vector>

namespace shardboard::engine {

std::string PassageRunner::idOf(const Passage& passage, const Op& op) const
{
    const std::string id = passage.planned->name + "/" + op.name;
    return m_ambiguous.contains(id) ? phaseName(passage.segment->phase) + " " + id : id;
}

void PassageRunner::recordTime(const RunOperation& what, double seconds, const Mesh& mesh, const Timing& timing, double start)
{
    m_record.addTime(what, seconds);
    if (m_hooks.sample)
        m_hooks.sample({ what.id, what.kind, mesh.deviceId(timing.slowestDevice()), start - m_begin, seconds, what.bytes });
}

void PassageRunner::recordOp(const RunOperation& what, const PlannedOp& planned, const Timing& timing, double start)
{
    if (!m_context.planning())
        record({ what, &planned, nullptr, place(), m_mesh, timing, start });
}

void PassageRunner::recordCollective(const Collective& collective, const Timing& timing, double start)
{
    if (m_context.planning())
        return;
    RunOperation what;
    what.id = collective.id;
    what.kind = collectiveName(collective.kind);
    what.predictedSeconds = collective.seconds;
    what.bytes = collective.bytes;
    record({ what, nullptr, &collective, place(), m_mesh, timing, start });
}

void PassageRunner::record(Execution execution)
{
    if (m_context.team == nullptr)
        return write(execution);
    m_record.expect(execution.what);
    m_executions.push_back(std::move(execution));
}

/// A collective ends for all devices at once, so its time is that of the work of all.
void PassageRunner::write(const Execution& execution)
{
    const Timing& timing = execution.timing;
    recordTime(execution.what, execution.op != nullptr ? timing.slowest() : timing.together, *execution.mesh, timing,
               execution.start);
    if (m_profiler == nullptr)
        return;
    if (execution.op != nullptr)
        m_profiler->add(execution.what, *execution.op, execution.place, *execution.mesh, timing);
    else
        m_profiler->add(execution.what, *execution.collective, execution.place, *execution.mesh, timing);
}

namespace {

/// As numbers that processes tell each other: as many for an execution everywhere.
void say(const Timing& timing, std::size_t devices, std::vector<double>& said)
{
    said.insert(said.end(), { timing.together, timing.wall });
    for (std::size_t i = 0; i < devices; ++i) {
        const bool has = i < timing.seconds.size();
        const Timing::Span span = has ? timing.spans[i] : Timing::Span {};
        said.insert(said.end(), { has ? timing.seconds[i] : 0.0, span.start, span.end });
    }
    for (const Timing::Brought& message : timing.brought)
        said.insert(said.end(), { message.span.start, message.span.end });
}

/// What another place has said. `own` is what this one has measured, which knows the parts of messages.
Timing heard(const double*& said, std::size_t devices, const Timing& own)
{
    const auto next = [&said] { return *said++; };
    Timing out;
    out.together = next();
    out.wall = next();
    for (std::size_t i = 0; i < devices; ++i) {
        out.seconds.push_back(next());
        const double start = next();
        out.spans.push_back({ start, next() });
    }
    for (const Timing::Brought& message : own.brought) {
        const double start = next();
        out.brought.push_back({ { start, next() }, message.part });
    }
    return out;
}

} // namespace

/// All have gone through the same executions, each of them with its own devices.
void PassageRunner::gatherTimes()
{
    const auto devicesOf = [](const Execution& execution) { return static_cast<std::size_t>(execution.mesh->deviceCount()); };
    std::vector<double> said;
    for (const Execution& execution : m_executions)
        say(execution.timing, devicesOf(execution), said);
    const auto all = m_context.team->gather(said);
    const auto clocks = m_context.team->clocks();
    std::vector<const double*> next;
    for (const std::vector<double>& one : all)
        next.push_back(one.data());
    for (Execution& execution : m_executions) {
        if (!leads())
            break;
        std::vector<Timing> byPlace;
        for (const double*& one : next)
            byPlace.push_back(heard(one, devicesOf(execution), execution.timing));
        execution.timing = timingOfAll(byPlace, clocks);
        write(execution);
    }
    m_executions.clear();
}

} // namespace shardboard::engine

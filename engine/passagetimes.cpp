// SPDX-License-Identifier: Apache-2.0
// What the executions of a run took, of all processes.
#include "engine/passagerunner.h"

#include "engine/team.h"

#include <algorithm>
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
    recordTime(execution.what, execution.op != nullptr ? timing.slowest() : timing.together, *execution.mesh, timing, execution.start);
    if (m_profiler == nullptr)
        return;
    if (execution.op != nullptr)
        m_profiler->add(execution.what, *execution.op, execution.place, *execution.mesh, timing);
    else
        m_profiler->add(execution.what, *execution.collective, execution.place, *execution.mesh, timing);
}

/// All have gone through the same executions, each of them with its own devices.
void PassageRunner::gatherTimes()
{
    std::vector<double> said;
    for (const Execution& execution : m_executions) {
        said.insert(said.end(), { execution.timing.together, execution.timing.wall });
        for (std::int64_t device = 0; device < execution.mesh->deviceCount(); ++device) {
            const auto i = static_cast<std::size_t>(device);
            const bool has = i < execution.timing.seconds.size();
            const Timing::Span span = has ? execution.timing.spans[i] : Timing::Span {};
            said.insert(said.end(), { has ? execution.timing.seconds[i] : 0.0, span.start, span.end });
        }
    }
    const auto all = m_context.team->gather(said);
    std::size_t next = 0;
    for (Execution& execution : m_executions) {
        const auto devices = static_cast<std::size_t>(execution.mesh->deviceCount());
        Timing sum;
        sum.seconds.assign(devices, 0.0);
        sum.spans.assign(devices, {});
        for (const std::vector<double>& one : all) {
            const double* values = one.data() + next;
            Timing timing;
            for (std::size_t i = 0; i < devices; ++i) {
                timing.seconds.push_back(values[2 + 3 * i]);
                timing.spans.push_back({ values[3 + 3 * i], values[4 + 3 * i] });
            }
            const double together = std::max(sum.together, values[0]); // it is over when the last one is
            const double wall = std::max(sum.wall, values[1]);
            sum += timing;
            sum.together = together;
            sum.wall = wall;
        }
        next += 2 + 3 * devices;
        execution.timing = std::move(sum);
        if (leads())
            write(execution);
    }
    m_executions.clear();
}

} // namespace shardboard::engine

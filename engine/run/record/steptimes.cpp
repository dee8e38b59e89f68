// SPDX-License-Identifier: Apache-2.0
#include "engine/run/record/steptimes.h"

#include "engine/devices/team.h"
#include "engine/run/record/hosttimes.h"

#include <map>
#include <utility>
#include <vector>

namespace shardboard::engine {

namespace {

/// As the numbers that processes exchange: as many for an execution in every process.
void encode(const Timing& timing, std::size_t devices, std::vector<double>& numbers)
{
    numbers.insert(numbers.end(), { timing.combined, timing.wall });
    for (std::size_t i = 0; i < devices; ++i) {
        const bool has = i < timing.seconds.size();
        const Timing::Span span = has ? timing.spans[i] : Timing::Span {};
        numbers.insert(numbers.end(), { has ? timing.seconds[i] : 0.0, span.start, span.end });
    }
    for (const Timing::Brought& message : timing.brought)
        numbers.insert(numbers.end(), { message.span.start, message.span.end });
}

/// What another process has measured. `own` is what this one has, which knows the parts of messages.
Timing decode(const double*& numbers, std::size_t devices, const Timing& own)
{
    const auto next = [&numbers] { return *numbers++; };
    Timing out;
    out.combined = next();
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

StepTimes::StepTimes(const RunRequest& request, const Context& context, const Stages& stages, RunRecord& record, Profiler* profiler)
    : m_request(request)
    , m_context(context)
    , m_stages(stages)
    , m_record(record)
    , m_profiler(profiler)
    , m_begin(now())
{
    const Program& program = request.program;
    std::map<std::string, Phase> phases;
    for (const PlannedSegment& planned : program.plan.segments)
        for (const PlannedOp& op : planned.ops)
            if (const std::string id = planned.name + "/" + program.graph.op(op.op).name;
                phases.emplace(id, planned.phase).first->second != planned.phase)
                m_ambiguous.insert(id);
}

std::string StepTimes::idOf(const SegmentPass& pass, const Op& op) const
{
    const std::string id = pass.planned->name + "/" + op.name;
    return m_ambiguous.contains(id) ? phaseName(pass.segment->phase) + " " + id : id;
}

void StepTimes::add(const SegmentPass& pass, const PlannedOp& planned, const Timing& timing, double start)
{
    if (m_context.planning())
        return;
    const Op& op = m_request.program.graph.op(planned.op);
    RunOperation what;
    what.id = idOf(pass, op);
    what.kind = opKindName(op.kind);
    what.predictedSeconds = planned.seconds;
    add({ &pass, std::move(what), &planned, nullptr, timing, start });
}

void StepTimes::add(const SegmentPass& pass, const Collective& collective, const Timing& timing, double start)
{
    if (m_context.planning())
        return;
    RunOperation what;
    what.id = collective.id;
    what.kind = collectiveName(collective.kind);
    what.predictedSeconds = collective.seconds;
    what.bytes = collective.bytes;
    add({ &pass, std::move(what), nullptr, &collective, timing, start });
}

void StepTimes::add(Execution execution)
{
    if (m_context.team == nullptr)
        return write(execution);
    m_record.expect(execution.what);
    m_executions.push_back(std::move(execution));
}

/// A collective ends for all devices at once, so its time is that of the work of all.
void StepTimes::write(const Execution& execution)
{
    const Timing& timing = execution.timing;
    const RunOperation& what = execution.what;
    const Mesh& mesh = meshOf(execution);
    const double seconds = execution.op != nullptr ? timing.slowest() : timing.combined;
    m_record.addTime(what, seconds);
    if (m_request.hooks.sample)
        m_request.hooks.sample(
            { what.id, what.kind, mesh.deviceId(timing.slowestDevice()), execution.start - m_begin, seconds, what.bytes });
    if (m_profiler != nullptr)
        m_profiler->add(execution, mesh);
}

/// All have gone through the same executions, each of them with its own devices.
void StepTimes::gather()
{
    if (m_context.team == nullptr || m_context.planning())
        return;
    const auto devicesOf = [&](const Execution& execution) { return static_cast<std::size_t>(meshOf(execution).deviceCount()); };
    std::vector<double> numbers;
    for (const Execution& execution : m_executions)
        encode(execution.timing, devicesOf(execution), numbers);
    const auto all = m_context.team->gather(numbers);
    const auto clocks = m_context.team->clocks();
    std::vector<const double*> next;
    for (const std::vector<double>& one : all)
        next.push_back(one.data());
    for (Execution& execution : m_executions) {
        if (next.empty())
            break; // not the first process
        std::vector<Timing> byRank;
        for (const double*& one : next)
            byRank.push_back(decode(one, devicesOf(execution), execution.timing));
        execution.timing = timingOfAll(byRank, clocks);
        write(execution);
    }
    m_executions.clear();
}

} // namespace shardboard::engine

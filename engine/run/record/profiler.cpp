// SPDX-License-Identifier: Apache-2.0
#include "engine/run/record/profiler.h"

#include "engine/machine/gemm.h"
#include "engine/machine/machine.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

/// Parts of executions that are kept: what crosses the pipe and opens in a viewer without trouble.
constexpr std::int64_t kMostSpans = 200000;

std::string deviceName(const Mesh& mesh, std::int64_t position)
{
    std::string at;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        at += (at.empty() ? "" : ", ") + mesh.axis(axis).name + " " + std::to_string(mesh.coordinate(position, axis));
    return "device " + std::to_string(mesh.deviceId(position)) + (at.empty() ? "" : " (" + at + ")");
}

/// The device groups of a collective, each once.
std::vector<std::vector<std::int64_t>> groupsOf(const Collective& collective, const Mesh& mesh)
{
    std::vector<std::vector<std::int64_t>> out;
    std::vector<int> axes;
    for (const int axis : collective.axes)
        if (axis < mesh.axisCount())
            axes.push_back(axis);
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        const auto group = mesh.group(position, axes);
        if (group.front() != position)
            continue;
        out.emplace_back();
        for (const std::int64_t member : group)
            out.back().push_back(mesh.deviceId(member));
    }
    return out;
}

} // namespace

double executedBytes(double plannedBytes, DType planned) { return plannedBytes * 4 * 8 / static_cast<double>(bitsOf(planned)); }

Profiler::Profiler(const Program& program, DeviceMemory& memory, double begin)
    : m_program(program)
    , m_memory(memory)
    , m_begin(begin)
{
}

void Profiler::beginMeasuring()
{
    m_profile.events.clear();
    m_profile.leftOut = 0;
    m_spans = 0;
    m_step = -1;
}

ProfileOperation Profiler::described(const Execution& execution, const Mesh& mesh) const
{
    const RunOperation& what = execution.what;
    ProfileOperation out;
    out.id = what.id;
    out.kind = what.kind;
    out.predictedSeconds = what.predictedSeconds;
    if (const PlannedOp* planned = execution.op; planned != nullptr) {
        out.flops = planned->work.flops;
        out.workBytes = executedBytes(planned->work.bytes, planned->work.dtype);
        return out;
    }
    const Collective& collective = *execution.collective;
    const TensorSpec& tensor = m_program.graph.tensor(collective.tensor);
    out.collective = true;
    out.bytes = static_cast<std::int64_t>(executedBytes(static_cast<double>(what.bytes), tensor.dtype));
    out.groupSize = collective.groupSize;
    out.tensor = tensor.name;
    if (collective.kind != CollectiveKind::LocalSlice) // of a send between stages each device's part is its own
        out.groups = groupsOf(collective, mesh);
    return out;
}

void Profiler::add(const Execution& execution, const Mesh& mesh)
{
    const auto [entry, isNew] = m_index.emplace(execution.what.id, m_profile.operations.size());
    if (isNew)
        m_profile.operations.push_back(described(execution, mesh));
    const Timing& timing = execution.timing;
    ProfileEvent event { static_cast<std::int64_t>(entry->second),
                         std::max<std::int64_t>(0, m_step),
                         execution.pass->layer,
                         execution.pass->microBatch,
                         timing.combined,
                         timing.wall,
                         {} };
    for (std::size_t position = 0; position < timing.spans.size(); ++position) {
        const std::int64_t id = mesh.deviceId(static_cast<std::int64_t>(position));
        const std::int64_t held = m_memory.takeRecentPeak(id);
        if (auto& peak = m_peaks[id]; held > peak.first)
            peak = { held, execution.what.id };
        const Timing::Span& span = timing.spans[position];
        if (span.worked())
            event.devices.push_back(
                { id, std::max(0.0, span.start - m_begin), std::max(0.0, span.end - m_begin), timing.seconds[position], held });
    }
    if (event.devices.empty())
        return;
    m_spans += static_cast<std::int64_t>(event.devices.size());
    if (m_spans > kMostSpans)
        ++m_profile.leftOut;
    else
        m_profile.events.push_back(std::move(event));
}

RunProfile Profiler::take(ProfileMode mode, int workers)
{
    m_profile.mode = mode;
    m_profile.machine = processorName() + ", " + gemmName();
    m_profile.workers = mode == ProfileMode::Serial ? 1 : workers;
    const Mesh& mesh = m_program.plan.mesh;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        const std::int64_t id = mesh.deviceId(position);
        m_profile.devices.push_back({ id, deviceName(mesh, position), 0, m_memory.peak(id), m_peaks[id].second });
    }
    return std::move(m_profile);
}

} // namespace shardboard::engine

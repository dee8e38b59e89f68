// SPDX-License-Identifier: Apache-2.0
#include "engine/run/schedule/stages.h"

#include "engine/devices/executor.h"
#include "engine/machine/failure.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

/// The devices of a mesh whose coordinate on the axis is `stage`, in order.
Mesh meshOfStage(const Mesh& mesh, int axis, std::int64_t stage)
{
    std::vector<MeshAxis> axes = mesh.axes();
    axes[static_cast<std::size_t>(axis)].size = 1;
    std::vector<std::int64_t> ids;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        if (mesh.coordinate(position, axis) == stage)
            ids.push_back(mesh.deviceId(position));
    auto made = Mesh::make(std::move(axes), std::move(ids), "mesh");
    if (!made.ok())
        failPlan(made.error().text(), "plan.pipeline");
    return std::move(made).value();
}

} // namespace

Stages::Stages(const Program& program)
    : m_program(program)
{
    const Plan& plan = program.plan;
    if (!plan.pipeline) {
        m_meshes.push_back(plan.mesh);
        return;
    }
    for (std::int64_t stage = 0; stage < plan.mesh.axis(plan.pipeline->axis).size; ++stage)
        m_meshes.push_back(meshOfStage(plan.mesh, plan.pipeline->axis, stage));
}

std::int64_t Stages::virtualStageCount(const Plan& plan)
{
    return plan.pipeline ? plan.mesh.axis(plan.pipeline->axis).size * plan.pipeline->chunks : 1;
}

bool Stages::isSend(const Collective& collective) const
{
    const Plan& plan = m_program.plan;
    return plan.pipeline && collective.kind == CollectiveKind::SendRecv
        && collective.axes == std::vector<int> { plan.pipeline->axis };
}

const Collective* Stages::streamSend(Phase phase) const
{
    const auto& collectives = m_program.plan.collectives;
    const auto found = std::find_if(collectives.begin(), collectives.end(), [&](const Collective& collective) {
        const PlannedSegment& planned = m_program.plan.segment(collective.plannedSegment);
        return isSend(collective) && planned.phase == phase
            && m_program.graph.segment(planned.segment).carryIn == collective.tensor;
    });
    return found == collectives.end() ? nullptr : &*found;
}

Resharded executeSend(Context& context, const Sharded& value, const Mesh& target, bool broken)
{
    Resharded out { Sharded(value.shape(), value.layout(), target), {} };
    if (out.tensor.deviceCount() != value.deviceCount())
        failPlan("the stages have different numbers of devices", "plan.pipeline");
    out.tensor.setElement(value.element());
    out.tensor.allocate(context.arena);
    context.work.touched += static_cast<double>(out.tensor.totalElements());
    out.timing = context.executor.send(context, value, broken, out.tensor);
    return out;
}

} // namespace shardboard::engine

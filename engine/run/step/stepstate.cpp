// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/stepstate.h"

#include "engine/devices/executor.h"
#include "engine/devices/team.h"

namespace shardboard::engine {

StepState::StepState(const RunRequest& request, Context& ofContext)
    : program(request.program)
    , graph(request.program.graph)
    , options(request.options)
    , hooks(request.hooks)
    , context(ofContext)
    , maker(request.program, request.options)
    , stages(request.program)
    , showsValues(ofContext.team != nullptr ? ofContext.team->showsValues() : static_cast<bool>(request.hooks.value))
{
    if (DeviceMemory* memory = context.arena.deviceMemory())
        for (const Mesh& ofStage : stages.meshes())
            memory->watch(ofStage);
}

Sharded StepState::fresh(const SegmentPass& pass, TensorId tensor, const Layout& layout) const
{
    Sharded out(graph.tensor(tensor).shape, layout, mesh(pass));
    out.setElement(context.executor.elementOf(maker.roundingOfTensor(tensor)));
    return out;
}

Sharded* StepState::current(TensorId tensor)
{
    const auto layout = layouts.find(tensor);
    return layout == layouts.end() ? nullptr : values.find(tensor, layout->second);
}

bool StepState::leads() const { return context.team == nullptr || context.team->rank() == 0; }

bool StepState::breaks(const Collective& collective)
{
    if (options.breakCollective.empty() || context.planning())
        return false;
    if (m_brokenId.empty() && options.breakCollective == "any" && collective.kind != CollectiveKind::LocalSlice
        && program.plan.mesh.groupSize(collective.axes) > 1)
        m_brokenId = collective.id;
    const bool breaksIt = collective.id == m_brokenId || collective.id == options.breakCollective;
    broke = broke || breaksIt;
    return breaksIt;
}

} // namespace shardboard::engine

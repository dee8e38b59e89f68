// SPDX-License-Identifier: Apache-2.0
#include "model/plan/planner/pickattempts.h"

#include <utility>
#include <vector>

namespace shardboard {

Mesh pickedMesh(const Mesh& mesh, const PipelineSpec& pipeline)
{
    if (!pipeline.present())
        return mesh;
    std::vector<MeshAxis> axes = mesh.axes();
    for (MeshAxis& axis : axes)
        if (axis.name == pipeline.axis)
            axis.size = 1;
    auto made = Mesh::make(std::move(axes), {}, "mesh");
    return made.ok() ? std::move(made).value() : mesh;
}

std::array<PickerOptions, 3> pickAttempts(OpKind kind, const PickerOptions& options)
{
    PickerOptions own;
    own.profile = options.profile;
    own.allowPartialToSharded = options.allowPartialToSharded;
    PickerOptions lenient;
    lenient.profile = options.profile;
    lenient.allowPartialToSharded = true;
    lenient.allowedTransitions = TransitionSet::all();
    // Such an operation says itself that a value is to be whole; nobody picks anything.
    return { kind == OpKind::GatherLast ? own : options, own, lenient };
}

} // namespace shardboard

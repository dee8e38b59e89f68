// SPDX-License-Identifier: Apache-2.0
// What a planner takes from a workload, in one place for the plan and for those who look for a better one.
#pragma once

#include "model/core/layout.h"
#include "model/hardware/hardware.h"
#include "model/ops/workload.h"
#include "model/plan/framework.h"
#include "model/plan/time/kernelworkof.h"

#include <algorithm>
#include <ranges>
#include <vector>

namespace shardboard {

/// Products are in fp8 where the device has units for them, else in the type of what they take, with nothing cast.
inline KernelSettings kernelSettings(const Workload& workload, const FrameworkFacts& framework, const Hardware& hardware)
{
    KernelSettings out;
    out.held = heldTypes(effective(workload), framework.types);
    out.software = workload.software;
    out.contextOrder = workload.contextOrder;
    out.inGraph = workload.graphs;
    out.fp8Products = storageType(workload) != workload.dtype && hardware.device.peak.fp8.has_value();
    out.fp8 = out.fp8Products ? effective(workload).fp8 : Fp8Settings {};
    out.computed = storageType(workload);
    out.expertsApart = framework.expertsApart;
    out.productCalls = framework.productCalls;
    out.dispatch = workload.dispatch;
    out.fixedExperts = workload.capacityFactor > 0;
    out.addsGradients = framework.addsGradients;
    return out;
}

/// The mesh axes of the optimizer cut the dim that divides, earlier before later; a weight without such a dim stays as it is.
inline void cutForOptimizer(std::vector<int> axes, const Shape& shape, const Mesh& mesh, Layout& layout)
{
    std::erase_if(axes, [&](int axis) {
        return std::ranges::any_of(layout.dims, [axis](const std::vector<AxisRef>& dim) {
            return std::ranges::any_of(dim, [axis](const AxisRef& ref) { return ref.axis == axis; });
        });
    });
    for (std::size_t dim = 0; dim < shape.size() && !axes.empty(); ++dim) {
        std::int64_t parts = mesh.groupSize(axes);
        for (const AxisRef& ref : layout.dims[dim])
            parts *= ref.whole() ? mesh.axis(ref.axis).size : ref.size;
        if (shape[dim] % parts != 0 || !(layout.cuttingOf(dim) == Cutting {}))
            continue;
        for (const int axis : axes)
            layout.dims[dim].push_back({ axis });
        return;
    }
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/plan/reprice.h"

#include "model/cost/collectivetime.h"
#include "model/cost/kerneltime.h"
#include "model/plan/pipeline.h"
#include "model/plan/steptime.h"

#include <algorithm>

namespace shardboard {

double occurrenceSeconds(const Plan& plan, const Collective& collective, const Hardware& hardware)
{
    if (isStageSend(plan, collective))
        return sendSeconds(collective, plan.mesh, hardware);
    const LinkSpec& link = linkOf(collective.axes, plan.mesh, hardware);
    if (collective.kind != CollectiveKind::SendRecv)
        return collectiveSeconds(collective.kind, collective.bytes, collective.groupSize, link);
    const std::int64_t hops = std::max<std::int64_t>(1, collective.groupSize - 1);
    return static_cast<double>(hops) * collectiveSeconds(collective.kind, collective.bytes / hops, 2, link);
}

void reprice(const Graph& graph, Plan& plan, const Hardware& hardware, DType dtype)
{
    for (PlannedSegment& segment : plan.segments)
        for (PlannedOp& op : segment.ops)
            op.seconds = kernelSeconds(op.work, hardware);
    for (Collective& collective : plan.collectives)
        collective.seconds = occurrenceSeconds(plan, collective, hardware);
    setStepTimes(graph, plan);
    plan.performance.rate(plan.seconds(), static_cast<double>(plan.mesh.deviceCount()), hardware.peakFlops(dtype));
}

} // namespace shardboard

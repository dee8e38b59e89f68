// SPDX-License-Identifier: Apache-2.0
#include "model/plan/hostcopies.h"

#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

double hostCopySeconds(const Graph& graph, const Plan& plan)
{
    double sum = 0;
    for (std::size_t i = 0; i < plan.segments.size(); ++i)
        if (plan.segments[i].host.seconds > 0)
            sum += plan.segments[i].host.seconds * busiestShare(graph, plan, PlannedSegmentId(i));
    return sum;
}

double collectiveSecondsAlone(const Graph& graph, const Plan& plan)
{
    return std::max(0.0, plan.device.collectives - hostCopySeconds(graph, plan));
}

} // namespace shardboard

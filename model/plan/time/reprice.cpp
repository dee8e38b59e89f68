// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/reprice.h"

#include "model/cost/kerneltime.h"
#include "model/plan/collectiveprice.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/hosttime.h"
#include "model/plan/time/steptime.h"

#include <algorithm>
#include <utility>

namespace shardboard {

std::int64_t hopsOf(const Plan& plan, const Collective& collective)
{
    if (isStageSend(plan, collective))
        return 1;
    const bool ring = collective.kind == CollectiveKind::SendRecv && collective.step.before == collective.step.after;
    return ring ? std::max<std::int64_t>(1, collective.groupSize - 1) : 1;
}

void setReserved(Plan& plan, const Hardware& hardware)
{
    const auto reserved = static_cast<std::int64_t>(hardware.reservedBytes());
    const std::int64_t more = reserved - std::exchange(plan.reservedBytes, reserved);
    if (more == 0)
        return;
    const auto add = [more](MemoryByCause& memory) {
        memory.runtime += more;
        memory.peak = memory.total();
        memory.least += more;
        memory.most += more;
    };
    add(plan.memory);
    if (plan.pipeline)
        std::ranges::for_each(plan.pipeline->memory, add);
}

void reprice(const Graph& graph, Plan& plan, const Hardware& hardware, DType dtype)
{
    CollectivePrices prices(plan.mesh, hardware);
    for (PlannedSegment& segment : plan.segments) {
        segment.host.seconds = hostSeconds(segment.host, hardware.device);
        for (PlannedOp& op : segment.ops)
            op.seconds = kernelSeconds(op.work, hardware);
    }
    for (Collective& collective : plan.collectives) {
        if (isStageSend(plan, collective)) {
            priceSend(collective, prices);
            continue;
        }
        setPrice(collective, collective.bytes, prices);
        if (const std::int64_t hops = hopsOf(plan, collective); hops > 1)
            collective.seconds =
                static_cast<double>(hops) * prices.seconds(collective.kind, collective.axes, collective.bytes / hops);
    }
    waitForHost(graph, plan, hardware);
    plan.kernelShare = kernelShareOf(hardware.device);
    setStepTimes(graph, plan);
    setReserved(plan, hardware);
    plan.performance.rate(plan.seconds(), static_cast<double>(plan.mesh.deviceCount()), hardware.peakFlops(dtype));
}

} // namespace shardboard

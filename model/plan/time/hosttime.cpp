// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/hosttime.h"

#include "model/cost/kerneltime.h"

#include <algorithm>

namespace shardboard {

namespace {

void waitForHost(PlannedSegment& segment, const KernelConstants& kernels)
{
    double device = 0;
    double host = 0;
    for (const PlannedOp& op : segment.ops) {
        device += static_cast<double>(op.count) * op.seconds;
        host += static_cast<double>(op.count) * hostSeconds(op.work, kernels);
    }
    if (host <= device)
        return;
    const double waiting = (host - device) / host;
    for (PlannedOp& op : segment.ops)
        op.seconds += waiting * hostSeconds(op.work, kernels);
}

} // namespace

bool startsFromHost(const Plan& plan, const Hardware& hardware)
{
    const auto updates = [](const PlannedSegment& segment) { return segment.phase == Phase::Update; };
    return hardware.device.kernels.hostSeconds > 0 && std::ranges::any_of(plan.segments, updates);
}

void waitForHost(Plan& plan, const Hardware& hardware)
{
    if (!startsFromHost(plan, hardware))
        return;
    for (PlannedSegment& segment : plan.segments)
        waitForHost(segment, hardware.device.kernels);
}

} // namespace shardboard

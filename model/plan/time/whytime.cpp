// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/whytime.h"

#include "model/cost/kernellimits.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/steptime.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardboard {

namespace {

/// The part of a kernel's time that its start takes, with what the device waits for the host.
double startSeconds(const PlannedOp& op, const KernelLimits& limits)
{
    return std::min(op.seconds, limits.start + std::max(0.0, op.seconds - limits.device));
}

} // namespace

std::string timeCauseName(TimeCauseKind kind)
{
    switch (kind) {
    case TimeCauseKind::Compute:
        return "compute";
    case TimeCauseKind::Memory:
        return "memory";
    case TimeCauseKind::Start:
        return "start";
    case TimeCauseKind::Collective:
        return "collective";
    case TimeCauseKind::Bubble:
        break;
    }
    return "bubble";
}

std::vector<TimeCause> whyTime(const Graph& graph, const Plan& plan, const Hardware& hardware)
{
    std::map<std::pair<TimeCauseKind, std::string>, double> sums;
    const auto add = [&](TimeCauseKind kind, const std::string& what, double seconds) { sums[{ kind, what }] += seconds; };
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const double share = busiestShare(graph, plan, PlannedSegmentId(s));
        for (const PlannedOp& op : plan.segments[s].ops) {
            const KernelLimits limits = kernelLimits(op.work, hardware);
            const double start = startSeconds(op, limits);
            const double count = static_cast<double>(op.count) * share;
            add(TimeCauseKind::Start, {}, count * start);
            add(limits.computes ? TimeCauseKind::Compute : TimeCauseKind::Memory, opKindName(graph.op(op.op).kind),
                count * (op.seconds - start));
        }
    }
    const StepTimes times = stepTimes(graph, plan);
    for (const OverlapKind kind : kOverlapKinds)
        add(TimeCauseKind::Collective, overlapKindName(kind), times.deviceExposed[static_cast<std::size_t>(kind)]);
    add(TimeCauseKind::Bubble, {}, plan.device.bubble);
    std::vector<TimeCause> out;
    for (const auto& [cause, seconds] : sums)
        if (seconds > 0)
            out.push_back({ cause.first, cause.second, seconds });
    std::ranges::sort(out, std::ranges::greater {}, &TimeCause::seconds);
    return out;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/plan/plansteps.h"

#include <algorithm>

namespace shardboard {

namespace {

int indexOf(const std::vector<PlanStep>& steps, const PlanStep& step, bool anyOperation)
{
    const auto found = std::ranges::find_if(
        steps, [&](const PlanStep& it) { return anyOperation ? it.collective == step.collective : it == step; });
    return found == steps.end() ? -1 : static_cast<int>(found - steps.begin());
}

} // namespace

std::vector<PlanStep> planSteps(const Plan& plan)
{
    std::vector<PlanStep> out;
    std::vector<bool> seen(plan.collectives.size(), false);
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const auto& ops = plan.segments[s].ops;
        const PlannedSegmentId segment(s);
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const PlannedOpId operation(i);
            for (const OperandUse& use : ops[i].operands)
                for (const CollectiveId collective : use.collectives) {
                    if (collective >= seen.size() || seen[collective])
                        continue;
                    seen[collective] = true;
                    out.push_back({ segment, operation, collective });
                }
            out.push_back({ segment, operation, {} });
        }
        for (std::size_t c = 0; c < seen.size(); ++c)
            if (!seen[c] && plan.collectives[c].plannedSegment == segment
                && std::ranges::none_of(ops, [&](const PlannedOp& op) { return op.op == plan.collectives[c].op; })) {
                seen[c] = true;
                out.push_back({ segment, lastId(ops), CollectiveId(c) });
            }
    }
    return out;
}

int stepOfCollective(const std::vector<PlanStep>& steps, CollectiveId collective)
{
    return collective.valid() ? indexOf(steps, { {}, {}, collective }, true) : -1;
}

int stepOfOperation(const std::vector<PlanStep>& steps, PlannedSegmentId segment, PlannedOpId operation)
{
    return indexOf(steps, { segment, operation, {} }, false);
}

} // namespace shardboard

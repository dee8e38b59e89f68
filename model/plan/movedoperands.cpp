// SPDX-License-Identifier: Apache-2.0
#include "model/plan/movedoperands.h"

#include "model/core/checked.h"
#include "model/ops/opdefinition.h"
#include "model/text/text.h"

namespace shardboard {

namespace {

bool saysItself(OpKind kind) { return kind == OpKind::GatherLast || kind == OpKind::ReduceGrad || isStep(kind); }

/// `all-reduce over model, then local-slice over data`; adds their bytes.
std::string howItMoves(const Plan& plan, const OperandUse& use, std::int64_t& bytes)
{
    std::string text;
    for (const CollectiveId index : use.collectives) {
        const Collective& collective = plan.collective(index);
        std::vector<std::string> names;
        for (const int axis : collective.axes)
            names.push_back(plan.mesh.axis(axis).name);
        text += (text.empty() ? "" : ", then ") + collectiveName(collective.kind) + " over " + joined(names, " and ");
        bytes = checkedAdd(bytes, checkedMultiply(collective.bytes, collective.count).value_or(bytes)).value_or(bytes);
    }
    return text.empty() ? "no data" : text;
}

} // namespace

std::vector<MovedOperand> movedOperands(const Graph& graph, const Plan& plan)
{
    std::vector<MovedOperand> out;
    for (const PlannedSegment& segment : plan.segments)
        for (const PlannedOp& planned : segment.ops) {
            const Op& op = graph.op(planned.op);
            if (saysItself(op.kind))
                continue;
            for (const OperandUse& use : planned.operands) {
                if (use.before == use.layout)
                    continue;
                MovedOperand moved;
                moved.where = segment.name + "/" + op.name;
                const std::string& name = graph.tensor(use.tensor).name;
                const std::string to = specText(use.layout, plan.mesh);
                moved.what = "moves " + name + " from " + specText(use.before, plan.mesh) + " to " + to + ": ";
                moved.what += howItMoves(plan, use, moved.bytes);
                moved.fix = "reshard " + name + " to " + to + " before it, or change the layouts that lead to it";
                out.push_back(std::move(moved));
            }
        }
    return out;
}

} // namespace shardboard

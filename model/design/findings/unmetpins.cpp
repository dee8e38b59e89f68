// SPDX-License-Identifier: Apache-2.0
// Pins that could not be met everywhere: the picker left them aside.
#include "model/design/findings/finders.h"
#include "model/plan/planner/linkprice.h"
#include "model/plan/planner/pickattempts.h"
#include "model/plan/planner/pinning.h"
#include "model/plan/planner/reasons.h"
#include "model/text/text.h"

#include <algorithm>
#include <map>

namespace shardboard {

namespace {

struct Unmet {
    std::vector<std::string> where; ///< `block/self_attn.attention over model`
    std::string why; ///< of the first
};

std::string reason(const FinderInput& input, const PlannedOp& planned, const std::vector<AxisPin>& pins, const AxisPin& pin)
{
    const Graph& graph = input.evaluation.graph;
    const Op& op = graph.op(planned.op);
    const Mesh mesh = pickedMesh(input.mesh(), input.design.pipeline);
    std::vector<PickOperand> operands;
    for (const OperandUse& use : planned.operands)
        operands.push_back(pickOperand(graph.entry(use.tensor), use.before, mesh));
    ReshardPlanner resharding(mesh, input.hardware);
    const LinkPrice links = linkPrice(resharding);
    const auto rows = judgeRows({ op.kind, operands, graph.tensor(op.result).shape, mesh,
                                  pickAttempts(op.kind, input.design.picker).front(), pins, op.name, &links });
    if (rows.ok())
        for (const JudgedRow& row : rows.value())
            if (row.axis == pin.axis && pin.meets(row.row) && !row.possible())
                return refusalText(graph, input.mesh(), planned.op, row);
    return "no row of it does that";
}

} // namespace

void findUnmetPins(const FinderInput& input, FindingList& out)
{
    const Evaluation& evaluation = input.evaluation;
    const auto anyUnmet = [](const PlannedSegment& segment) {
        return std::ranges::any_of(segment.ops, [](const PlannedOp& op) { return !op.unmet.empty(); });
    };
    if (std::ranges::none_of(evaluation.plan.segments, anyUnmet))
        return;
    const Pinning pinning(evaluation.graph, input.mesh(), input.design.pins, input.design.picker.profile);
    std::map<int, Unmet> byPin;
    for (const PlannedSegment& segment : evaluation.plan.segments)
        for (const PlannedOp& planned : segment.ops)
            for (const int axis : planned.unmet)
                for (const AxisPin& pin : pinning.of(planned.op)) {
                    if (pin.axis != axis || pin.pin < 0)
                        continue;
                    Unmet& unmet = byPin[pin.pin];
                    if (unmet.where.empty())
                        unmet.why = reason(input, planned, pinning.of(planned.op), pin);
                    unmet.where.push_back(segment.name + "/" + evaluation.graph.op(planned.op).name + " over "
                                          + input.mesh().axis(axis).name);
                }
    for (const auto& [index, unmet] : byPin) {
        const Pin& pin = input.design.pins[static_cast<std::size_t>(index)];
        if (isDeadPin(input, pin))
            continue;
        const std::string more =
            unmet.where.size() > 1 ? " and " + std::to_string(unmet.where.size() - 1) + " more" : std::string();
        std::optional<Repair> fix;
        if (pin.source.empty()) // one of a preset holds for other operations too
            fix = Repair { "Remove the pin " + pinText(pin), { RemovePin { index } } };
        out.add({ "pin-unmet", pin.source.empty() ? Severity::Warning : Severity::Note, pinText(pin), 0,
                  "pin " + std::to_string(index + 1) + (pin.source.empty() ? std::string() : " of " + pin.source)
                      + " was ignored at " + unmet.where.front() + more + ": " + unmet.why,
                  pin.source.empty() ? "remove the pin, or pin what is possible"
                                     : "pin those operations by hand if another row is wanted" },
                std::move(fix));
    }
}

} // namespace shardboard

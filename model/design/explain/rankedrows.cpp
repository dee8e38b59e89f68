// SPDX-License-Identifier: Apache-2.0
#include "model/design/explain/rankedrows.h"

#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "model/plan/largestshard.h"
#include "model/plan/planner/linkprice.h"
#include "model/plan/planner/pickattempts.h"
#include "model/plan/planner/reasons.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

CollectiveKind moveOf(const Placement& from, const Placement& to)
{
    if (from.partial())
        return to.sharded() ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
    if (from.sharded())
        return to.sharded() ? CollectiveKind::AllToAll : CollectiveKind::AllGather;
    return CollectiveKind::LocalSlice;
}

/// The same with another placement over one mesh axis, which becomes the minor one of its dim.
Layout withPlacement(Layout layout, int axis, const Placement& placement)
{
    const auto isAxis = [&](const AxisRef& ref) { return ref.axis == axis; };
    for (auto& dim : layout.dims)
        std::erase_if(dim, isAxis);
    std::erase_if(layout.partial, isAxis);
    if (placement.sharded())
        layout.dims[static_cast<std::size_t>(placement.dim)].push_back({ axis });
    return layout;
}

class RowRanker {
public:
    RowRanker(const Design& design, const Evaluation& evaluation, const Pinning& pinning, PlannedSegmentId segment, PlannedOpId op)
        : m_design(design)
        , m_evaluation(evaluation)
        , m_mesh(pickedMesh(evaluation.plan.mesh, design.pipeline))
        , m_segment(evaluation.plan.segment(segment))
        , m_planned(m_segment.ops[static_cast<std::size_t>(op)])
        , m_op(evaluation.graph.op(m_planned.op))
        , m_pins(operationPins(evaluation.graph, pinning, m_planned.op, evaluation.plan.layouts,
                               [&](std::size_t i) -> const Layout& { return m_planned.operands[i].before; }))
    {
    }

    std::vector<AxisExplanation> rank()
    {
        const auto hardware = hardwareOf(m_design);
        if (!hardware.ok() || !isPicked(m_op.kind))
            return {};
        m_hardware = &hardware.value();
        std::vector<PickOperand> operands;
        for (const OperandUse& use : m_planned.operands)
            operands.push_back(pickOperand(m_evaluation.graph.entry(use.tensor), use.before, m_mesh));
        const Shape& result = m_evaluation.graph.tensor(m_op.result).shape;
        ReshardPlanner resharding(m_mesh, *m_hardware);
        m_prices = &resharding.prices();
        const LinkPrice links = linkPrice(resharding);
        const auto attempts = pickAttempts(m_op.kind, m_design.picker);
        const auto judge = [&](const PickerOptions& picker) {
            return judgeRows({ m_op.kind, operands, result, m_mesh, picker, m_pins, m_op.name, &links });
        };
        auto judged = judge(attempts[0]);
        for (std::size_t i = 1; i < attempts.size() && !judged.ok(); ++i)
            judged = judge(attempts[i]);
        if (!judged.ok())
            return {};
        std::vector<AxisExplanation> out;
        for (const JudgedRow& row : judged.value()) {
            if (out.empty() || out.back().axis != row.axis)
                out.emplace_back().axis = row.axis;
            out.back().rows.push_back(ranked(row));
        }
        for (AxisExplanation& axis : out) {
            missingRows(axis, operands, result);
            decide(axis);
        }
        return out;
    }

private:
    const std::string& axisName(int axis) const { return m_mesh.axis(axis).name; }
    /// What the profile ranks by: else by bytes.
    bool byTime() const { return m_design.picker.profile == PickerProfile::Shardboard; }
    std::string priceOf(const RankedRow& row) const
    {
        return byTime() ? secondsText(row.seconds)
                        : bytesText(static_cast<std::int64_t>(std::llround(row.cost))) + " as MAX counts";
    }

    const AxisPin* pinOn(int axis) const
    {
        const auto pin = std::ranges::find_if(m_pins, [&](const AxisPin& p) { return p.axis == axis; });
        return pin == m_pins.end() ? nullptr : &*pin;
    }

    RankedRow ranked(const JudgedRow& judged)
    {
        RankedRow out;
        out.axis = judged.axis;
        out.row = rowText(judged.row);
        for (const Placement& placement : judged.row.operands)
            out.operands.push_back(placement.code());
        out.result = judged.row.result.code();
        if (!judged.possible()) {
            out.verdict = RankedRow::Verdict::Impossible;
            out.why = refusalText(m_evaluation.graph, m_mesh, m_planned.op, judged);
            out.isPartialOnly = judged.refusal->kind == Refusal::Kind::NotPartial;
            return out;
        }
        out.verdict = judged.picked ? RankedRow::Verdict::Picked
            : judged.refusal        ? RankedRow::Verdict::Refused
                                    : RankedRow::Verdict::Allowed;
        if (judged.refusal && !judged.picked)
            out.why = judged.refusal->reason;
        out.cost = judged.cost;
        out.rank = byTime() ? judged.seconds : judged.cost;
        if (judged.picked)
            addPlanned(out);
        else
            addMoves(out, judged);
        for (const RowMove& move : out.moves)
            out.seconds += move.seconds;
        if (!judged.picked)
            addPin(out);
        return out;
    }

    /// What was picked is in the plan.
    void addPlanned(RankedRow& out) const
    {
        for (const OperandUse& use : m_planned.operands)
            for (const CollectiveId id : use.collectives) {
                const Collective& it = m_evaluation.plan.collective(id);
                if (contains(it.axes, out.axis))
                    out.moves.push_back({ it.kind, static_cast<int>(&use - m_planned.operands.data()), it.tensor, it.bytes,
                                          it.seconds, it.axes.size() > 1 ? it.axes : std::vector<int>() });
            }
    }

    void addMoves(RankedRow& out, const JudgedRow& judged) const
    {
        const int axis = judged.axis;
        const std::int64_t n = m_mesh.axis(axis).size;
        const auto add = [&](int index, const ReshardStep& step, std::int64_t ringHops) {
            const OperandUse& use = m_planned.operands[static_cast<std::size_t>(index)];
            const GraphTensor& tensor = m_evaluation.graph.entry(use.tensor);
            RowMove move { step.kind, index, use.tensor };
            if (ringHops > 0) {
                const std::int64_t part =
                    scaledBytes(bytesOf(largestShard(tensor.spec.shape, step.before, m_mesh), tensor.spec.dtype), tensor.density);
                move.bytes = part * ringHops;
                move.seconds = static_cast<double>(ringHops) * m_prices->seconds(step.kind, { axis }, part);
            } else {
                move.bytes =
                    scaledBytes(stepBytes(step, tensor.spec.shape, movedType(tensor.spec.packing, tensor.spec.dtype), m_mesh),
                                tensor.density * movedShare(tensor.spec, tensor.spec.dtype));
                move.seconds = m_prices->seconds(step.kind, { axis }, move.bytes);
            }
            out.moves.push_back(move);
        };
        for (std::size_t i = 0; i < m_planned.operands.size(); ++i) {
            const Layout& before = m_planned.operands[i].before;
            const Placement from = placementOn(before, axis);
            const Placement& to = judged.row.operands[i];
            if (from != to)
                add(static_cast<int>(i), { moveOf(from, to), { axis }, before, withPlacement(before, axis, to) }, 0);
        }
        for (const int ring : judged.row.ring) {
            const Layout parts = withPlacement(m_planned.operands[static_cast<std::size_t>(ring)].before, axis,
                                               judged.row.operands[static_cast<std::size_t>(ring)]);
            add(ring, { CollectiveKind::SendRecv, { axis }, parts, parts }, n - 1);
        }
    }

    void addPin(RankedRow& out) const
    {
        if (!byTime())
            return; // profiles of MAX know no pins
        Pin pin;
        pin.match = pinnableName(m_evaluation.graph, m_planned.op);
        pin.axis = axisName(out.axis);
        pin.row = out.row;
        out.edit = Repair { "Pin " + pin.match + " over " + pin.axis + " to " + pin.row, { SetPin { pin } } };
        out.pin = std::move(pin);
    }

    /// What our own profile could pick and the chosen one has no row for.
    void missingRows(AxisExplanation& axis, const std::vector<PickOperand>& operands, const Shape& result) const
    {
        if (m_design.picker.profile == PickerProfile::Shardboard)
            return;
        std::vector<Shape> shapes;
        for (const PickOperand& it : operands)
            shapes.push_back(it.shape);
        for (const Row& row : ruleOf(m_op.kind).rows(shapes, result, PickerProfile::Shardboard)) {
            const std::string text = rowText(row);
            if (std::ranges::any_of(axis.rows, [&](const RankedRow& known) { return known.row == text; }))
                continue;
            RankedRow out;
            out.axis = axis.axis;
            out.row = text;
            for (const Placement& placement : row.operands)
                out.operands.push_back(placement.code());
            out.result = row.result.code();
            out.verdict = RankedRow::Verdict::Impossible;
            out.why = "profile " + profileName(m_design.picker.profile) + " has no such row, profile shardboard does";
            axis.rows.push_back(std::move(out));
        }
    }

    void decide(AxisExplanation& axis) const
    {
        const auto picked =
            std::ranges::find_if(axis.rows, [](const RankedRow& row) { return row.verdict == RankedRow::Verdict::Picked; });
        if (picked == axis.rows.end())
            return;
        const AxisPin* pin = pinOn(axis.axis);
        const bool unmet = contains(m_planned.unmet, axis.axis);
        if (pin != nullptr && unmet) {
            axis.unmet = pin->why + ", which no row that is possible does";
            axis.unmetPin = pin->pin;
        } else if (pin != nullptr && !pin->tieOnly) {
            axis.by = AxisExplanation::By::Pin;
            axis.why = pin->why;
            axis.pin = pin->pin;
            addUnpin(axis);
            return;
        }
        std::vector<const RankedRow*> allowed;
        for (const RankedRow& row : axis.rows)
            if (row.verdict == RankedRow::Verdict::Picked || row.verdict == RankedRow::Verdict::Allowed)
                allowed.push_back(&row);
        const std::string price =
            picked->seconds == 0 && picked->cost == 0 ? std::string("moves nothing") : "costs " + priceOf(*picked);
        if (allowed.size() == 1) {
            axis.by = AxisExplanation::By::OnlyRow;
            axis.why = "the only row that shapes and policy allow; it " + price;
            return;
        }
        if (allowed.front() != &*picked) {
            axis.by = AxisExplanation::By::Together;
            axis.why = "the cheapest that can be combined with what the other mesh axes take; it " + price;
            return;
        }
        const RankedRow& next = *allowed[1];
        if (next.rank == picked->rank) {
            axis.by = AxisExplanation::By::Tie;
            const bool byWeight = pin != nullptr && pin->tieOnly;
            const bool same = !byTime() || next.seconds == picked->seconds;
            axis.why = "it " + price + (same ? ", as " + next.row + " does; " : ", and ranks like " + next.row + "; ")
                + (byWeight ? "this one has the layout of the weight" : "the rule has it first");
            return;
        }
        // By what is told of them; the rank may be of something else.
        const RankedRow& second =
            byTime() ? **std::ranges::min_element(allowed.begin() + 1, allowed.end(), {}, &RankedRow::seconds) : next;
        axis.why = "the cheapest of " + std::to_string(allowed.size()) + ": it " + price + ", the next, " + second.row + ", costs "
            + priceOf(second);
        if (byTime() && second.seconds < picked->seconds) // what the rank is of
            axis.why += std::ranges::any_of(second.moves, [](const RowMove& m) { return m.kind == CollectiveKind::AllToAll; })
                ? " and ranks as the gather that what follows mostly wants"
                : " here and more with even shards";
    }

    void addUnpin(AxisExplanation& axis) const
    {
        if (axis.pin < 0 || axis.pin >= static_cast<int>(m_design.pins.size()))
            return;
        axis.unpin =
            Repair { "Remove the pin " + pinText(m_design.pins[static_cast<std::size_t>(axis.pin)]), { RemovePin { axis.pin } } };
    }

    const Design& m_design;
    const Evaluation& m_evaluation;
    const Mesh m_mesh;
    const PlannedSegment& m_segment;
    const PlannedOp& m_planned;
    const Op& m_op;
    std::vector<AxisPin> m_pins;
    const Hardware* m_hardware = nullptr;
    CollectivePrices* m_prices = nullptr; ///< while ranking
};

} // namespace

bool isPicked(OpKind kind) { return kind != OpKind::ReduceGrad && !isStep(kind); }

std::string pinnableName(const Graph& graph, OpId op)
{
    const std::string& name = graph.op(op).name;
    const std::string* segment = nullptr;
    int same = 0;
    for (const Segment& it : graph.segments)
        for (const OpId id : it.ops) {
            if (id == op)
                segment = &it.name;
            same += graph.op(id).name == name ? 1 : 0;
        }
    return same > 1 && segment != nullptr ? *segment + "/" + name : name;
}

std::vector<AxisExplanation> rankedRows(const Design& design, const Evaluation& evaluation, const Pinning& pinning,
                                        PlannedSegmentId segment, PlannedOpId op)
{
    return RowRanker(design, evaluation, pinning, segment, op).rank();
}

} // namespace shardboard

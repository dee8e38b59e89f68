// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/commands/explaintext.h"

#include "app/ctl/table.h"
#include "app/ctl/visibleoutput.h"
#include "model/io/design/designkeys.h"
#include "model/plan/pipeline.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

/// `-3.1 %`; more digits for small ones.
std::string change(double before, double after)
{
    if (before == after)
        return "same";
    if (before == 0)
        return "new";
    const double percent = (after / before - 1) * 100;
    return formatted("%+.*f %%", std::abs(percent) < 1 ? 2 : std::abs(percent) < 10 ? 1 : 0, percent);
}

class Writer {
public:
    Writer(const Design& design, const Evaluation& evaluation, const Explanation& explanation)
        : m_design(design)
        , m_evaluation(evaluation)
        , m_mesh(evaluation.plan.mesh)
        , m_it(explanation)
    {
    }

    std::string text()
    {
        if (m_it.target.kind == ExplainTarget::Kind::Collective)
            collective();
        else if (m_it.target.kind == ExplainTarget::Kind::Weight)
            weight();
        else
            operation();
        why();
        if (m_it.target.kind != ExplainTarget::Kind::Collective)
            collectives();
        rows();
        effects();
        layouts();
        return m_out;
    }

private:
    const Graph& graph() const { return m_evaluation.graph; }
    const Plan& plan() const { return m_evaluation.plan; }
    void line(const std::string& text) { m_out += text + "\n"; }

    std::string names(const std::vector<int>& axes) const
    {
        std::vector<std::string> out;
        for (const int axis : axes)
            out.push_back(m_mesh.axis(axis).name);
        return joined(out);
    }

    /// `forward, block, layers 0-31`
    std::string place(PlannedSegmentId plannedSegment) const
    {
        const PlannedSegment& segment = plan().segments[static_cast<std::size_t>(plannedSegment)];
        std::string out = phaseName(segment.phase) + ", " + segment.name;
        if (graph().segments[static_cast<std::size_t>(segment.segment)].isLayer)
            out += segment.count > 1
                ? ", layers " + std::to_string(segment.firstLayer) + "-" + std::to_string(segment.firstLayer + segment.count - 1)
                : ", layer " + std::to_string(segment.firstLayer);
        return out;
    }

    std::string tensorText(TensorId id) const
    {
        const TensorSpec& spec = graph().tensor(id);
        return spec.name + "  " + shapeText(spec.shape) + " " + dtypeName(spec.dtype);
    }

    void collective()
    {
        const Collective& it = plan().collectives[static_cast<std::size_t>(m_it.target.collective)];
        const double all = it.seconds * static_cast<double>(it.count);
        line(collectiveName(it.kind) + " over " + names(it.axes) + "  (" + place(it.plannedSegment) + ")");
        line("  id       " + it.id);
        line("  moves    " + tensorText(it.tensor));
        line("           " + specText(it.step.before, m_mesh, true) + "  ->  " + specText(it.step.after, m_mesh, true));
        line("  costs    " + bytesText(it.bytes) + " on each of " + countText(it.groupSize) + " devices, " + secondsText(it.seconds)
             + "; " + countText(it.count) + (it.count == 1 ? " time a step" : " times a step = " + secondsText(all) + allStages())
             + share(all * deviceShare(graph(), plan(), it)));
        line("  for      " + operationId(m_evaluation, m_it.segment, m_it.op) + ", operand " + std::to_string(it.operand + 1)
             + " of " + std::to_string(graph().op(it.op).operands.size()) + " (" + opKindName(graph().op(it.op).kind) + ")");
    }

    std::string allStages() const { return plan().pipeline ? " on all stages together" : ""; }
    /// Of the step; `seconds` of a device.
    std::string share(double seconds) const
    {
        return plan().seconds() <= 0 ? ""
                                     : formatted(plan().pipeline ? " (%.2g %% of a device's step)" : " (%.2g %% of the step)",
                                                 100 * seconds / plan().seconds());
    }

    void operation()
    {
        const PlannedOp* planned = explainedOp(m_evaluation, m_it);
        if (planned == nullptr)
            return;
        const Op& op = graph().op(planned->op);
        const bool activation = m_it.target.kind == ExplainTarget::Kind::Activation;
        line((activation ? m_it.target.name + ", made by " : std::string()) + operationId(m_evaluation, m_it.segment, m_it.op)
             + "  " + opKindName(op.kind) + "  (" + place(m_it.segment) + ")");
        Table table({ "", "tensor", "shape", "arrives as", "taken as" });
        for (const OperandUse& use : planned->operands)
            table.add({ "takes", graph().tensor(use.tensor).name, shapeText(graph().tensor(use.tensor).shape),
                        specText(use.before, m_mesh, true),
                        use.before == use.layout ? "the same" : specText(use.layout, m_mesh, true) });
        table.add({ "makes", graph().tensor(op.result).name, shapeText(graph().tensor(op.result).shape), "",
                    specText(planned->result, m_mesh, true) });
        m_out += table.text();
        const double all = planned->seconds * static_cast<double>(planned->count);
        line("  " + secondsText(planned->seconds) + " on a device, " + countText(planned->count)
             + (planned->count == 1 ? " time a step" : " times a step = " + secondsText(all) + allStages())
             + share(all * deviceShare(graph(), plan(), m_it.segment)));
    }

    void weight()
    {
        const WeightLayout& it = m_evaluation.weights[static_cast<std::size_t>(m_it.target.weight)];
        std::string name = it.spec.name;
        if (m_it.target.layer >= 0)
            name = concreteName(name, m_it.target.layer);
        line(name + (it.copies > 1 && m_it.target.layer < 0 ? "  (" + std::to_string(it.copies) + " layers)" : std::string()));
        if (it.unknownShape)
            return;
        line("  " + shapeText(it.spec.shape) + " " + dtypeName(it.spec.dtype) + "  " + specText(it.layout, m_mesh, true) + "  "
             + bytesText(it.bytesPerDevice) + " on a device" + (it.copies > 1 ? ", in each layer" : ""));
    }

    void why()
    {
        if (m_it.causes.empty())
            return;
        line("\nwhy");
        std::size_t number = 0;
        for (const CauseLink& link : m_it.causes) {
            line("  " + std::to_string(++number) + "  " + link.text);
            if (!link.detail.empty())
                line("       " + link.detail);
        }
    }

    void collectives()
    {
        if (m_it.collectives.empty()) {
            if (!plan().segments.empty())
                line("\nno collective because of it");
            return;
        }
        line(std::string("\ncollectives because of it"));
        Table table({ "collective", "over", "tensor", ">bytes", ">time", ">count", "wanted by", "phase" });
        for (const CollectiveId index : m_it.collectives) {
            const Collective& c = plan().collectives[static_cast<std::size_t>(index)];
            const PlannedSegment& segment = plan().segments[static_cast<std::size_t>(c.plannedSegment)];
            table.add({ collectiveName(c.kind), names(c.axes), graph().tensor(c.tensor).name, bytesText(c.bytes),
                        secondsText(c.seconds), std::to_string(c.count), segment.name + "/" + graph().op(c.op).name,
                        phaseName(segment.phase) });
        }
        m_out += table.text();
    }

    std::string moves(const RankedRow& row) const
    {
        std::vector<std::string> parts;
        for (const RowMove& move : row.moves)
            parts.push_back(collectiveName(move.kind) + " of " + graph().tensor(move.tensor).name);
        return parts.empty() ? "none" : joined(parts);
    }

    void rows()
    {
        if (!m_it.notPicked.empty())
            line("\n" + m_it.notPicked);
        for (const AxisExplanation& axis : m_it.axes) {
            line("\nover " + m_mesh.axis(axis.axis).name + " (" + countText(m_mesh.axis(axis.axis).size) + " devices), "
                 + operationId(m_evaluation, m_it.segment, m_it.op) + " takes " + pickedText(axis));
            line("  because " + because(axis));
            if (!axis.unmet.empty())
                line("  not met: " + axis.unmet);
            const bool asMax = m_design.picker.profile != PickerProfile::Shardboard;
            Table table({ "", "row", ">time", asMax ? ">bytes as MAX counts" : ">", "reshards", "" });
            int partialOnly = 0;
            for (const RankedRow& row : axis.rows) {
                if (row.isPartialOnly) {
                    ++partialOnly;
                    continue;
                }
                const bool possible = row.verdict != RankedRow::Verdict::Impossible;
                const bool byPin = axis.by == AxisExplanation::By::Pin && row.why == axis.why;
                const std::string note = row.verdict == RankedRow::Verdict::Refused
                    ? "refused" + (byPin ? " by the pin" : ": " + row.why)
                    : !possible  ? "cannot be: " + row.why
                    : !row.sound ? "unsound"
                                 : "";
                table.add({ row.verdict == RankedRow::Verdict::Picked ? "*" : "", row.row,
                            possible ? secondsText(row.seconds) : "-",
                            !asMax         ? ""
                                : possible ? bytesText(static_cast<std::int64_t>(std::llround(row.cost)))
                                           : "-",
                            possible ? moves(row) : "", note });
            }
            m_out += table.text();
            if (partialOnly > 0)
                line("  and " + std::to_string(partialOnly) + (partialOnly == 1 ? " row" : " rows")
                     + " for operands that are partial, which these are not");
        }
        if (!m_it.axes.empty())
            line("  (" + m_it.picker + "; time of the row's own reshards on " + m_design.hardware + ")");
    }

    std::string pickedText(const AxisExplanation& axis) const
    {
        for (const RankedRow& row : axis.rows)
            if (row.verdict == RankedRow::Verdict::Picked)
                return row.row;
        return "nothing";
    }

    static std::string because(const AxisExplanation& axis)
    {
        return axis.by == AxisExplanation::By::Pin || axis.by == AxisExplanation::By::Tie ? axis.why : "it is " + axis.why;
    }

    std::string effectText(const EditEffect& it) const
    {
        if (!it.refusal.empty())
            return "refused: " + it.refusal;
        return "step " + secondsText(it.secondsBefore) + " -> " + secondsText(it.seconds) + " ("
            + change(it.secondsBefore, it.seconds) + "), moved " + bytesText(it.bytesBefore) + " -> " + bytesText(it.bytes)
            + ", peak " + bytesText(it.peakBefore) + " -> " + bytesText(it.peak) + " ("
            + change(static_cast<double>(it.peakBefore), static_cast<double>(it.peak)) + "), " + countText(it.collectivesBefore)
            + " -> " + countText(it.collectives) + " collective calls";
    }

    void effects()
    {
        bool first = true;
        for (const AxisExplanation& axis : m_it.axes)
            for (const RankedRow& row : axis.rows) {
                if (!row.effect || !row.pin)
                    continue;
                if (std::exchange(first, false))
                    line("\nwhat if: the whole design with that pin");
                line("  " + row.row + " over " + m_mesh.axis(axis.axis).name + ": " + effectText(*row.effect));
                line("      --pin '" + pinText(*row.pin) + "'   under pins: " + compactText(pinJson(*row.pin)));
            }
        for (const AxisExplanation& axis : m_it.axes)
            if (axis.unpin)
                line("\npinned over " + m_mesh.axis(axis.axis).name + " by pin " + std::to_string(axis.pin + 1)
                     + " of the design: " + pinText(m_design.pins[static_cast<std::size_t>(axis.pin)]));
    }

    void layouts()
    {
        if (m_it.layouts.empty())
            return;
        line("\nwhat if");
        for (const LayoutChoice& choice : m_it.layouts)
            line("  " + choice.text + ", " + choice.spec + ": " + effectText(choice.effect));
    }

    const Design& m_design;
    const Evaluation& m_evaluation;
    const Mesh& m_mesh;
    const Explanation& m_it;
    std::string m_out;
};

} // namespace

std::string explanationText(const Design& design, const Evaluation& evaluation, const Explanation& explanation)
{
    return Writer(design, evaluation, explanation).text();
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/design/explain/explain.h"

#include "model/design/evaluate/evaluate.h"
#include "model/design/explain/causes.h"
#include "model/design/explain/rankedrows.h"
#include "model/design/layoutstrategy.h"
#include "model/plan/pipeline.h"
#include "model/text/contains.h"

#include <algorithm>

namespace shardboard {

namespace {

std::int64_t callsOf(const Plan& plan)
{
    std::int64_t count = 0;
    for (const Collective& collective : plan.collectives)
        if (collective.kind != CollectiveKind::LocalSlice)
            count += collective.joins ? 0 : collective.count;
    return count;
}

/// The layouts that differ from now by one mesh axis on one dim, or by none at all. Over the axis of stages nothing can be cut.
std::vector<std::pair<std::string, Layout>> otherLayouts(const WeightLayout& weight, const Design& design)
{
    const Mesh& mesh = design.mesh;
    std::vector<std::pair<std::string, Layout>> out;
    if (!weight.layout.isReplicated())
        out.emplace_back("replicate it", Layout::replicated(weight.spec.shape.size()));
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        if (mesh.axis(axis).size == 1)
            continue;
        const Placement now = placementOn(weight.layout, axis);
        Layout without = weight.layout;
        for (auto& dim : without.dims)
            std::erase_if(dim, [&](const AxisRef& ref) { return ref.axis == axis; });
        const std::string& name = mesh.axis(axis).name;
        if (now.sharded() && !without.isReplicated())
            out.emplace_back("take " + name + " off", without);
        for (int dim = 0; dim < static_cast<int>(std::min<std::size_t>(weight.spec.shape.size(), 3)); ++dim) {
            if (now.shards(dim) || axis == stageAxis(design))
                continue;
            Layout cut = without;
            cut.dims[static_cast<std::size_t>(dim)].push_back({ axis });
            out.emplace_back("cut dim " + std::to_string(dim) + " over " + name, std::move(cut));
        }
    }
    return out;
}

class Explainer {
public:
    Explainer(const Design& design, const Evaluation& evaluation, const ExplainOptions& options)
        : m_design(design)
        , m_evaluation(evaluation)
        , m_options(options)
        , m_pinning(evaluation.graph, evaluation.plan.mesh, design.pins, design.picker.profile)
        , m_causes(design, evaluation, m_pinning)
    {
    }

    Explanation explain(const ExplainTarget& target)
    {
        Explanation out;
        out.target = target;
        out.picker = "picker " + pickerName(m_design.picker.picker) + ", profile " + profileName(m_design.picker.profile)
            + (m_design.picker.profile == PickerProfile::Shardboard ? ", by time" : ", by bytes");
        if (target.kind == ExplainTarget::Kind::Weight) {
            weight(out);
            return out;
        }
        if (!target.segment.valid() || !target.op.valid())
            return out;
        out.segment = target.segment;
        out.op = target.op;
        const PlannedOp& planned = *explainedOp(m_evaluation, out);
        out.axes = rankedRows(m_design, m_evaluation, m_pinning, out.segment, out.op);
        if (!isPicked(m_evaluation.graph.op(planned.op).kind))
            out.notPicked = "nothing is picked here: gradients are summed, and the optimizer steps, in the layout of the weight";
        if (target.kind == ExplainTarget::Kind::Collective) {
            out.causes = m_causes.ofCollective(m_evaluation.plan.collective(target.collective), out.axes);
            out.collectives = { target.collective };
        } else {
            out.causes = m_causes.ofTensor(m_evaluation.graph.op(planned.op).result, out.segment, planned.result);
            if (target.kind == ExplainTarget::Kind::Operation)
                for (const OperandUse& use : planned.operands)
                    out.collectives.insert(out.collectives.end(), use.collectives.begin(), use.collectives.end());
            else
                out.collectives = collectivesOf(target.tensor);
        }
        addEffects(out);
        return out;
    }

private:
    std::vector<CollectiveId> collectivesOf(TensorId tensor) const
    {
        std::vector<CollectiveId> out;
        const auto& all = m_evaluation.plan.collectives;
        for (std::size_t i = 0; tensor != kNoTensor && i < all.size(); ++i)
            if (all[i].tensor == tensor)
                out.push_back(CollectiveId(i));
        return out;
    }

    bool stopped() const { return m_options.stop != nullptr && m_options.stop->load(); }

    /// Those of the weight, of its gradient, and of what is computed with it.
    void weight(Explanation& out)
    {
        out.causes = { m_causes.ofWeight(out.target.weight) };
        const TensorId tensor = out.target.tensor;
        const Graph& graph = m_evaluation.graph;
        const auto& all = m_evaluation.plan.collectives;
        for (std::size_t i = 0; tensor != kNoTensor && i < all.size(); ++i) {
            const GraphTensor& moved = graph.entry(all[i].tensor);
            bool caused = all[i].tensor == tensor || moved.gradientOf == tensor || moved.addendOf == tensor;
            for (const Op& op : graph.ops)
                if (!caused && op.result == all[i].tensor)
                    caused = contains(op.operands, tensor);
            if (caused)
                out.collectives.push_back(CollectiveId(i));
        }
        const WeightLayout& it = m_evaluation.weights[static_cast<std::size_t>(out.target.weight)];
        if (m_options.effects <= 0 || it.unknownShape)
            return;
        for (auto& [text, layout] : otherLayouts(it, m_design)) {
            if (stopped())
                return;
            LayoutChoice choice;
            choice.text = text;
            choice.spec = specText(layout, m_design.mesh);
            choice.edit = { text + ": " + it.spec.name,
                            { SetStrategy { { it.spec.name, strategyOf(layout, m_design.mesh), std::nullopt } } } };
            choice.effect = effectOf(m_design, m_evaluation, choice.edit);
            out.layouts.push_back(std::move(choice));
        }
        std::ranges::stable_sort(out.layouts, [](const LayoutChoice& a, const LayoutChoice& b) {
            return a.effect.refusal.empty() != b.effect.refusal.empty() ? a.effect.refusal.empty()
                                                                        : a.effect.seconds < b.effect.seconds;
        });
        if (out.layouts.size() > static_cast<std::size_t>(m_options.effects))
            out.layouts.resize(static_cast<std::size_t>(m_options.effects));
    }

    /// For the cheapest alternatives of all mesh axes.
    void addEffects(Explanation& out) const
    {
        std::vector<RankedRow*> rows;
        for (AxisExplanation& axis : out.axes)
            for (RankedRow& row : axis.rows)
                if (row.edit)
                    rows.push_back(&row);
        // Those that speak of the collective's own mesh axes come first.
        const auto aside = [&](const RankedRow* row) {
            if (out.target.kind != ExplainTarget::Kind::Collective)
                return false;
            const auto& axes = m_evaluation.plan.collective(out.target.collective).axes;
            return !contains(axes, row->axis);
        };
        std::ranges::stable_sort(
            rows, [&](const RankedRow* a, const RankedRow* b) { return aside(a) != aside(b) ? aside(b) : a->rank < b->rank; });
        for (std::size_t i = 0; i < rows.size() && static_cast<int>(i) < m_options.effects && !stopped(); ++i)
            rows[i]->effect = effectOf(m_design, m_evaluation, *rows[i]->edit);
    }

    const Design& m_design;
    const Evaluation& m_evaluation;
    const ExplainOptions& m_options;
    Pinning m_pinning;
    CauseFinder m_causes;
};

} // namespace

EditEffect effectOf(const Design& design, const Evaluation& evaluation, const Repair& edit)
{
    EditEffect out;
    out.secondsBefore = evaluation.plan.seconds();
    out.bytesBefore = collectiveBytesOfDevice(evaluation.graph, evaluation.plan);
    out.peakBefore = evaluation.plan.memory.peak;
    out.collectivesBefore = callsOf(evaluation.plan);
    const auto after = evaluate(repaired(design, edit), Misfits::Replicate);
    if (!after.ok()) {
        out.refusal = after.error().text();
        return out;
    }
    if (const Misfit* misfit = newMisfit(*after.value(), evaluation)) {
        out.refusal = misfit->error.text();
        return out;
    }
    const Plan& plan = after.value()->plan;
    out.seconds = plan.seconds();
    out.bytes = collectiveBytesOfDevice(after.value()->graph, plan);
    out.peak = plan.memory.peak;
    out.collectives = callsOf(plan);
    return out;
}

const PlannedOp* explainedOp(const Evaluation& evaluation, const Explanation& explanation)
{
    if (!explanation.segment.valid() || !explanation.op.valid())
        return nullptr;
    return &evaluation.plan.segment(explanation.segment).ops[explanation.op];
}

Explanation explain(const Design& design, const Evaluation& evaluation, const ExplainTarget& target, const ExplainOptions& options)
{
    return Explainer(design, evaluation, options).explain(target);
}

} // namespace shardboard

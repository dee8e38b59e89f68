// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/jax/constraints.h"

#include "model/io/exports/xlalayouts.h"
#include "model/ops/opdefinition.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace shardboard {

namespace {

bool sayable(const Layout& layout)
{
    return std::ranges::all_of(
        layout.dims, [](const auto& axes) { return std::ranges::all_of(axes, [](const AxisRef& ref) { return ref.whole(); }); });
}

Layout summed(Layout layout)
{
    layout.partial.clear();
    layout.cutting.clear();
    return layout;
}

/// Adds a layout to which a value goes, unless it is there, or still partial.
void goTo(std::vector<Layout>& chain, const Layout& layout)
{
    if (layout.partial.empty() && (chain.empty() || chain.back() != summed(layout)))
        chain.push_back(summed(layout));
}

class Reader {
public:
    explicit Reader(const Evaluation& evaluation)
        : m_graph(evaluation.graph)
        , m_plan(evaluation.plan)
    {
    }

    Constraints read()
    {
        for (const PlannedSegment& segment : m_plan.segments)
            if (segment.phase == Phase::Forward)
                forward(segment);
        name();
        for (const PlannedSegment& segment : m_plan.segments)
            for (const PlannedOp& op : segment.ops)
                weightsIn(segment, op);
        for (const Collective& collective : m_plan.collectives)
            m_out.rings |= collective.kind == CollectiveKind::SendRecv;
        return std::move(m_out);
    }

private:
    /// Layouts to which a value goes, and all of them as they would be if it were summed at once.
    struct Chain {
        std::vector<Layout> said;
        std::vector<Layout> whole;

        void goTo(const Layout& layout)
        {
            shardboard::goTo(said, layout);
            shardboard::goTo(whole, summed(layout));
        }

        /// Partial sums that are sent on before they are added up have no other way to be told where they go.
        std::vector<Layout> layouts() const { return said.empty() && whole.size() > 1 ? whole : said; }
        /// Of a gradient that stays partial until it is multiplied: JAX has no word for that, and XLA, told nothing, cuts it where
        /// the next operation has to move it. It is summed where it is made.
        std::vector<Layout> gradients() const { return said.empty() ? whole : said; }
    };

    struct Seen {
        std::string segment;
        TensorId tensor = kNoTensor;
        ActivationConstraint constraint;
        Chain forward;
        Chain gradient;
    };

    bool isGradient(TensorId tensor) const
    {
        const GraphTensor& entry = m_graph.entry(tensor);
        return entry.gradientOf != kNoTensor || entry.addendOf != kNoTensor;
    }

    /// As goTo, of an activation: notes where the plan cuts it elsewhere than XLA.
    void lead(Chain& chain, const Layout& layout, TensorId tensor)
    {
        if (layout.partial.empty() && !cutAsXla(m_graph.tensor(tensor), layout, m_plan.mesh))
            m_elsewhere.insert(tensor);
        chain.goTo(layout);
    }

    void forward(const PlannedSegment& segment)
    {
        const Segment& of = m_graph.segment(segment.segment);
        m_out.segments.push_back({ segment.name, of.isLayer ? segment.firstLayer : -1, segment.count });
        std::vector<Seen> seen;
        const auto find = [&](TensorId tensor) -> Seen& {
            const auto known = std::ranges::find(seen, tensor, &Seen::tensor);
            if (known != seen.end())
                return *known;
            const TensorSpec& spec = m_graph.tensor(tensor);
            seen.push_back({ segment.name, tensor, { spec.name, spec.dimLabels, {}, {}, {} }, {}, {} });
            return seen.back();
        };
        for (const PlannedOp& op : segment.ops) {
            const Op& graphOp = m_graph.op(op.op);
            for (const OperandUse& use : op.operands) {
                if (m_graph.tensor(use.tensor).role != TensorRole::Activation)
                    continue;
                Chain& chain = find(use.tensor).forward;
                lead(chain, use.before, use.tensor);
                if (use.replaces)
                    lead(chain, use.layout, use.tensor);
            }
            Seen& value = find(graphOp.result);
            // A lookup that gives partial sums is told where the sum lies, or compilers gather the table instead.
            lead(value.forward, graphOp.kind == OpKind::Embedding ? summed(op.result) : op.result, graphOp.result);
            gradientOf(segment, graphOp, value.gradient);
        }
        for (Seen& value : seen) {
            value.constraint.forward = value.forward.layouts();
            value.constraint.gradient = value.gradient.gradients();
        }
        for (const Kept& kept : segment.kept)
            if (const auto known = std::ranges::find(seen, kept.tensor, &Seen::tensor);
                known != seen.end() && !known->constraint.forward.empty())
                known->constraint.kept = summed(kept.layout);
        for (Seen& value : seen)
            m_seen.push_back(std::move(value));
    }

    /// The layers of the backward pass that belong to a forward segment: of several the one with the most layers.
    const PlannedSegment* backwardOf(const PlannedSegment& forward) const
    {
        const PlannedSegment* best = nullptr;
        for (const PlannedSegment& segment : m_plan.segments)
            if (segment.phase == Phase::Backward && m_graph.segment(segment.segment).of == forward.segment
                && segment.firstLayer < forward.firstLayer + forward.count
                && forward.firstLayer < segment.firstLayer + segment.count && (best == nullptr || segment.count > best->count))
                best = &segment;
        return best;
    }

    /// Where the gradient of an operation's result is made, and where the gradients of its operands take it.
    void gradientOf(const PlannedSegment& segment, const Op& op, Chain& chain)
    {
        for (const PlannedSegment& other : m_plan.segments) // of what leaves a segment it is made in the next one
            if (other.phase == Phase::Backward)
                for (const PlannedOp& planned : other.ops)
                    if (m_graph.entry(m_graph.op(planned.op).result).gradientOf == op.result) {
                        // Of several parts none is the whole gradient.
                        if (planned.operands.size() == 1 && m_graph.entry(planned.operands[0].tensor).addendOf == op.result)
                            lead(chain, planned.operands[0].before, op.result);
                        lead(chain, planned.result, op.result);
                    }
        const PlannedSegment* backward = backwardOf(segment);
        if (backward == nullptr)
            return;
        for (const PlannedOp& planned : backward->ops) {
            const std::string& name = m_graph.op(planned.op).name;
            if (!name.starts_with(op.name + ".grad") || name.starts_with(op.name + ".grad_sum") || planned.operands.empty())
                continue;
            const OperandUse& dy = planned.operands.front();
            if (!isGradient(dy.tensor))
                continue;
            if (chain.said.empty())
                lead(chain, dy.before, op.result);
            if (dy.replaces)
                lead(chain, dy.layout, op.result);
        }
    }

    /// A name stands alone where all segments agree.
    void name()
    {
        std::map<std::string, std::vector<Seen*>> named;
        std::vector<std::string> order;
        for (Seen& value : m_seen) {
            if (m_elsewhere.contains(value.tensor)) {
                m_out.elsewhere.push_back(value.constraint.name);
                continue;
            }
            // One that stays partial has no layout, and is known by its name all the same: programs serve several designs.
            if (!std::ranges::all_of(value.constraint.forward, sayable)
                || !std::ranges::all_of(value.constraint.gradient, sayable)) {
                m_out.unsaid.push_back(value.constraint.name);
                continue;
            }
            std::vector<Seen*>& same = named[value.constraint.name];
            if (same.empty())
                order.push_back(value.constraint.name);
            same.push_back(&value);
        }
        for (const std::string& key : order) {
            const std::vector<Seen*>& same = named[key];
            ActivationConstraint one = same.front()->constraint;
            bool agree = true;
            for (const Seen* value : same) {
                const ActivationConstraint& other = value->constraint;
                agree = agree && other.forward == one.forward && other.dims == one.dims
                    && (other.gradient.empty() || one.gradient.empty() || other.gradient == one.gradient)
                    && (!other.kept || !one.kept || *other.kept == *one.kept);
                if (one.gradient.empty())
                    one.gradient = other.gradient;
                if (!one.kept)
                    one.kept = other.kept;
            }
            if (agree) {
                m_out.activations.push_back(std::move(one));
                continue;
            }
            for (const Seen* value : same) {
                m_out.activations.push_back(value->constraint);
                m_out.activations.back().name = value->segment + "/" + key;
            }
        }
        for (std::vector<std::string>* names : { &m_out.unsaid, &m_out.elsewhere }) {
            std::ranges::sort(*names);
            names->erase(std::ranges::unique(*names).begin(), names->end());
        }
    }

    WeightConstraint& weight(TensorId tensor)
    {
        const auto [known, isNew] = m_weights.try_emplace(tensor, m_out.weights.size());
        if (isNew)
            m_out.weights.push_back({ tensor, {}, {}, {} });
        return m_out.weights[known->second];
    }

    void weightsIn(const PlannedSegment& segment, const PlannedOp& op)
    {
        const Op& graphOp = m_graph.op(op.op);
        for (const OperandUse& use : op.operands) {
            if (segment.phase != Phase::Forward || m_graph.tensor(use.tensor).role != TensorRole::Weight || !sayable(use.layout))
                continue;
            const bool first = !m_weights.contains(use.tensor);
            WeightConstraint& of = weight(use.tensor);
            if (first)
                of.use = summed(use.layout);
            else if (of.use && *of.use != summed(use.layout))
                of.use.reset();
        }
        if (graphOp.kind == OpKind::EmbeddingGrad && m_graph.entry(graphOp.result).addendOf != kNoTensor)
            goTo(weight(m_graph.entry(graphOp.result).addendOf).gradient, summed(op.result));
        if (const TensorId of = m_graph.entry(graphOp.result).gradientOf;
            of != kNoTensor && m_graph.tensor(of).role == TensorRole::Weight && sayable(op.result))
            goTo(weight(of).gradient, op.result);
        if (!isStep(graphOp.kind) || op.operands.size() < 2)
            return;
        const OperandUse& stepped = op.operands[0];
        const OperandUse& gradient = op.operands[1];
        if (!sayable(stepped.layout) || !sayable(gradient.layout))
            return;
        WeightConstraint& of = weight(stepped.tensor);
        of.optimizer = summed(stepped.layout);
        goTo(of.gradient, gradient.layout);
    }

    const Graph& m_graph;
    const Plan& m_plan;
    std::vector<Seen> m_seen;
    std::set<TensorId> m_elsewhere; ///< activations that XLA would cut at other bounds
    std::unordered_map<TensorId, std::size_t> m_weights; ///< index into Constraints::weights
    Constraints m_out;
};

} // namespace

Constraints constraintsOf(const Evaluation& evaluation) { return Reader(evaluation).read(); }

} // namespace shardboard

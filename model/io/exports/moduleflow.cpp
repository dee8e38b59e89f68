// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/moduleflow.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace shardboard {

namespace {

/// A value on its way: whether each rank has a part of it, and the weight of the projection that made it.
struct Value {
    bool part = false;
    const WeightLayout* from = nullptr;
};

/// Experts are one module from where tokens are dealt to where they come together.
bool isOfExperts(OpKind kind)
{
    return kind == OpKind::Dispatch || kind == OpKind::Combine || kind == OpKind::ExpertLinear || kind == OpKind::ExpertLinearT
        || kind == OpKind::ExpertBias;
}

/// The loss is the training program's, which takes the logits as they lie.
bool isOfLoss(OpKind kind)
{
    return kind == OpKind::LogitMax || kind == OpKind::SumExp || kind == OpKind::TargetLogit || kind == OpKind::TokenLoss;
}

class Walk {
public:
    Walk(const Evaluation& evaluation, const std::string& framework, const PartsOfModule& partsOf)
        : m_graph(evaluation.graph)
        , m_evaluation(evaluation)
        , m_framework(framework)
        , m_partsOf(partsOf)
        , m_absorbs(std::ranges::any_of(evaluation.graph.ops, [](const Op& op) { return op.kind == OpKind::AbsorbKeys; }))
    {
    }

    std::vector<ExportRefusal> refusals()
    {
        for (const Segment& segment : m_graph.segments)
            if (segment.phase == Phase::Forward)
                for (std::int64_t i = 0; i < segment.count; ++i) {
                    m_layer = segment.isLayer ? segment.firstLayer + i : -1;
                    m_values.clear(); // between segments every rank has the whole residual stream
                    for (const OpId op : segment.ops)
                        take(m_graph.op(op));
                }
        return std::move(m_out);
    }

private:
    bool isWeight(TensorId tensor) const { return m_graph.tensor(tensor).role == TensorRole::Weight; }

    const WeightLayout* weightOf(TensorId tensor) const
    {
        const auto found = std::ranges::find_if(m_evaluation.weights, [&](const WeightLayout& weight) {
            return weight.tensor == tensor
                && (weight.firstLayer < 0 || (weight.firstLayer <= m_layer && m_layer < weight.firstLayer + weight.copies));
        });
        return found == m_evaluation.weights.end() ? nullptr : &*found;
    }

    void refuse(const WeightLayout& weight, std::string what, std::string fix)
    {
        if (m_refused.insert(&weight).second)
            m_out.push_back({ inputError(weight.spec.name, std::move(what), std::move(fix)), weight.copies });
    }

    static std::string nameOf(const WeightLayout* weight) { return weight == nullptr ? "what comes before" : weight->spec.name; }

    void take(const Op& op)
    {
        const std::vector<std::string>& labels = m_graph.tensor(op.result).dimLabels;
        if (isOfExperts(op.kind) || isOfLoss(op.kind) || op.kind == OpKind::Embedding
            || (!labels.empty() && labels.front() == "experts"))
            return;
        if (op.kind == OpKind::Linear)
            project(op);
        else if (op.kind == OpKind::AbsorbKeys || op.kind == OpKind::AbsorbValues)
            absorb(op);
        else
            compute(op);
    }

    void project(const Op& op)
    {
        const WeightLayout* weight = op.operands.size() > 1 ? weightOf(op.operands[1]) : nullptr;
        if (weight == nullptr)
            return;
        const ModuleParts parts = m_partsOf(*weight);
        const Value input = m_values[op.operands[0]];
        if (input.part && !parts.takes)
            refuse(*weight,
                   "it takes all of its input, of which " + nameOf(input.from) + " gives each rank a part, and " + m_framework
                       + " gathers nothing between them",
                   "cut its dim 1, as a row-parallel projection, or leave both whole");
        else if (!input.part && parts.takes)
            refuse(*weight,
                   "its dim 1 is cut, so that each rank needs a part of its input, of which it gets all: " + m_framework
                       + " cuts nothing between modules",
                   "cut dim 0 of the projections before it, or leave it whole");
        m_values[op.result] = { parts.gives && input.part == parts.takes, weight }; // one refusal is enough
    }

    /// Queries or values of each head through the expansion of the latent vectors, whose heads have to be theirs.
    void absorb(const Op& op)
    {
        const Value heads = m_values[op.operands[0]];
        const WeightLayout* weight = weightOf(op.operands[1]);
        if (weight != nullptr && m_partsOf(*weight).gives != heads.part)
            meet(*weight, heads);
        m_values[op.result] = heads;
    }

    /// A part of one value and all of another are taken together.
    void meet(const WeightLayout& weight, const Value& other)
    {
        const bool part = m_partsOf(weight).gives;
        refuse(weight,
               std::string("it gives each rank ") + (part ? "a part" : "all") + " of its result, and " + nameOf(other.from)
                   + (part ? " all" : " a part") + ", with which it is taken together: " + m_framework
                   + " moves nothing between them",
               "cut both alike");
    }

    void compute(const Op& op)
    {
        Value out;
        bool first = true;
        for (const TensorId operand : op.operands) {
            if (isWeight(operand)) {
                sink(op, operand, out);
                continue;
            }
            const Value value = m_values[operand];
            // All heads share a whole rotary key; it is put beside the parts of each.
            const bool shared = op.kind == OpKind::JoinKeys || op.kind == OpKind::JoinLast;
            if (!first && value.part != out.part && !shared && !(m_absorbs && op.kind == OpKind::Attention)) {
                const Value& projected = value.from != nullptr ? value : out;
                if (projected.from != nullptr)
                    meet(*projected.from, value.from != nullptr ? out : value);
            }
            if (first || value.part)
                out = value;
            first = false;
        }
        // What is a part of the last dim, not of heads, cannot be normed or sliced.
        const bool whole = op.kind == OpKind::RmsNorm || op.kind == OpKind::LayerNorm || op.kind == OpKind::SliceLast
            || op.kind == OpKind::TopKGates || op.kind == OpKind::BiasedTopKGates;
        if (whole && out.part && out.from != nullptr && m_graph.tensor(op.operands[0]).shape.size() == 3)
            refuse(*out.from,
                   "it gives each rank a part of its result, and " + op.name + " needs all of it: " + m_framework
                       + " gathers nothing between them",
                   "leave it whole");
        m_values[op.result] = out;
    }

    /// One number a head stands beside the scores: each rank needs those of its own heads.
    void sink(const Op& op, TensorId tensor, const Value& heads)
    {
        if (op.kind != OpKind::SinkAttention)
            return;
        const WeightLayout* weight = weightOf(tensor);
        if (weight != nullptr && heads.part != m_partsOf(*weight).gives)
            refuse(*weight,
                   std::string("it is ") + (heads.part ? "whole" : "cut") + " where heads are " + (heads.part ? "cut" : "whole")
                       + ", and " + m_framework + " takes it as it lies",
                   "lay it out with the heads");
    }

    const Graph& m_graph;
    const Evaluation& m_evaluation;
    const std::string& m_framework;
    const PartsOfModule& m_partsOf;
    bool m_absorbs; ///< queries of every head attend to latent vectors that all share, in place of keys of their own
    std::int64_t m_layer = -1;
    std::unordered_map<TensorId, Value> m_values;
    std::set<const WeightLayout*> m_refused;
    std::vector<ExportRefusal> m_out;
};

} // namespace

std::vector<ExportRefusal> flowRefusals(const Evaluation& evaluation, const std::string& framework, const PartsOfModule& partsOf)
{
    return Walk(evaluation, framework, partsOf).refusals();
}

} // namespace shardboard

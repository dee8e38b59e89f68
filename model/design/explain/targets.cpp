// SPDX-License-Identifier: Apache-2.0
// What a name that somebody typed means in a plan.
#include "model/design/explain/explain.h"

#include "model/text/glob.h"
#include "model/text/names.h"
#include "model/text/text.h"

#include <algorithm>
#include <functional>
#include <set>

namespace shardboard {

namespace {

constexpr std::size_t kMostNear = 5;

bool endsWithPart(const std::string& name, const std::string& part)
{
    if (!name.ends_with(part) || name.size() == part.size())
        return false;
    const char before = name[name.size() - part.size() - 1];
    return before == '.' || before == '/' || before == ' ';
}

/// `layers.3.self_attn.q_proj` as layer 3 and `self_attn.q_proj`.
struct LayerName {
    std::int64_t layer = -1;
    std::string rest;
};
LayerName layerName(const std::string& asked)
{
    std::size_t at = 0;
    const auto words = split(std::string_view(asked), '.');
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        at += words[i].size() + 1;
        if (const auto layer = parseInteger(words[i]); layer && *layer >= 0 && i > 0)
            return { *layer, asked.substr(at) };
    }
    return {};
}

class TargetFinder {
public:
    TargetFinder(const Evaluation& evaluation, const std::string& asked)
        : m_evaluation(evaluation)
        , m_asked(asked)
    {
    }

    Result<std::vector<ExplainTarget>> find()
    {
        const std::string& asked = m_asked;
        const auto exact = [&](const std::string& name) { return name == asked; };
        const auto glob = [&](const std::string& name) { return globMatch(asked, name); };
        const auto ending = [&](const std::string& name) { return endsWithPart(name, asked); };
        const bool isGlob = asked.find_first_of("*?[") != std::string::npos;
        const LayerName layer = layerName(asked);
        const auto inLayer = [&](const std::string& name) { return name == layer.rest || endsWithPart(name, layer.rest); };
        for (const auto& look : std::vector<std::function<void()>> {
                 [&] { collectives(exact); },
                 [&] { operations(exact, -1); },
                 [&] { weights(exact, -1); },
                 [&] { activations(exact, -1); },
                 [&] { layerWeights(exact); },
                 [&] {
                     if (layer.layer >= 0)
                         operations(inLayer, layer.layer);
                 },
                 [&] {
                     if (layer.layer >= 0)
                         activations(inLayer, layer.layer);
                 },
                 [&] {
                     if (isGlob)
                         operations(glob, -1);
                 },
                 [&] {
                     if (isGlob)
                         weights(glob, -1);
                 },
                 [&] {
                     if (isGlob)
                         activations(glob, -1);
                 },
                 [&] {
                     if (isGlob)
                         collectives(glob);
                 },
                 [&] {
                     if (!asked.empty())
                         operations(ending, -1);
                 },
                 [&] {
                     if (!asked.empty())
                         weights(ending, -1);
                 },
                 [&] {
                     if (!asked.empty())
                         activations(ending, -1);
                 },
             }) {
            look();
            if (!m_found.empty())
                return std::move(m_found);
        }
        return inputError({}, "no collective, operation or tensor is called '" + asked + "'", near());
    }

private:
    using Fits = std::function<bool(const std::string&)>;
    const Plan& plan() const { return m_evaluation.plan; }
    const Graph& graph() const { return m_evaluation.graph; }

    void add(ExplainTarget target, std::int64_t layer)
    {
        target.layer = layer;
        m_found.push_back(std::move(target));
    }

    void collectives(const Fits& fits)
    {
        for (std::size_t i = 0; i < plan().collectives.size(); ++i)
            if (fits(plan().collectives[i].id))
                add(collectiveTarget(m_evaluation, CollectiveId(i)), -1);
    }

    bool holds(const PlannedSegment& segment, std::int64_t layer) const
    {
        return layer < 0
            || (graph().segment(segment.segment).isLayer && layer >= segment.firstLayer
                && layer < segment.firstLayer + segment.count);
    }

    void operations(const Fits& fits, std::int64_t layer)
    {
        for (std::size_t s = 0; s < plan().segments.size(); ++s) {
            const PlannedSegment& segment = plan().segments[s];
            const std::string& plain = graph().segment(segment.segment).name;
            for (std::size_t o = 0; holds(segment, layer) && o < segment.ops.size(); ++o) {
                const std::string& name = graph().op(segment.ops[o].op).name;
                if (fits(name) || fits(segment.name + "/" + name) || fits(plain + "/" + name))
                    add(operationTarget(m_evaluation, PlannedSegmentId(s), PlannedOpId(o)), layer);
            }
        }
    }

    void weights(const Fits& fits, std::int64_t layer)
    {
        for (std::size_t i = 0; i < m_evaluation.weights.size(); ++i)
            if (fits(m_evaluation.weights[i].spec.name))
                add(weightTarget(m_evaluation, static_cast<int>(i)), layer);
    }

    void layerWeights(const Fits& fits)
    {
        for (std::size_t i = 0; i < m_evaluation.weights.size(); ++i) {
            const WeightLayout& weight = m_evaluation.weights[i];
            for (std::int64_t n = 0; weight.firstLayer >= 0 && n < weight.copies; ++n)
                if (fits(concreteName(weight.spec.name, weight.firstLayer + n)))
                    add(weightTarget(m_evaluation, static_cast<int>(i)), weight.firstLayer + n);
        }
    }

    void activations(const Fits& fits, std::int64_t layer)
    {
        for (std::size_t s = 0; s < plan().segments.size(); ++s) {
            const PlannedSegment& segment = plan().segments[s];
            for (std::size_t o = 0; holds(segment, layer) && o < segment.ops.size(); ++o) {
                const TensorId tensor = graph().op(segment.ops[o].op).result;
                const std::string& name = graph().tensor(tensor).name;
                if (graph().tensor(tensor).role == TensorRole::Weight || !(fits(name) || fits(segment.name + "/" + name)))
                    continue;
                ExplainTarget target = operationTarget(m_evaluation, PlannedSegmentId(s), PlannedOpId(o));
                target.kind = ExplainTarget::Kind::Activation;
                target.name = name;
                target.tensor = tensor;
                add(std::move(target), layer);
            }
        }
    }

    /// The names that differ the least, in words for a message.
    std::string near() const
    {
        std::set<std::string> names;
        for (const PlannedSegment& segment : plan().segments)
            for (const PlannedOp& op : segment.ops) {
                names.insert(graph().op(op.op).name);
                names.insert(graph().tensor(graph().op(op.op).result).name);
            }
        for (const WeightLayout& weight : m_evaluation.weights)
            names.insert(weight.spec.name);
        const std::string plain = lowered(m_asked.substr(m_asked.rfind('/') == std::string::npos ? 0 : m_asked.rfind('/') + 1));
        std::vector<std::pair<std::size_t, std::string>> ranked;
        for (const std::string& name : names) {
            const std::string low = lowered(name);
            std::size_t distance = editDistance(plain, low);
            for (std::size_t dot = low.find('.'); dot != std::string::npos; dot = low.find('.', dot + 1))
                distance = std::min(distance, editDistance(plain, low.substr(dot + 1)));
            if (!plain.empty() && low.find(plain) != std::string::npos)
                distance = std::min<std::size_t>(distance, 2);
            if (distance <= std::max<std::size_t>(2, plain.size() / 3))
                ranked.emplace_back(distance, name);
        }
        std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<std::string> close;
        for (std::size_t i = 0; i < std::min(ranked.size(), kMostNear); ++i)
            close.push_back("'" + ranked[i].second + "'");
        if (close.empty())
            return "give an id that shardctl plan shows, or the name of a weight";
        return "did you mean " + (close.size() == 1 ? close.front() : "one of " + joined(close)) + "?";
    }

    const Evaluation& m_evaluation;
    const std::string& m_asked;
    std::vector<ExplainTarget> m_found;
};

} // namespace

std::string operationId(const Evaluation& evaluation, PlannedSegmentId segment, PlannedOpId op)
{
    const PlannedSegment& planned = evaluation.plan.segment(segment);
    return planned.name + "/" + evaluation.graph.op(planned.ops[op].op).name;
}

std::string targetKindName(ExplainTarget::Kind kind)
{
    constexpr std::array kNames { "collective", "operation", "weight", "activation" };
    return nameIn(kNames, kind);
}

ExplainTarget operationTarget(const Evaluation& evaluation, PlannedSegmentId segment, PlannedOpId op)
{
    ExplainTarget target;
    target.segment = segment;
    target.op = op;
    target.name = operationId(evaluation, segment, op);
    return target;
}

ExplainTarget collectiveTarget(const Evaluation& evaluation, CollectiveId collective)
{
    const Collective& it = evaluation.plan.collective(collective);
    ExplainTarget target;
    target.kind = ExplainTarget::Kind::Collective;
    target.name = it.id;
    target.collective = collective;
    target.segment = it.plannedSegment;
    target.tensor = it.tensor;
    const auto& ops = evaluation.plan.segment(it.plannedSegment).ops;
    const auto op = std::ranges::find_if(ops, [&](const PlannedOp& planned) { return planned.op == it.op; });
    if (op != ops.end())
        target.op = PlannedOpId(op - ops.begin());
    return target;
}

ExplainTarget weightTarget(const Evaluation& evaluation, int weight)
{
    const WeightLayout& it = evaluation.weights[static_cast<std::size_t>(weight)];
    ExplainTarget target;
    target.kind = ExplainTarget::Kind::Weight;
    target.name = it.spec.name;
    target.weight = weight;
    target.tensor = it.tensor;
    return target;
}

Result<std::vector<ExplainTarget>> explainTargets(const Evaluation& evaluation, const std::string& asked)
{
    return TargetFinder(evaluation, asked).find();
}

} // namespace shardboard

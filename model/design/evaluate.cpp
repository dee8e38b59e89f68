// SPDX-License-Identifier: Apache-2.0
#include "model/design/evaluate.h"

#include "model/core/checked.h"
#include "model/cost/hardware.h"
#include "model/design/findings.h"
#include "model/graph/buildgraph.h"
#include "model/plan/buildplan.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Index of the last entry that matches a name, or -1.
int decidingEntry(const std::vector<StrategyEntry>& entries, const std::string& name)
{
    for (std::size_t i = entries.size(); i-- > 0;)
        if (globMatch(entries[i].match, name))
            return static_cast<int>(i);
    return -1;
}

/// Layers at which the deciding entry of some weight changes, so that one stored layer can no longer stand for all.
std::vector<std::int64_t> splitPoints(const Design& design, const Graph& graph)
{
    const bool tellsLayersApart = std::any_of(design.strategies.begin(), design.strategies.end(), [](const StrategyEntry& e) {
        return e.match.find_first_of("0123456789?[") != std::string::npos;
    });
    std::vector<std::int64_t> points;
    if (!tellsLayersApart)
        return points;
    std::vector<int> before;
    for (std::int64_t layer = 0; layer < design.model.layers; ++layer) {
        std::vector<int> now;
        for (const GraphTensor& tensor : graph.tensors)
            if (tensor.spec.role == TensorRole::Weight && graph.segments[static_cast<std::size_t>(tensor.segment)].isLayer)
                now.push_back(decidingEntry(design.strategies, concreteName(tensor.spec.name, layer)));
        if (layer > 0 && now != before)
            points.push_back(layer);
        before = std::move(now);
    }
    return points;
}

class Evaluator {
public:
    explicit Evaluator(const Design& design)
        : m_design(design)
        , m_out(std::make_shared<Evaluation>())
    {
    }

    Result<std::shared_ptr<const Evaluation>> run()
    {
        auto hardware = findHardware(m_design.hardware, "hardware");
        if (!hardware.ok())
            return hardware.error();
        auto status = m_design.model.hasGraph() ? withGraph(hardware.value()) : looseWeights();
        if (!status.ok())
            return status.error();
        m_out->findings = designFindings(m_design, *m_out, hardware.value());
        return std::shared_ptr<const Evaluation>(std::move(m_out));
    }

private:
    Status withGraph(const Hardware& hardware)
    {
        auto graph = buildGraph(m_design.model, m_design.workload);
        if (!graph.ok())
            return graph.error();
        const auto points = splitPoints(m_design, graph.value());
        if (!points.empty()) {
            graph = buildGraph(m_design.model, m_design.workload, points);
            if (!graph.ok())
                return graph.error();
        }
        m_out->graph = std::move(graph).value();
        m_out->parameters = m_out->graph.parameterCount();
        std::vector<Layout> layouts(m_out->graph.tensors.size());
        for (const TensorRole role : { TensorRole::Weight, TensorRole::Input })
            for (std::size_t id = 0; id < layouts.size(); ++id)
                if (m_out->graph.tensors[id].spec.role == role) {
                    if (auto status = addTensor(static_cast<TensorId>(id)); !status.ok())
                        return status;
                    layouts[id] = plannedLayout(m_out->weights.back());
                }
        auto plan = buildPlan(m_out->graph, m_design.mesh, layouts, m_design.picker, hardware);
        if (!plan.ok())
            return plan.error();
        m_out->plan = std::move(plan).value();
        return done();
    }

    Status addTensor(TensorId id)
    {
        const GraphTensor& tensor = m_out->graph.tensors[static_cast<std::size_t>(id)];
        const Segment& segment = m_out->graph.segments[static_cast<std::size_t>(tensor.segment)];
        WeightLayout weight;
        weight.tensor = id;
        weight.spec = tensor.spec;
        weight.copies = tensor.copies;
        weight.segment = segment.name;
        weight.firstLayer = segment.isLayer ? segment.firstLayer : -1;
        return add(std::move(weight), segment.isLayer ? concreteName(tensor.spec.name, segment.firstLayer) : tensor.spec.name);
    }

    Status looseWeights()
    {
        m_out->plan.mesh = m_design.mesh;
        for (const ModelSpec::LooseWeight& loose : m_design.model.looseWeights) {
            WeightLayout weight;
            weight.spec = loose.tensor;
            weight.unknownShape = loose.unknownShape;
            if (auto status = add(std::move(weight), loose.tensor.name); !status.ok())
                return status;
            const WeightLayout& added = m_out->weights.back();
            if (!added.unknownShape) {
                m_out->parameters += elementCount(added.spec.shape).value_or(0);
                auto& held = m_out->plan.memory.weights;
                held = checkedAdd(held, added.bytesPerDevice).value_or(held);
            }
        }
        m_out->plan.memory.peak = m_out->plan.memory.weights;
        return done();
    }

    /// Lays out one weight or input by the last entry that matches its name.
    Status add(WeightLayout weight, const std::string& name)
    {
        weight.entry = decidingEntry(m_design.strategies, name);
        std::optional<CutRule> cut;
        if (weight.entry >= 0) {
            const StrategyEntry& entry = m_design.strategies[static_cast<std::size_t>(weight.entry)];
            weight.strategy = entry.strategy;
            cut = entry.cut;
        }
        weight.cut = cut.value_or(weight.strategy.defaultCut());
        const std::string where = weight.entry < 0
            ? weight.spec.name
            : "strategies[" + std::to_string(weight.entry) + "] on " + weight.spec.name;
        if (weight.unknownShape) {
            m_out->weights.push_back(std::move(weight));
            return done();
        }
        auto layout = layoutOf(weight.strategy, m_design.mesh, weight.spec.shape.size(), where);
        if (!layout.ok())
            return layout.error();
        auto shards = shardsOf(weight.strategy, weight.spec.shape, m_design.mesh, weight.cut, where, weight.spec.grains);
        if (!shards.ok())
            return shards.error();
        weight.layout = std::move(layout).value();
        weight.shards = std::move(shards).value();
        if (!weight.layout.partial.empty())
            return inputError(where, "a weight or input cannot be partial", "leave out unreduced");
        if (auto status = plannable(weight, where); !status.ok())
            return status;
        weight.bytesPerDevice = bytesOf(weight.shards.maxElements(), weight.spec.dtype);
        if (weight.spec.role == TensorRole::Weight) {
            const auto all = checkedMultiply(bytesOf(weight.spec), weight.copies);
            m_out->weightBytes = checkedAdd(m_out->weightBytes, all.value_or(0)).value_or(m_out->weightBytes);
        }
        m_out->weights.push_back(std::move(weight));
        return done();
    }

    /// A plan knows dims that are cut as a whole, by any rule; fused segments only where their pieces lie side by side.
    Status plannable(const WeightLayout& weight, const std::string& where) const
    {
        if (weight.tensor == kNoTensor)
            return done();
        for (const DimCut& cut : weight.shards.cuts())
            if (!cut.isBalanced() && (cut.segments().size() > 1 || cut.segments().front().denominator > 1))
                return inputError(where, strategyKindName(weight.strategy.kind) + " is for fused or packed weights, and this one is "
                                  "neither",
                                  "use a strategy that cuts the dim as a whole");
        return done();
    }

    /// The layout with the way in which its dims are cut.
    Layout plannedLayout(const WeightLayout& weight) const
    {
        Layout layout = weight.layout;
        for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
            const DimCut& cut = weight.shards.cuts()[dim];
            if (!cut.isBalanced())
                layout.setCutting(dim, { weight.strategy.kind == StrategyKind::HeadAwareColumnwise && cut.rule() == CutRule::Balanced
                                             ? CutRule::GrainBalanced
                                             : cut.rule(),
                                         cut.segments().front().unit });
        }
        return layout;
    }

    const Design& m_design;
    std::shared_ptr<Evaluation> m_out;
};

} // namespace

Result<std::shared_ptr<const Evaluation>> evaluate(const Design& design) { return Evaluator(design).run(); }

} // namespace shardboard

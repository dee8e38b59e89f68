// SPDX-License-Identifier: Apache-2.0
#include "model/design/evaluation.h"

#include "model/core/checked.h"
#include "model/design/achieved.h"
#include "model/design/quantblocks.h"
#include "model/design/resolver.h"
#include "model/design/verifynames.h"
#include "model/families/buildgraph.h"
#include "model/hardware/hardware.h"
#include "model/plan/movedoperands.h"
#include "model/plan/planner/buildplan.h"
#include "model/plan/recomputedlayers.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace shardboard {

namespace {

/// Layers at which the deciding entry of some weight changes, so that one stored layer can no longer stand for all.
std::vector<std::int64_t> splitPoints(const Design& design, const EntryIndex& entries, const Graph& graph)
{
    const bool tellsLayersApart = std::ranges::any_of(
        design.strategies, [](const StrategyEntry& e) { return e.match.find_first_of("0123456789?[") != std::string::npos; });
    std::vector<std::int64_t> points;
    if (!tellsLayersApart)
        return points;
    for (std::size_t index = 0; index < graph.segments.size(); ++index) {
        const Segment& segment = graph.segments[index];
        std::vector<int> before;
        for (std::int64_t layer = segment.firstLayer; segment.isLayer && layer < segment.firstLayer + segment.count; ++layer) {
            std::vector<int> now;
            for (const GraphTensor& tensor : graph.tensors)
                if (tensor.spec.role == TensorRole::Weight && tensor.segment == SegmentId(index))
                    now.push_back(entries.deciding(concreteName(tensor.spec.name, layer)));
            if (layer > segment.firstLayer && now != before)
                points.push_back(layer);
            before = std::move(now);
        }
    }
    return points;
}

class Evaluator {
public:
    Evaluator(const Design& design, Misfits misfits)
        : m_design(design)
        , m_misfits(misfits)
        , m_resolver(design)
        , m_out(std::make_shared<Evaluation>())
    {
    }

    Result<std::shared_ptr<Evaluation>> run()
    {
        if (const auto status = verifyNames(m_design); !status.ok())
            return status.error();
        auto hardware = hardwareOf(m_design);
        if (!hardware.ok())
            return hardware.error();
        auto status = m_design.model.hasGraph() ? withGraph(hardware.value()) : looseWeights(hardware.value());
        if (!status.ok())
            return status.error();
        return std::move(m_out);
    }

private:
    Status withGraph(const Hardware& hardware)
    {
        // Megatron's checkpoints run a layer again to its end (core/tensor_parallel/random.py, CheckpointFunction.backward);
        // PyTorch's stop behind what the last gradient needs (torch.utils.checkpoint, early_stop), and XLA drops it.
        const bool toEnd = m_design.memory.framework == Framework::Megatron;
        auto graph = buildGraph(m_design.model, m_design.workload, {}, {}, toEnd);
        if (!graph.ok())
            return graph.error();
        auto points = splitPoints(m_design, m_resolver.entries(), graph.value());
        const auto recomputed = recomputedLayers(m_design.workload, m_design.pipeline, m_design.mesh, graph.value());
        std::vector<Range> apart = recomputed.value_or(std::vector<Range> {});
        if (const Offload& offload = effective(m_design.workload).offload; offload.any() && offload.layers > 0)
            std::ranges::copy(firstLayersOfRuns(offload.layers, m_design.workload, m_design.pipeline, m_design.mesh, graph.value()),
                              std::back_inserter(apart));
        for (const Range& layers : apart)
            for (const std::int64_t layer : { layers.lo, layers.hi })
                if (layer > 0 && layer < m_design.model.layers)
                    points.push_back(layer);
        if (!points.empty() || recomputed) { // which may be none
            std::ranges::sort(points);
            points.erase(std::unique(points.begin(), points.end()), points.end());
            graph = buildGraph(m_design.model, m_design.workload, points, recomputed, toEnd);
            if (!graph.ok())
                return graph.error();
        }
        m_out->graph = std::move(graph).value();
        m_out->parameters = m_out->graph.parameterCount();
        std::vector<Layout> layouts(m_out->graph.tensors.size());
        for (const TensorRole role : { TensorRole::Weight, TensorRole::Input })
            for (std::size_t id = 0; id < layouts.size(); ++id)
                if (m_out->graph.tensors[id].spec.role == role) {
                    if (auto status = addTensor(TensorId(id)); !status.ok())
                        return status;
                    layouts[id] = plannedLayout(m_out->weights.back());
                }
        const auto beside = addLooseWeights();
        if (!beside.ok())
            return beside.error();
        auto plan = buildPlan({ m_out->graph, m_design.mesh, layouts, hardware, m_design.picker, m_design.pins, m_design.workload,
                                m_design.pipeline, memoryOn(hardware), beside.value() });
        if (!plan.ok())
            return plan.error();
        m_out->plan = std::move(plan).value();
        m_out->plan.performance = performanceOf(m_design, m_out->graph, m_out->plan, hardware);
        return m_misfits == Misfits::Refuse ? pickerAgrees() : done();
    }

    /// Only processes on GPUs have a context and communicators of their own on every device.
    MemorySettings memoryOn(const Hardware& hardware) const
    {
        MemorySettings settings = m_design.memory;
        if (hardware.device.kind != DeviceKind::Gpu)
            settings.contextBytes = settings.communicatorBytes = 0;
        return settings;
    }

    Status pickerAgrees() const
    {
        if (!m_out->plan.refused.empty()) {
            const Refusal& first = m_out->plan.refused.front().second;
            return inputError(first.where, first.reason + andMore(m_out->plan.refused.size()), first.fix);
        }
        if (m_design.picker.onReshard != OnReshard::Raise)
            return done();
        const auto moved = movedOperands(m_out->graph, m_out->plan);
        if (moved.empty())
            return done();
        return inputError(moved.front().where, "on_reshard is raise, and it " + moved.front().what + andMore(moved.size()),
                          moved.front().fix);
    }

    static std::string andMore(std::size_t count)
    {
        return count > 1 ? " (and " + std::to_string(count - 1) + " more)" : std::string();
    }

    Status addTensor(TensorId id)
    {
        const GraphTensor& tensor = m_out->graph.entry(id);
        const Segment& segment = m_out->graph.segment(tensor.segment);
        WeightLayout weight;
        weight.tensor = id;
        weight.spec = tensor.spec;
        weight.copies = tensor.copies;
        weight.segment = segment.name;
        weight.firstLayer = segment.isLayer ? segment.firstLayer : -1;
        return add(std::move(weight), segment.isLayer ? concreteName(tensor.spec.name, segment.firstLayer) : tensor.spec.name);
    }

    /// Weights without operations: all of a model that is not understood, or those of other parts beside a graph. The bytes of a
    /// device.
    Result<std::int64_t> addLooseWeights()
    {
        std::int64_t held = 0;
        std::unordered_map<std::size_t, std::vector<std::int64_t>> blocks;
        for (ScaledWeight& scaled : scaledWeights(m_design.model))
            blocks[scaled.weight] = std::move(scaled.block);
        for (std::size_t i = 0; i < m_design.model.looseWeights.size(); ++i) {
            const ModelSpec::LooseWeight& loose = m_design.model.looseWeights[i];
            WeightLayout weight;
            weight.spec = loose.tensor;
            weight.unknownShape = loose.unknownShape;
            if (const auto block = blocks.find(i); block != blocks.end())
                weight.spec.grains = block->second;
            if (auto status = add(std::move(weight), loose.tensor.name); !status.ok())
                return status.error();
            const WeightLayout& added = m_out->weights.back();
            if (!added.unknownShape) {
                m_out->parameters += elementCount(added.spec.shape).value_or(0);
                held = checkedAdd(held, added.bytesPerDevice).value_or(held);
            }
        }
        return held;
    }

    Status looseWeights(const Hardware& hardware)
    {
        m_out->plan.mesh = m_design.mesh;
        const auto held = addLooseWeights();
        if (!held.ok())
            return held.error();
        MemoryByCause& memory = m_out->plan.memory;
        memory.weights = held.value();
        if (memory.weights > 0) // else there is nothing to add up
            memory.runtime = m_out->plan.reservedBytes = static_cast<std::int64_t>(hardware.reservedBytes());
        memory.peak = memory.least = memory.most = memory.total();
        return done();
    }

    Status add(WeightLayout weight, const std::string& name)
    {
        m_resolver.layOut(weight, name);
        if (weight.misfit && m_misfits == Misfits::Refuse)
            return weight.misfit->error;
        if (!weight.unknownShape && weight.spec.role == TensorRole::Weight) {
            const auto all = checkedMultiply(bytesOf(weight.spec), weight.copies);
            m_out->weightBytes = checkedAdd(m_out->weightBytes, all.value_or(0)).value_or(m_out->weightBytes);
        }
        m_out->weights.push_back(std::move(weight));
        return done();
    }

    /// The layout with the way in which its dims are cut.
    /// Over the axis of a pipeline's stages nothing is cut (findCutsOverStages tells).
    Layout plannedLayout(const WeightLayout& weight) const
    {
        Layout layout = weight.layout;
        if (const int stages = stageAxis(m_design); stages >= 0)
            for (auto& dim : layout.dims)
                std::erase_if(dim, [&](const AxisRef& ref) { return ref.axis == stages; });
        for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
            const DimCut& cut = weight.shards.cuts()[dim];
            if (!cut.isBalanced())
                layout.setCutting(dim,
                                  { weight.strategy.kind == StrategyKind::HeadAwareColumnwise && cut.rule() == CutRule::Balanced
                                        ? CutRule::GrainBalanced
                                        : cut.rule(),
                                    cut.segments().front().unit });
        }
        return layout;
    }

    const Design& m_design;
    Misfits m_misfits;
    Resolver m_resolver;
    std::shared_ptr<Evaluation> m_out;
};

} // namespace

Result<std::shared_ptr<Evaluation>> planOnly(const Design& design, Misfits misfits) { return Evaluator(design, misfits).run(); }

const Misfit* newMisfit(const Evaluation& evaluation, const Evaluation& before)
{
    std::set<std::pair<std::string, std::string>> known;
    for (const WeightLayout& weight : before.weights)
        if (weight.misfit)
            known.emplace(weight.spec.name, weight.misfit->error.what);
    for (const WeightLayout& weight : evaluation.weights)
        if (weight.misfit && !known.contains({ weight.spec.name, weight.misfit->error.what }))
            return &*weight.misfit;
    return nullptr;
}

} // namespace shardboard

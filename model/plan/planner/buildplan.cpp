// SPDX-License-Identifier: Apache-2.0
#include "model/plan/planner/buildplan.h"

#include "model/cost/kerneltime.h"
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"
#include "model/ops/recomputedops.h"
#include "model/picker/greedy.h"
#include "model/plan/collectiveprice.h"
#include "model/plan/largestshard.h"
#include "model/plan/memory/castbytes.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/plan/memory/timeline.h"
#include "model/plan/pipeline.h"
#include "model/plan/planner/linkprice.h"
#include "model/plan/planner/pickattempts.h"
#include "model/plan/planner/pickmemo.h"
#include "model/plan/planner/pinning.h"
#include "model/plan/planner/planfacts.h"
#include "model/plan/planner/reasons.h"
#include "model/plan/recomputedlayers.h"
#include "model/plan/time/hosttime.h"
#include "model/plan/time/kernelworkof.h"
#include "model/plan/time/steptime.h"
#include "model/text/contains.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace shardboard {

namespace {

/// On an axis of one device all placements are the same thing; without these axes equal layouts compare equal.
Layout withoutTrivialAxes(Layout layout, const Mesh& mesh)
{
    const auto trivial = [&](const AxisRef& ref) { return ref.whole() && mesh.axis(ref.axis).size == 1; };
    for (auto& dim : layout.dims)
        std::erase_if(dim, trivial);
    std::erase_if(layout.partial, trivial);
    return layout;
}

class PlanBuilder {
public:
    explicit PlanBuilder(const PlanRequest& request)
        : m_graph(request.graph)
        , m_wholeMesh(request.mesh)
        , m_mesh(pickedMesh(request.mesh, request.pipeline))
        , m_pipeline(request.pipeline)
        , m_optimizer(effective(request.workload).optimizer)
        , m_microBatches(effective(request.workload).microBatches)
        , m_trains(request.workload.kind == WorkloadKind::Train)
        , m_framework(factsOf(m_trains ? request.memory.framework : Framework::None))
        , m_kernels(kernelSettings(request.workload, m_framework, request.hardware))
        , m_dispatch(request.workload.dispatch)
        , m_options(request.picker)
        , m_hardware(request.hardware)
        , m_resharding(request.mesh, request.hardware)
        , m_linkPrice(linkPrice(m_resharding))
        , m_pinning(request.graph, request.mesh, request.pins, request.picker.profile)
        , m_neededBackward(neededBackward(request.graph))
        , m_readBackward(m_kernels.fp8.recipe == Fp8Recipe::Usual ? decltype(m_readBackward) {}
                                                                  : readBackward(request.graph, m_neededBackward))
        , m_gateReads(m_framework.gatesInExperts ? readByGatesAlone(request.graph) : std::set<TensorId> {})
        , m_made(request.graph.tensors.size())
        , m_variants(request.graph.segments.size())
    {
        m_plan.besideBytes = request.besideBytes;
        m_plan.mesh = request.mesh;
        m_plan.microBatches = m_microBatches;
        m_plan.held = m_kernels.held;
        if (m_kernels.fp8Products)
            chooseFp8();
        const bool whole = m_pipeline.present() && m_framework.wholeInPipelines;
        m_plan.keepsGathered = m_trains && !request.memory.reshardAfterForward.value_or(!whole);
        m_plan.wholeGradients = whole && m_microBatches > 1;
        m_keepsProducts = m_framework.keepsProducts && request.workload.software == Software::Eager
            && request.workload.recompute == Recompute::ByOp;
        m_plan.cacheType = request.workload.precision.cache;
        m_plan.memorySettings = request.memory;
        if (!m_trains) // what trains holds nothing while a model serves
            m_plan.memorySettings.choose(Framework::None);
        m_offload = hasHostMemory(request.hardware.device) ? Offload {} : effective(request.workload).offload;
        m_groups = m_trains && request.memory.groupCollectives.value_or(m_framework.groupsBlocks);
        m_plan.overlap = request.workload.overlap;
        m_producer.resize(m_graph.tensors.size());
        m_uses.resize(m_graph.ops.size());
        for (std::size_t i = 0; i < m_graph.ops.size(); ++i)
            m_producer[m_graph.ops[i].result] = OpId(i);
        for (const Op& op : m_graph.ops)
            m_chosen = std::max(m_chosen, op.attributes.chosen);
        for (const GraphTensor& tensor : m_graph.tensors)
            if (tensor.again != kNoTensor)
                m_again.insert(tensor.again);
    }

    Result<Plan> build(const std::vector<Layout>& layouts)
    {
        if (m_pipeline.present()) {
            auto pipeline = plannedPipeline(m_pipeline, m_graph, m_wholeMesh, m_plan.microBatches);
            if (!pipeline.ok())
                return pipeline.error();
            m_plan.pipeline = pipeline.value();
        }
        if (m_offload.any() && m_offload.layers > 0)
            m_offloaded = firstLayersOfRuns(m_offload.layers, m_plan.pipeline.value_or(oneRun()));
        if (auto status = chooseOptimizerAxes(); !status.ok())
            return status.error();
        m_plan.layouts = layouts;
        m_plan.layouts.resize(m_graph.tensors.size());
        for (std::size_t i = 0; i < m_plan.layouts.size(); ++i)
            m_plan.layouts[i] = withoutTrivialAxes(m_plan.layouts[i], m_mesh);
        m_designed = m_plan.layouts;
        for (SegmentId segment { 0 }; segment < m_graph.segments.size(); ++segment)
            if (auto status = plan(segment); !status.ok())
                return status.error();
        if (m_plan.pipeline)
            addPipeline(m_graph, m_resharding.prices(), m_plan);
        fillHostTransfers(m_graph, m_plan, m_hardware);
        waitForHost(m_graph, m_plan, m_hardware);
        m_plan.kernelShare = kernelShareOf(m_hardware.device);
        setStepTimes(m_graph, m_plan);
        m_plan.reservedBytes = static_cast<std::int64_t>(m_hardware.reservedBytes());
        fillMemory(m_graph, m_plan);
        return std::move(m_plan);
    }

private:
    double density(TensorId id) const { return m_graph.entry(id).density; }
    Layout& layout(TensorId id) { return m_plan.layouts[static_cast<std::size_t>(id)]; }

    /// All layers, without a pipeline.
    PlannedPipeline oneRun() const
    {
        PlannedPipeline out;
        for (const Segment& segment : m_graph.segments)
            out.layers += segment.isLayer && segment.phase == Phase::Forward ? segment.count : 0;
        return out;
    }

    /// What of the segment that has just begun lies in the host's memory.
    void offload(const Segment& segment)
    {
        PlannedSegment& planned = m_plan.segments.back();
        const auto holds = [&](const Range& range) { return range.lo <= planned.firstLayer && planned.firstLayer < range.hi; };
        if (m_offload.layers > 0 && (!segment.isLayer || std::ranges::none_of(m_offloaded, holds)))
            return;
        planned.offload = m_offload.what.with(OffloadKind::Activations, segment.isLayer && m_offload.has(OffloadKind::Activations));
    }

    /// A run of layers that are alike, and the layouts in which their activations are kept.
    struct Variant {
        std::int64_t firstLayer;
        std::int64_t count;
        std::vector<Kept> kept;
    };

    /// By segment: what its backward segment needs of it.
    static std::vector<std::vector<TensorId>> neededBackward(const Graph& graph)
    {
        std::vector<std::vector<TensorId>> needed(graph.segments.size());
        std::vector<SegmentId> madeIn(graph.tensors.size());
        for (std::size_t i = 0; i < graph.segments.size(); ++i) {
            const Segment& segment = graph.segments[i];
            if (segment.phase == Phase::Forward) {
                for (const OpId id : segment.ops)
                    madeIn[graph.op(id).result] = SegmentId(i);
                continue;
            }
            if (segment.phase != Phase::Backward)
                continue;
            const SegmentId of = segment.of;
            const TensorId entering = graph.segments[of].carryIn;
            for (const OpId id : segment.ops)
                for (const TensorId tensor : graph.op(id).operands) {
                    const bool kept = madeIn[tensor] == of || tensor == entering;
                    if (kept && !contains(needed[of], tensor))
                        needed[of].push_back(tensor);
                }
        }
        return needed;
    }

    struct Readers {
        bool products = false; ///< for the gradients of their weights
        bool others = false;
    };
    static std::vector<std::map<TensorId, Readers>> readBackward(const Graph& graph,
                                                                 const std::vector<std::vector<TensorId>>& needed)
    {
        std::vector<std::map<TensorId, Readers>> out(needed.size());
        for (std::size_t i = 0; i < needed.size(); ++i)
            for (const TensorId tensor : needed[i])
                out[i][tensor];
        std::set<TensorId> attended; // attention's own gradient takes what it gave, too
        for (const Segment& segment : graph.segments)
            for (const OpId id : segment.phase == Phase::Forward ? segment.ops : std::vector<OpId> {})
                if (const OpDefinition& definition = definitionOf(graph.op(id).kind);
                    definition.statistics != nullptr || (definition.view && attended.contains(graph.op(id).operands.front())))
                    attended.insert(graph.op(id).result);
        for (auto& readers : out)
            for (auto& [tensor, read] : readers)
                read.others = attended.contains(tensor);
        for (const Segment& segment : graph.segments)
            for (const OpId id : segment.phase == Phase::Backward ? segment.ops : std::vector<OpId> {})
                for (const TensorId tensor : graph.op(id).operands)
                    if (const auto found = out[segment.of].find(tensor); found != out[segment.of].end())
                        (definitionOf(graph.op(id).kind).sumsRows ? found->second.products : found->second.others) = true;
        return out;
    }

    /// What of the forward pass only the gradients of gates need: the results of experts.
    static std::set<TensorId> readByGatesAlone(const Graph& graph)
    {
        std::set<TensorId> gates;
        std::set<TensorId> others;
        for (const Segment& segment : graph.segments)
            for (const OpId id : segment.phase == Phase::Backward ? segment.ops : std::vector<OpId> {})
                for (const TensorId tensor : graph.op(id).operands)
                    (graph.op(id).kind == OpKind::CombineGradGates ? gates : others).insert(tensor);
        std::erase_if(gates, [&](TensorId tensor) { return others.contains(tensor); });
        return gates;
    }

    Status plan(SegmentId index)
    {
        const Segment& segment = m_graph.segment(index);
        Status status = done();
        const std::size_t first = m_plan.segments.size();
        switch (segment.phase) {
        case Phase::Forward:
            status = layers(index, segment.firstLayer, segment.count);
            break;
        case Phase::Backward: {
            const auto& variants = m_variants[segment.of];
            for (auto variant = variants.rbegin(); variant != variants.rend() && status.ok(); ++variant) {
                status = layers(index, variant->firstLayer, variant->count, variant->kept);
            }
            break;
        }
        case Phase::Update:
            m_firstCollective = m_plan.collectives.size();
            m_plan.segments.push_back({ index, segment.name, segment.firstLayer, segment.count, {}, Phase::Update });
            offload(segment);
            status = operations(segment);
            repeat(m_plan.segments.back(), m_firstCollective, segment.count);
            break;
        }
        nameVariants(first);
        return status;
    }

    /// Layers of a segment, one after the other (a backward pass from the last to the first). They are planned once for each
    /// layout of the residual stream that enters them; as soon as it leaves a layer as it entered, all that remain are alike.
    /// Each finds what was `kept` for it as the forward pass left it.
    Status layers(SegmentId index, std::int64_t firstLayer, std::int64_t count, const std::vector<Kept>& kept = {})
    {
        const Segment& segment = m_graph.segment(index);
        const bool down = segment.phase == Phase::Backward;
        std::int64_t layer = 0;
        while (layer < count) {
            for (const Kept& activation : kept)
                layout(activation.tensor) = activation.layout;
            const Layout entry = segment.carryIn == kNoTensor ? Layout {} : layout(segment.carryIn);
            if (segment.carryIn != kNoTensor)
                m_made[segment.carryIn] = entry;
            m_firstCollective = m_plan.collectives.size();
            m_plan.segments.push_back(
                { index, segment.name, firstLayer + (down ? count - 1 - layer : layer), 1, {}, segment.phase });
            offload(segment);
            if (auto status = operations(segment); !status.ok())
                return status;
            ++layer;
            const bool alike = layer < count && segment.carryIn != kNoTensor && layout(segment.carryOut) == entry;
            const std::int64_t repeats = alike ? count - layer + 1 : 1;
            PlannedSegment& planned = m_plan.segments.back();
            repeat(planned, m_firstCollective, repeats);
            if (down)
                planned.firstLayer -= repeats - 1;
            keep(index, planned);
            layer += repeats - 1;
            // The next layer reads what this one wrote: give it to the carried tensor.
            if (layer < count)
                layout(segment.carryIn) = layout(segment.carryOut);
        }
        return done();
    }

    /// Notes what the backward pass will find of a forward segment.
    void keep(SegmentId index, PlannedSegment& planned)
    {
        if (planned.phase != Phase::Forward)
            return;
        for (const TensorId tensor : m_neededBackward[index]) {
            const TensorSpec& spec = m_graph.tensor(tensor);
            const Layout& made = m_made[tensor];
            const bool grown = largestShard(spec.shape, layout(tensor), m_mesh) > largestShard(spec.shape, made, m_mesh);
            planned.kept.push_back(
                { tensor, grown && !m_framework.keepsGatheredInputs ? made : layout(tensor), keptShare(index, tensor) });
        }
        for (const PlannedOp& op : planned.ops) {
            const TensorId result = m_graph.op(op.op).result;
            const auto statistics = definitionOf(m_graph.op(op.op).kind).statistics;
            if (statistics != nullptr && !m_neededBackward[index].empty() && !m_again.contains(result))
                planned.statistics +=
                    statistics(m_graph.op(op.op).attributes, largestShape(m_graph.tensor(result).shape, op.result, m_mesh),
                               m_graph.tensor(m_graph.op(op.op).operands[1]).shape[1], m_graph.tensor(result).dtype);
        }
        if (m_keepsProducts && m_graph.segment(index).isLayer) {
            const std::vector<OpId>& ops = m_graph.segment(index).ops;
            const std::set<OpId> again = recomputedOps(m_graph, ops, Recompute::ByOp);
            for (const OpId id : ops) {
                const bool saved = m_graph.op(id).kind == OpKind::Linear || definitionOf(m_graph.op(id).kind).statistics != nullptr;
                const TensorId result = m_graph.op(id).result;
                if (saved && !again.contains(id) && !contains(m_neededBackward[index], result))
                    planned.statistics +=
                        bytesOf(largestShard(m_graph.tensor(result).shape, m_made[result], m_mesh), m_graph.tensor(result).dtype);
            }
        }
        m_variants[static_cast<std::size_t>(index)].push_back({ planned.firstLayer, planned.count, planned.kept });
    }

    /// Products in fp8 keep the cast of their input for the gradient of the weight: in place of the value, or beside it where
    /// others need that.
    double keptShare(SegmentId index, TensorId tensor) const
    {
        if (m_gateReads.contains(tensor))
            return 0;
        const Fp8RecipeFacts& recipe = factsOf(m_plan.fp8.recipe);
        const TensorSpec& spec = m_graph.tensor(tensor);
        if (recipe.recipe == Fp8Recipe::Usual || !m_framework.savesInFp8 || !m_graph.segment(index).isLayer
            || bitsOf(spec.dtype) != 16)
            return 1;
        const auto [cast, value] = m_readBackward[index].at(tensor);
        const double share = recipe.bytes / (bitsOf(spec.dtype) / 8.0);
        return cast ? share + (value ? 1 : 0) : 1;
    }

    /// Layers that are alike, and micro-batches, multiply what happens in a segment.
    void repeat(PlannedSegment& segment, std::size_t firstCollective, std::int64_t count)
    {
        segment.count = count;
        const std::int64_t times = count * (segment.phase == Phase::Update ? 1 : m_plan.microBatches);
        for (PlannedOp& op : segment.ops)
            op.count = times;
        for (std::size_t i = firstCollective; i < m_plan.collectives.size(); ++i)
            m_plan.collectives[i].count = times;
        if (m_trains && segment.phase != Phase::Update)
            countOnce(segment, firstCollective, count);
        if (m_groups)
            groupBlock(firstCollective);
    }

    /// Of a weight or its gradient.
    int blockOf(TensorId tensor) const
    {
        const GraphTensor& entry = m_graph.entry(tensor);
        const TensorId of = entry.gradientOf != kNoTensor ? entry.gradientOf : entry.addendOf;
        return m_graph.entry(of != kNoTensor ? of : tensor).block;
    }

    /// The weights of a block go in one call, and so do their gradients, as far as they go over the same axes equally often.
    void groupBlock(std::size_t firstCollective)
    {
        using Call = std::tuple<CollectiveKind, OverlapKind, std::vector<int>, std::int64_t, int>;
        std::map<Call, std::vector<std::size_t>> calls;
        for (std::size_t i = firstCollective; i < m_plan.collectives.size(); ++i) {
            const Collective& it = m_plan.collectives[i];
            if (it.kind != CollectiveKind::LocalSlice && it.count > 0 && movesWeight(m_graph, it))
                calls[{ it.kind, overlapKindOf(m_graph, m_plan, it), it.axes, it.count, blockOf(it.tensor) }].push_back(i);
        }
        for (const auto& [call, members] : calls) {
            std::int64_t bytes = 0;
            for (const std::size_t i : members)
                bytes += m_plan.collectives[i].bytes;
            for (const std::size_t i : members.size() > 1 ? members : std::vector<std::size_t> {}) {
                Collective& collective = m_plan.collectives[i];
                collective.groupBytes = bytes;
                collective.joins = i != members.front();
                price(collective, collective.bytes);
                collective.reason += "; " + std::to_string(members.size()) + " tensors of the block go in one call";
            }
        }
    }

    /// Weights that stay gathered are not gathered again, and what stays to the last micro-batch moves once a step.
    void countOnce(const PlannedSegment& segment, std::size_t firstCollective, std::int64_t layers)
    {
        const bool isLayer = m_graph.segment(segment.segment).isLayer;
        for (std::size_t i = firstCollective; i < m_plan.collectives.size(); ++i) {
            Collective& collective = m_plan.collectives[i];
            const bool weight = m_graph.tensor(collective.tensor).role == TensorRole::Weight;
            const bool asLayer = isLayer || m_graph.entry(collective.tensor).block > 0;
            if (weight && (m_plan.keepsGathered || (!asLayer && m_framework.onlyOnce))) {
                const bool before = segment.phase == Phase::Backward || (!isLayer && gatheredBefore(segment, collective));
                if (before)
                    collective.count = 0;
                else if (m_plan.wholeGradients)
                    collective.count = layers;
                if (before)
                    collective.reason += "; it is there already: the weight stays gathered from its first use to its gradient";
            } else if (m_plan.wholeGradients && m_graph.op(collective.op).kind == OpKind::ReduceGrad) {
                collective.count = layers;
                collective.reason += "; once a step, for gradients are added up whole";
            }
        }
    }

    /// Of weights outside of the layers, a table that embedding and head share: whether another segment gathered it.
    bool gatheredBefore(const PlannedSegment& segment, const Collective& collective)
    {
        const auto [place, first] = m_atEnds.try_emplace(collective.tensor, segment.segment);
        return !first && place->second != segment.segment;
    }

    /// Layers of one segment that are laid out differently carry their numbers in the name.
    void nameVariants(std::size_t first)
    {
        if (m_plan.segments.size() - first < 2)
            return;
        for (std::size_t i = first; i < m_plan.segments.size(); ++i) {
            PlannedSegment& variant = m_plan.segments[i];
            const std::int64_t last = variant.firstLayer + variant.count - 1;
            const std::string old = variant.name;
            variant.name = "block " + std::to_string(variant.firstLayer)
                + (last > variant.firstLayer ? "-" + std::to_string(last) : std::string());
            for (Collective& collective : m_plan.collectives)
                if (collective.plannedSegment == i)
                    collective.id = variant.name + collective.id.substr(old.size());
        }
    }

    Status operations(const Segment& segment)
    {
        m_lastUse.clear();
        m_cast.clear();
        for (const OpId id : segment.ops)
            for (const TensorId tensor : m_graph.op(id).operands)
                if (m_graph.tensor(tensor).role == TensorRole::Weight)
                    m_lastUse[tensor] = id;
        for (const OpId id : segment.ops)
            if (auto status = operation(segment, id); !status.ok())
                return status;
        for (const auto& [weight, last] : m_lastUse) // what was gathered of it is gone
            layout(weight) = m_designed[static_cast<std::size_t>(weight)];
        return done();
    }

    Status operation(const Segment& segment, OpId id)
    {
        const Op& op = m_graph.op(id);
        if (op.kind == OpKind::ReduceGrad || isStep(op.kind) || segment.phase == Phase::Update)
            return weightUpdate(segment, id);
        std::vector<PickOperand> operands;
        for (const TensorId tensor : op.operands)
            operands.push_back(pickOperand(m_graph.entry(tensor), layout(tensor), m_mesh));
        const std::string where = segment.name + "/" + op.name;
        const std::vector<AxisPin> pins = operationPins(m_graph, m_pinning, id, m_plan.layouts,
                                                        [&](std::size_t i) -> const Layout& { return operands[i].layout; });
        m_decided.clear();
        const Shape& result = m_graph.tensor(op.result).shape;
        const Pick* picked = m_picks.find(op.kind, operands, result, pins);
        std::optional<Pick> other; // of a refused operation: each of them is told
        if (picked == nullptr) {
            auto pick = pickWith(id, operands, pins, where, pickAttempts(op.kind, m_options)[0]);
            if (pick.ok()) {
                picked = &m_picks.add(op.kind, std::move(operands), result, pins, std::move(pick).value());
            } else {
                pick = pickOtherwise(id, operands, pins, where, pick.error());
                if (!pick.ok())
                    return pick.error();
                picked = &other.emplace(std::move(pick).value());
            }
        }
        PlannedOp planned;
        planned.op = id;
        planned.unmet = picked->unmet;
        for (const AxisPin& pin : pins)
            if (!pin.tieOnly && !contains(planned.unmet, pin.axis))
                m_decided.push_back(pin);
        planned.result = picked->result;
        return finish(segment, std::move(planned), picked->operands, picked->rings);
    }

    Result<Pick> pickWith(OpId id, const std::vector<PickOperand>& operands, const std::vector<AxisPin>& pins,
                          const std::string& where, const PickerOptions& options) const
    {
        const Op& op = m_graph.op(id);
        return pickGreedy({ op.kind, operands, m_graph.tensor(op.result).shape, m_mesh, options, pins, where, &m_linkPrice });
    }

    /// What the picker refused, picked as if nothing were refused.
    Result<Pick> pickOtherwise(OpId id, const std::vector<PickOperand>& operands, const std::vector<AxisPin>& pins,
                               const std::string& where, const Error& refused)
    {
        Result<Pick> pick = refused;
        const auto attempts = pickAttempts(m_graph.op(id).kind, m_options);
        for (std::size_t i = 1; i < attempts.size() && !pick.ok(); ++i)
            pick = pickWith(id, operands, pins, where, attempts[i]);
        if (pick.ok())
            noteRefusal(id, refused, pick.value().operands);
        return pick;
    }

    void noteRefusal(OpId id, const Error& refused, const std::vector<Layout>& targets)
    {
        if (std::ranges::any_of(m_plan.refused, [&](const auto& refusal) { return refusal.first == id; }))
            return;
        std::string moves;
        const Op& op = m_graph.op(id);
        for (std::size_t i = 0; i < op.operands.size(); ++i)
            if (layout(op.operands[i]) != targets[i])
                moves += (moves.empty() ? "; it needs " : " and ") + m_graph.tensor(op.operands[i]).name + " as "
                    + specText(targets[i], m_mesh) + ", which is " + specText(layout(op.operands[i]), m_mesh);
        m_plan.refused.push_back({ id, { .where = refused.where, .reason = refused.what + moves, .fix = refused.fix } });
    }

    /// What happens to a weight's gradient is not picked: it is summed into the layout of the weight. With several
    /// micro-batches the mesh axes that cut the weight are summed over in each (so that no device ever holds more of the sum
    /// than its part), the others once, before the optimizer's step. Where the optimizer is cut, the step is made in its parts.
    Status weightUpdate(const Segment& segment, OpId id)
    {
        const Op& op = m_graph.op(id);
        const bool reduce = op.kind == OpKind::ReduceGrad;
        const bool gather = op.kind == OpKind::Output;
        const TensorId gradient = reduce || gather ? op.operands[0] : op.operands[1];
        const TensorId weight = reduce ? m_graph.entry(op.result).gradientOf
            : gather                   ? m_graph.op(m_producer[static_cast<std::size_t>(op.operands[0])]).operands[0]
                                       : op.operands[0];
        m_decided.clear();
        PlannedOp planned;
        planned.op = id;
        planned.result = m_designed[static_cast<std::size_t>(weight)];
        planned.result.partial.clear(); // a weight that is stored in addends gets its step on the whole
        const bool inParts = isStep(op.kind) || (reduce && m_optimizer.gradients);
        if (inParts)
            cutForOptimizer(m_optimizerAxes, m_graph.tensor(weight).shape, m_mesh, planned.result);
        if (reduce)
            for (const AxisRef& ref : layout(gradient).partial)
                if ((m_plan.microBatches > 1 || waits(ref.axis)) && std::ranges::none_of(planned.result.dims, [&](const auto& dim) {
                        return std::ranges::any_of(dim, [&](const AxisRef& cut) { return cut.axis == ref.axis; });
                    }))
                    planned.result.partial.push_back(ref);
        Layout whole = planned.result;
        if (reduce || gather)
            return finish(segment, std::move(planned), { whole });
        if (op.kind == OpKind::MuonStep) { // needs whole matrices
            Layout matrices = whole;
            const std::size_t rank = matrices.dims.size();
            for (std::size_t dim = rank >= 2 ? rank - 2 : 0; dim < rank; ++dim) {
                matrices.dims[dim].clear();
                matrices.setCutting(dim, {});
            }
            return finish(segment, std::move(planned), { whole, matrices });
        }
        return finish(segment, std::move(planned), { whole, whole });
    }

    /// Embedding and head are not computed in fp8.
    void chooseFp8()
    {
        m_plan.fp8 = m_kernels.fp8;
        m_plan.fp8AnyOrder = m_hardware.device.peak.fp4.has_value(); // Blackwell and later
        for (const Segment& segment : m_graph.segments)
            for (const OpId id : segment.phase == Phase::Forward ? segment.ops : std::vector<OpId> {})
                if (definitionOf(m_graph.op(id).kind).gemm != nullptr && !ofVocabulary(m_graph.op(id)))
                    for (const TensorId operand : m_graph.op(id).operands)
                        if (m_graph.tensor(operand).role == TensorRole::Weight)
                            m_plan.fp8Weights.insert(operand);
    }

    /// The head and its gradients.
    bool ofVocabulary(const Op& op) const
    {
        const auto has = [&](TensorId id) {
            return std::ranges::any_of(m_graph.tensor(id).dimLabels,
                                       [](const std::string& label) { return label.find("vocabulary") != std::string::npos; });
        };
        return has(op.result) || std::ranges::any_of(op.operands, has);
    }

    Status chooseOptimizerAxes()
    {
        for (const std::string& name : m_optimizer.axes) {
            const int axis = m_wholeMesh.find(name);
            if (axis < 0)
                return inputError("workload", "the mesh " + m_wholeMesh.text() + " has no axis '" + name + "' for the optimizer",
                                  "use one that it has");
            if (m_mesh.axis(axis).size > 1) // of a pipeline the stages are no copies
                m_optimizerAxes.push_back(axis);
        }
        return done();
    }

    /// Whether a gradient's sum over the axis waits for the optimizer's step.
    bool waits(int axis) const { return !m_optimizer.gradients && contains(m_optimizerAxes, axis); }

    /// Brings the operands into the layouts that were picked.
    Status finish(const Segment& segment, PlannedOp planned, const std::vector<Layout>& targets,
                  const std::vector<Ring>& rings = {})
    {
        const OpId id = planned.op;
        const Op& op = m_graph.op(id);
        for (std::size_t i = 0; i < op.operands.size(); ++i) {
            auto use = reshard(segment, id, static_cast<int>(i), targets[i]);
            if (!use.ok())
                return use.error();
            for (const Ring& ring : rings)
                if (ring.operand == static_cast<int>(i)) {
                    if (const CollectiveId shared = sharedRing(op, use.value(), ring.axis); shared.valid())
                        use.value().collectives.push_back(shared);
                    else
                        addRing(segment, id, use.value(), ring);
                }
            planned.operands.push_back(std::move(use).value());
        }
        for (const OperandUse& use : planned.operands)
            if (use.replaces)
                layout(use.tensor) = use.layout;
        layout(op.result) = planned.result;
        m_made[static_cast<std::size_t>(op.result)] = planned.result;
        price(planned, segment.isLayer);
        m_uses[static_cast<std::size_t>(id)] = planned.operands;
        m_plan.segments.back().ops.push_back(std::move(planned));
        return done();
    }

    /// What the pin says that decided on a mesh axis of the operation at hand; of a row's pin that it was a pin.
    std::string decidedBy(int axis) const
    {
        for (auto pin = m_decided.rbegin(); pin != m_decided.rend(); ++pin)
            if (pin->axis == axis)
                return pin->why;
        return {};
    }

    Result<OperandUse> reshard(const Segment& segment, OpId id, int operand, const Layout& target)
    {
        const Op& op = m_graph.op(id);
        const TensorId tensor = op.operands[static_cast<std::size_t>(operand)];
        const TensorSpec& spec = m_graph.tensor(tensor);
        const DType dtype = movedType(op, tensor);
        OperandUse use { tensor, layout(tensor), target, {}, false };
        const double share = density(tensor) * movedShareOf(op, tensor);
        auto steps =
            m_resharding.steps(use.before, target, { spec.shape, dtype, share }, segment.name + "/" + op.name + ": " + spec.name);
        if (!steps.ok())
            return steps.error();
        for (ReshardStep& step : steps.value()) {
            Collective collective;
            collective.kind = step.kind;
            collective.axes = step.axes;
            collective.groupSize = m_mesh.groupSize(step.axes);
            collective.tensor = tensor;
            collective.bytes = scaledBytes(stepBytes(step, spec.shape, dtype, m_mesh), share);
            if (dtype == DType::F8E4M3 && movesCasts(op, tensor))
                collective.bytes = castBytes(m_plan.fp8.recipe, collective.bytes); // an element is a byte
            if (m_dispatch == Dispatch::PerNode && step.kind == CollectiveKind::AllToAll && !spec.dimLabels.empty()
                && spec.dimLabels.front() == "experts")
                collective.copies = m_chosen;
            price(collective, collective.bytes);
            collective.plannedSegment = lastId(m_plan.segments);
            collective.op = id;
            collective.operand = operand;
            collective.id = segment.name + "/" + op.name + "/" + spec.name + "/" + collectiveName(step.kind)
                + (use.collectives.empty() ? std::string() : "." + std::to_string(use.collectives.size()));
            collective.step = std::move(step);
            const Producer from = producer(tensor, segment);
            collective.cause = collectiveCause(m_graph, m_mesh, collective, from);
            collective.reason =
                collectiveReason(m_graph, m_mesh, collective, from, { use.before, target }, decidedBy(collective.axes.front()));
            // Upstream reshards a weight for each operation anew.
            const bool wanted =
                spec.role != TensorRole::Weight || (m_options.profile == PickerProfile::Shardboard && m_lastUse[tensor] != id);
            use.replaces = use.replaces || (wanted && collective.kind != CollectiveKind::LocalSlice);
            use.collectives.push_back(nextId(m_plan.collectives));
            m_plan.collectives.push_back(std::move(collective));
        }
        return use;
    }

    /// Whether an operation takes a weight after its step.
    bool isUpdated(const Op& op) const { return op.kind == OpKind::Output && m_plan.segments.back().phase == Phase::Update; }

    /// Whether what moves is a weight that was cast to fp8 before.
    bool movesCasts(const Op& op, TensorId tensor) const
    {
        return m_plan.fp8.gather && m_plan.fp8Weights.contains(isUpdated(op) ? m_graph.op(m_producer[tensor]).operands[0] : tensor);
    }

    /// Weights are gathered, and their gradients reduced, in types of their own.
    DType movedType(const Op& op, TensorId tensor) const
    {
        const TensorSpec& spec = m_graph.tensor(tensor);
        if (spec.role == TensorRole::Weight || isUpdated(op))
            return movesCasts(op, tensor) ? DType::F8E4M3 : shardboard::movedType(spec.packing, m_kernels.held.gathered);
        if (op.kind == OpKind::MuonStep && m_plan.layouts[static_cast<std::size_t>(tensor)].partial.empty())
            return m_kernels.held.gathered; // it is orthogonalized in the computing type
        const bool gradient = op.kind == OpKind::ReduceGrad || isStep(op.kind);
        return gradient ? m_kernels.held.reductions : spec.dtype;
    }

    /// In bytes of that type, with the scales of a weight that moves packed.
    double movedShareOf(const Op& op, TensorId tensor) const
    {
        const TensorSpec& spec = m_graph.tensor(tensor);
        return spec.role == TensorRole::Weight && !movesCasts(op, tensor) ? movedShare(spec, m_kernels.held.gathered) : 1;
    }

    /// The ring that brings the same parts to an operation on the same operands right before, or none: the gradients of keys and
    /// values are made of the same queries as these pass by.
    CollectiveId sharedRing(const Op& op, const OperandUse& use, int axis) const
    {
        const auto& ops = m_plan.segments.back().ops;
        for (auto before = ops.rbegin(); before != ops.rend() && m_graph.op(before->op).operands == op.operands; ++before)
            for (const OperandUse& other : before->operands)
                for (const CollectiveId index : other.collectives) {
                    const Collective& collective = m_plan.collective(index);
                    if (collective.kind == CollectiveKind::SendRecv && collective.tensor == use.tensor
                        && collective.axes == std::vector { axis } && other.layout == use.layout)
                        return index;
                }
        return {};
    }

    void price(Collective& collective, std::int64_t bytes) { setPrice(collective, bytes, m_resharding.prices()); }

    /// The sends of an operand around a ring: every device passes on what it has, until each has seen all parts.
    void addRing(const Segment& segment, OpId id, OperandUse& use, const Ring& ring)
    {
        const TensorSpec& spec = m_graph.tensor(use.tensor);
        const Op& op = m_graph.op(id);
        Collective collective;
        collective.kind = CollectiveKind::SendRecv;
        collective.axes = { ring.axis };
        collective.groupSize = m_mesh.axis(ring.axis).size;
        collective.tensor = use.tensor;
        collective.step = { CollectiveKind::SendRecv, collective.axes, use.layout, use.layout };
        const std::int64_t part = bytesOf(largestShard(spec.shape, use.layout, m_mesh), spec.dtype);
        const std::int64_t hops = collective.groupSize - 1;
        collective.bytes = part * hops;
        price(collective, part);
        collective.seconds *= static_cast<double>(hops);
        collective.plannedSegment = lastId(m_plan.segments);
        collective.op = id;
        collective.operand = ring.operand;
        collective.id = segment.name + "/" + op.name + "/" + spec.name + "/ring over " + m_mesh.axis(ring.axis).name;
        collective.cause = spec.name + " goes around the ring of " + m_mesh.axis(ring.axis).name;
        collective.reason = op.name + " runs with the sequence cut over " + m_mesh.axis(ring.axis).name + ": the parts of "
            + spec.name + " go around the ring of devices, so that no device ever holds more than two";
        use.collectives.push_back(nextId(m_plan.collectives));
        m_plan.collectives.push_back(std::move(collective));
    }

    /// The operation that wrote a tensor; for the residual stream of a later layer, the one at the end of the layer before.
    Producer producer(TensorId tensor, const Segment& segment) const
    {
        const bool later = m_plan.segments.back().firstLayer > segment.firstLayer;
        const TensorId written = later && tensor == segment.carryIn ? segment.carryOut : tensor;
        OpId op = m_producer[written];
        // A change of shape only hands on what the operation before it made.
        while (op.valid()
               && (m_graph.op(op).kind == OpKind::SplitHeads || m_graph.op(op).kind == OpKind::MergeHeads
                   || m_graph.op(op).kind == OpKind::SplitGroups))
            op = m_producer[m_graph.op(op).operands.front()];
        return op.valid() ? Producer { op, m_uses[op] } : Producer {};
    }

    /// How often the stored weights of an operation are cast for it: before its first use in a layer's pass; where weights stay
    /// gathered once a step.
    double castsOf(const PlannedOp& planned)
    {
        const Phase phase = m_plan.segments.back().phase;
        if (bitsOf(m_kernels.held.weights) <= bitsOf(m_kernels.held.gathered) || phase == Phase::Update)
            return 0;
        bool first = false;
        for (const OperandUse& use : planned.operands)
            if (const TensorSpec& spec = m_graph.tensor(use.tensor); spec.role == TensorRole::Weight && !spec.packing.present())
                first = m_cast.insert(use.tensor).second || first;
        if (!m_plan.keepsGathered)
            return first ? 1 : 0;
        return first && phase == Phase::Forward ? 1.0 / static_cast<double>(m_plan.microBatches) : 0;
    }

    /// Embedding and head are not computed in fp8.
    void price(PlannedOp& planned, bool inLayer)
    {
        KernelSettings settings = m_kernels;
        settings.fp8Products = settings.fp8Products && (inLayer || !ofVocabulary(m_graph.op(planned.op)));
        settings.casts = castsOf(planned);
        planned.work = kernelWorkOf(m_graph, m_mesh, planned, settings);
        planned.work.onHost = planned.work.kernel == KernelClass::Optimizer && m_framework.hostSteps
            && m_plan.segments.back().offload.has(OffloadKind::Optimizer);
        planned.seconds = kernelSeconds(planned.work, m_hardware);
    }

    const Graph& m_graph;
    const Mesh& m_wholeMesh;
    const Mesh m_mesh; ///< with one stage, where there is a pipeline: no operation is cut over the stages
    const PipelineSpec& m_pipeline;
    const OptimizerSharding m_optimizer;
    const std::int64_t m_microBatches;
    const bool m_trains;
    const FrameworkFacts& m_framework;
    bool m_keepsProducts = false; ///< that no gradient reads
    bool m_groups = false; ///< weights of a block go in one call
    Offload m_offload;
    std::vector<Range> m_offloaded; ///< layers, where not all are
    std::map<TensorId, SegmentId> m_atEnds; ///< weights outside of the layers that are gathered, and by which segment first
    const KernelSettings m_kernels;
    std::vector<int> m_optimizerAxes;
    const Dispatch m_dispatch;
    std::int64_t m_chosen = 0; ///< experts of a token
    const PickerOptions& m_options;
    const Hardware& m_hardware;
    ReshardPlanner m_resharding;
    LinkPrice m_linkPrice;
    Pinning m_pinning;
    PickMemo m_picks;
    std::vector<AxisPin> m_decided; ///< pins that decided how the operation at hand runs
    std::vector<std::vector<TensorId>> m_neededBackward; ///< by segment
    std::vector<std::map<TensorId, Readers>> m_readBackward; ///< the same: who reads it
    std::set<TensorId> m_gateReads; ///< kept for nobody
    std::vector<Layout> m_designed; ///< by TensorId: of weights and inputs
    std::map<TensorId, OpId> m_lastUse; ///< of weights, in the segment that is being planned
    std::set<TensorId> m_cast; ///< weights that the segment that is being planned has cast from their stored type
    std::vector<Layout> m_made; ///< by TensorId: the layout in which it was made
    std::vector<std::vector<Variant>> m_variants; ///< by forward segment
    std::size_t m_firstCollective = 0; ///< of the layer that is being planned
    std::vector<OpId> m_producer; ///< by TensorId
    std::set<TensorId> m_again; ///< what the backward pass computes again
    std::vector<std::vector<OperandUse>> m_uses; ///< by OpId: how it took its operands when it was last planned
    Plan m_plan;
};

} // namespace

Result<Plan> buildPlan(const PlanRequest& request) { return PlanBuilder(request).build(request.layouts); }

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/plan/buildplan.h"

#include "model/core/shards.h"
#include "model/cost/collectivetime.h"
#include "model/ops/opdefinition.h"
#include "model/picker/greedy.h"
#include "model/plan/reasons.h"

#include <algorithm>
#include <map>

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
    PlanBuilder(const Graph& graph, const Mesh& mesh, const PickerOptions& options, const Hardware& hardware)
        : m_graph(graph)
        , m_mesh(mesh)
        , m_options(options)
        , m_hardware(hardware)
    {
        m_plan.mesh = mesh;
        m_producer.assign(graph.tensors.size(), -1);
        m_uses.resize(graph.ops.size());
        for (std::size_t i = 0; i < graph.ops.size(); ++i)
            m_producer[static_cast<std::size_t>(graph.ops[i].result)] = static_cast<OpId>(i);
    }

    Result<Plan> build(const std::vector<Layout>& layouts)
    {
        m_plan.layouts = layouts;
        m_plan.layouts.resize(m_graph.tensors.size());
        for (std::size_t i = 0; i < m_plan.layouts.size(); ++i)
            m_plan.layouts[i] = withoutTrivialAxes(m_plan.layouts[i], m_mesh);
        for (std::size_t segment = 0; segment < m_graph.segments.size(); ++segment)
            if (auto status = layers(static_cast<int>(segment)); !status.ok())
                return status.error();
        for (const PlannedSegment& segment : m_plan.segments)
            for (const PlannedOp& op : segment.ops)
                m_plan.computeSeconds += static_cast<double>(op.count) * op.seconds;
        for (const Collective& collective : m_plan.collectives)
            m_plan.collectiveSeconds += static_cast<double>(collective.count) * collective.seconds;
        fillMemory(m_graph, m_plan);
        return std::move(m_plan);
    }

private:
    Layout& layout(TensorId id) { return m_plan.layouts[static_cast<std::size_t>(id)]; }

    /// The layers of a segment, one after the other. They are planned once for each layout of the residual stream that
    /// enters them; as soon as it leaves a layer as it entered, all that remain are alike.
    Status layers(int index)
    {
        const Segment& segment = m_graph.segments[static_cast<std::size_t>(index)];
        std::int64_t layer = 0;
        while (layer < segment.count) {
            const Layout entry = segment.carryIn == kNoTensor ? Layout {} : layout(segment.carryIn);
            const std::size_t firstCollective = m_plan.collectives.size();
            m_plan.segments.push_back({ index, segment.name, segment.firstLayer + layer, 1, {} });
            if (auto status = operations(segment); !status.ok())
                return status;
            ++layer;
            if (layer == segment.count)
                break;
            const Layout exit = layout(segment.carryOut);
            // The next layer reads what this one wrote: give it to the carried tensor.
            layout(segment.carryIn) = exit;
            if (exit == entry) {
                repeat(m_plan.segments.back(), firstCollective, segment.count - layer + 1);
                break;
            }
        }
        nameVariants(index);
        return done();
    }

    void repeat(PlannedSegment& segment, std::size_t firstCollective, std::int64_t count)
    {
        segment.count = count;
        for (PlannedOp& op : segment.ops)
            op.count = count;
        for (std::size_t i = firstCollective; i < m_plan.collectives.size(); ++i)
            m_plan.collectives[i].count = count;
    }

    /// Layers of one segment that are laid out differently carry their numbers in the name.
    void nameVariants(int index)
    {
        std::vector<PlannedSegment*> variants;
        for (PlannedSegment& segment : m_plan.segments)
            if (segment.segment == index)
                variants.push_back(&segment);
        if (variants.size() < 2)
            return;
        for (PlannedSegment* variant : variants) {
            const std::int64_t last = variant->firstLayer + variant->count - 1;
            const std::string old = variant->name;
            variant->name = "block " + std::to_string(variant->firstLayer)
                + (last > variant->firstLayer ? "-" + std::to_string(last) : std::string());
            for (Collective& collective : m_plan.collectives)
                if (&m_plan.segments[static_cast<std::size_t>(collective.plannedSegment)] == variant)
                    collective.id = variant->name + collective.id.substr(old.size());
        }
    }

    Status operations(const Segment& segment)
    {
        for (const OpId id : segment.ops)
            if (auto status = operation(segment, id); !status.ok())
                return status;
        return done();
    }

    Status operation(const Segment& segment, OpId id)
    {
        const Op& op = m_graph.op(id);
        std::vector<PickOperand> operands;
        for (const TensorId tensor : op.operands)
            operands.push_back({ m_graph.tensor(tensor).shape, m_graph.tensor(tensor).dtype, layout(tensor) });
        const std::string where = segment.name + "/" + op.name;
        auto pick = pickGreedy(op.kind, operands, m_graph.tensor(op.result).shape, m_mesh, m_options, where);
        if (!pick.ok())
            return pick.error();

        PlannedOp planned;
        planned.op = id;
        planned.candidates = std::move(pick.value().candidates);
        planned.result = pick.value().result;
        for (std::size_t i = 0; i < op.operands.size(); ++i) {
            auto use = reshard(segment, id, static_cast<int>(i), pick.value().operands[i]);
            if (!use.ok())
                return use.error();
            planned.operands.push_back(std::move(use).value());
        }
        for (const OperandUse& use : planned.operands)
            if (use.replaces)
                layout(use.tensor) = use.layout;
        layout(op.result) = planned.result;
        price(op, planned);
        m_uses[static_cast<std::size_t>(id)] = planned.operands;
        m_plan.segments.back().ops.push_back(std::move(planned));
        return done();
    }

    Result<OperandUse> reshard(const Segment& segment, OpId id, int operand, const Layout& target)
    {
        const Op& op = m_graph.op(id);
        const TensorId tensor = op.operands[static_cast<std::size_t>(operand)];
        const TensorSpec& spec = m_graph.tensor(tensor);
        OperandUse use { tensor, layout(tensor), target, {}, false };
        auto steps = reshardSteps(use.before, target, spec.shape, m_mesh, segment.name + "/" + op.name + ": " + spec.name);
        if (!steps.ok())
            return steps.error();
        for (ReshardStep& step : steps.value()) {
            Collective collective;
            collective.kind = step.kind;
            collective.axes = step.axes;
            collective.groupSize = m_mesh.groupSize(step.axes);
            collective.tensor = tensor;
            collective.bytes = stepBytes(step, spec.shape, spec.dtype, m_mesh);
            collective.seconds = collectiveSeconds(step.kind, collective.bytes, collective.groupSize,
                                                   linkOf(step.axes, m_mesh, m_hardware));
            collective.plannedSegment = static_cast<int>(m_plan.segments.size()) - 1;
            collective.op = id;
            collective.operand = operand;
            collective.id = segment.name + "/" + op.name + "/" + spec.name + "/" + collectiveName(step.kind)
                + (use.collectives.empty() ? std::string() : "." + std::to_string(use.collectives.size()));
            collective.step = std::move(step);
            const Producer from = producer(tensor, segment);
            collective.cause = collectiveCause(m_graph, m_mesh, collective, from);
            collective.reason = collectiveReason(m_graph, m_mesh, collective, from);
            const bool weight = spec.role == TensorRole::Weight;
            use.replaces = use.replaces || (!weight && collective.kind != CollectiveKind::LocalSlice);
            use.collectives.push_back(static_cast<int>(m_plan.collectives.size()));
            m_plan.collectives.push_back(std::move(collective));
        }
        return use;
    }

    /// The operation that wrote a tensor; for the residual stream of a later layer, the one at the end of the layer before.
    Producer producer(TensorId tensor, const Segment& segment) const
    {
        const bool later = m_plan.segments.back().firstLayer > segment.firstLayer;
        const TensorId written = later && tensor == segment.carryIn ? segment.carryOut : tensor;
        OpId op = m_producer[static_cast<std::size_t>(written)];
        // A change of shape only hands on what the operation before it made.
        while (op >= 0 && (m_graph.op(op).kind == OpKind::SplitHeads || m_graph.op(op).kind == OpKind::MergeHeads))
            op = m_producer[static_cast<std::size_t>(m_graph.op(op).operands.front())];
        return op < 0 ? Producer {} : Producer { op, m_uses[static_cast<std::size_t>(op)] };
    }

    void price(const Op& op, PlannedOp& planned) const
    {
        const OpDefinition& definition = definitionOf(op.kind);
        if (definition.kind == OpKind::GatherLast)
            return; // all that it takes is the all-gather before it
        const TensorSpec& out = m_graph.tensor(op.result);
        std::vector<Shape> shapes;
        LocalShapes local { {}, largestShape(out.shape, planned.result, m_mesh), &shapes };
        double bytes = static_cast<double>(bytesOf(elementCount(local.result).value_or(0), out.dtype));
        for (std::size_t i = 0; i < planned.operands.size(); ++i) {
            const OperandUse& use = planned.operands[i];
            const TensorSpec& spec = m_graph.tensor(use.tensor);
            shapes.push_back(spec.shape);
            local.operands.push_back(largestShape(spec.shape, use.layout, m_mesh));
            if (static_cast<int>(i) != definition.lookedUp) // else as many bytes as the result has
                bytes += static_cast<double>(bytesOf(elementCount(local.operands.back()).value_or(0), spec.dtype));
        }
        if (definition.flops != nullptr)
            planned.flops = definition.flops(local);
        planned.seconds = kernelSeconds(planned.flops, bytes, out.dtype, m_hardware);
    }

    const Graph& m_graph;
    const Mesh& m_mesh;
    const PickerOptions& m_options;
    const Hardware& m_hardware;
    std::vector<OpId> m_producer; ///< by TensorId
    std::vector<std::vector<OperandUse>> m_uses; ///< by OpId: how it took its operands when it was last planned
    Plan m_plan;
};

} // namespace

std::int64_t Plan::collectiveBytes() const
{
    std::int64_t bytes = 0;
    for (const Collective& collective : collectives)
        bytes += collective.count * collective.bytes;
    return bytes;
}

Shape largestShape(const Shape& shape, const Layout& layout, const Mesh& mesh)
{
    Shape out(shape.size());
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
        out[dim] = largestPart(shape[dim], layout.dims[dim], mesh, layout.cuttingOf(dim));
    return out;
}

std::int64_t largestShard(const Shape& shape, const Layout& layout, const Mesh& mesh)
{
    return elementCount(largestShape(shape, layout, mesh)).value_or(0);
}

Result<Plan> buildPlan(const Graph& graph, const Mesh& mesh, const std::vector<Layout>& layouts,
                       const PickerOptions& options, const Hardware& hardware)
{
    return PlanBuilder(graph, mesh, options, hardware).build(layouts);
}

} // namespace shardboard

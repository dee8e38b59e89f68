// SPDX-License-Identifier: Apache-2.0
#include "model/plan/buildplan.h"

#include "model/ops/opdefinition.h"
#include "model/plan/pipeline.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace shardboard {

namespace {

/// The largest sum of activations that live at the same time in one planned segment: a value lives from the operation
/// that writes it to the last one that reads it; the carried tensors live at both ends. While an operation runs, the copies
/// that its reshards made live too.
class SegmentMemory {
public:
    SegmentMemory(const Graph& graph, const Mesh& mesh, const PlannedSegment& planned)
        : m_graph(graph)
        , m_mesh(mesh)
        , m_planned(planned)
        , m_segment(graph.segments[static_cast<std::size_t>(planned.segment)])
    {
        for (const Kept& kept : planned.kept)
            m_elsewhere.insert(kept.tensor);
        if (planned.phase != Phase::Forward) { // what it reads and did not make was kept for it, and is counted there
            std::set<TensorId> own { m_segment.carryIn };
            for (const PlannedOp& op : planned.ops)
                own.insert(graph.op(op.op).result);
            for (const PlannedOp& op : planned.ops)
                for (const OperandUse& use : op.operands)
                    if (!own.contains(use.tensor))
                        m_elsewhere.insert(use.tensor);
            for (const PlannedOp& op : planned.ops)
                if (graph.tensors[static_cast<std::size_t>(graph.op(op.op).result)].gradientOf != kNoTensor
                    && graph.op(op.op).kind == OpKind::ReduceGrad)
                    m_elsewhere.insert(graph.op(op.op).result); // counted as a gradient
        }
        for (std::size_t i = 0; i < planned.ops.size(); ++i)
            for (const OperandUse& use : planned.ops[i].operands)
                m_lastUse[use.tensor] = i;
        if (m_segment.carryOut != kNoTensor)
            m_lastUse[m_segment.carryOut] = planned.ops.size();
    }

    void addTo(MemoryByCause& memory)
    {
        std::int64_t live = 0;
        for (std::size_t i = 0; i < m_planned.ops.size(); ++i) {
            const PlannedOp& op = m_planned.ops[i];
            std::int64_t copies = 0;
            for (const OperandUse& use : op.operands)
                copies += enter(use, live);
            const TensorId result = m_graph.op(op.op).result;
            if (isView(m_graph.op(op.op).kind) && m_lastUse[op.operands.front().tensor] == i)
                live -= release(op.operands.front().tensor);
            if (counts(result))
                live += hold(result, bytes(result, op.result));
            // Both parts are those of one moment: their largest values apart need not meet.
            if (live + copies > memory.activations + memory.reshard) {
                memory.activations = live;
                memory.reshard = copies;
                memory.peakAt = m_planned.name + "/" + m_graph.op(op.op).name;
            }
            for (const OperandUse& use : op.operands)
                if (m_lastUse[use.tensor] == i)
                    live -= release(use.tensor);
        }
    }

private:
    /// Gives the same values another shape or name, in place.
    static bool isView(OpKind kind) { return definitionOf(kind).view; }

    std::int64_t bytes(TensorId id, const Layout& layout) const
    {
        const GraphTensor& tensor = m_graph.tensors[static_cast<std::size_t>(id)];
        return scaledBytes(bytesOf(largestShard(tensor.spec.shape, layout, m_mesh), tensor.spec.dtype), tensor.density);
    }

    bool counts(TensorId id) const { return m_graph.tensor(id).role != TensorRole::Weight && !m_elsewhere.contains(id); }

    std::int64_t hold(TensorId id, std::int64_t size)
    {
        const std::int64_t before = m_held[id];
        m_held[id] = size;
        return size - before;
    }

    std::int64_t release(TensorId id)
    {
        const std::int64_t size = m_held[id];
        m_held.erase(id);
        return size;
    }

    /// Brings an operand in; returns the bytes of copies beside the stored value.
    std::int64_t enter(const OperandUse& use, std::int64_t& live)
    {
        const bool copied = !use.collectives.empty();
        const std::int64_t taken = copied ? bytes(use.tensor, use.layout) : 0;
        if (use.replaces && m_graph.tensor(use.tensor).role == TensorRole::Weight) {
            live += hold(use.tensor, taken); // beside the stored part, until its last use
            return 0;
        }
        if (!counts(use.tensor))
            return taken;
        if (!m_held.contains(use.tensor))
            live += hold(use.tensor, bytes(use.tensor, use.before));
        if (use.replaces) {
            const std::int64_t old = m_held[use.tensor];
            live += hold(use.tensor, taken);
            return old; // the value before the reshard, while it is being made
        }
        return taken;
    }

    const Graph& m_graph;
    const Mesh& m_mesh;
    const PlannedSegment& m_planned;
    const Segment& m_segment;
    std::set<TensorId> m_elsewhere; ///< counted elsewhere
    std::map<TensorId, std::size_t> m_lastUse;
    std::map<TensorId, std::int64_t> m_held;
};

/// Bytes by the part of the model that they belong to. Without a pipeline a device has all parts; with one the layers of its
/// stage, and on the first or the last stage embedding or head.
class ByPart {
public:
    ByPart(const Graph& graph, const Plan& plan)
        : m_graph(graph)
        , m_plan(plan)
        , m_ends(graph.segments.size(), 0)
    {
    }

    void add(int segment, std::int64_t bytes)
    {
        const Segment& part = m_graph.segments[static_cast<std::size_t>(segment)];
        if (part.isLayer)
            m_layers += bytes;
        else
            m_ends[static_cast<std::size_t>(part.of < 0 ? segment : part.of)] += bytes;
    }

    /// Of a device. `times`: how many times the layers' part counts (micro-batches in flight).
    std::int64_t total(double times = 1) const
    {
        if (!m_plan.pipeline)
            return std::accumulate(m_ends.begin(), m_ends.end(), m_layers);
        const double layers = static_cast<double>(m_layers) * stageShare(*m_plan.pipeline) * times;
        return static_cast<std::int64_t>(layers) + *std::max_element(m_ends.begin(), m_ends.end());
    }

private:
    const Graph& m_graph;
    const Plan& m_plan;
    std::int64_t m_layers = 0;
    std::vector<std::int64_t> m_ends;
};

/// Of mixed-precision Adam: gradients in the type of the weights, or in f32 where they are added up over micro-batches; a
/// f32 copy of the weights (where they are not f32 themselves) and two moments (performance 2.3).
void addTraining(const Graph& graph, const Plan& plan, MemoryByCause& memory)
{
    ByPart kept(graph, plan);
    ByPart gradients(graph, plan);
    ByPart optimizer(graph, plan);
    for (const PlannedSegment& segment : plan.segments) {
        for (const Kept& value : segment.kept) {
            const TensorSpec& spec = graph.tensor(value.tensor);
            kept.add(segment.segment,
                     segment.count
                         * scaledBytes(bytesOf(largestShard(spec.shape, value.layout, plan.mesh), spec.dtype),
                                       graph.tensors[static_cast<std::size_t>(value.tensor)].density));
        }
        if (segment.phase != Phase::Update)
            continue;
        for (const PlannedOp& op : segment.ops) {
            const TensorSpec& spec = graph.tensor(graph.op(op.op).operands.front());
            const std::int64_t elements = segment.count * largestShard(spec.shape, op.result, plan.mesh);
            gradients.add(segment.segment, bytesOf(elements, plan.microBatches > 1 ? DType::F32 : spec.dtype));
            optimizer.add(segment.segment, elements * (spec.dtype == DType::F32 ? 8 : 12));
        }
    }
    memory.kept = kept.total(plan.pipeline ? stagesKept(*plan.pipeline, plan.microBatches) : 1);
    memory.gradients = gradients.total();
    memory.optimizer = optimizer.total();
}

/// Keys and values (or what they are made of) that stay for the tokens to come, as attention takes them.
std::int64_t cachedBytes(const Graph& graph, const Mesh& mesh, const PlannedSegment& segment)
{
    const auto stays = [&](TensorId id) { return graph.tensors[static_cast<std::size_t>(id)].cached; };
    std::map<TensorId, Layout> layouts;
    for (const PlannedOp& op : segment.ops) {
        if (stays(graph.op(op.op).result))
            layouts[graph.op(op.op).result] = op.result;
        if (const OpKind kind = graph.op(op.op).kind; kind == OpKind::Attention || kind == OpKind::SinkAttention)
            for (const OperandUse& use : op.operands)
                if (stays(use.tensor))
                    layouts[use.tensor] = use.layout;
    }
    std::int64_t bytes = 0;
    for (const auto& [id, layout] : layouts)
        bytes += bytesOf(largestShard(graph.tensor(id).shape, layout, mesh), graph.tensor(id).dtype);
    return bytes;
}

} // namespace

void fillMemory(const Graph& graph, Plan& plan)
{
    MemoryByCause memory;
    ByPart weights(graph, plan);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
        const GraphTensor& tensor = graph.tensors[i];
        if (tensor.spec.role == TensorRole::Weight)
            weights.add(tensor.segment,
                        tensor.copies * bytesOf(largestShard(tensor.spec.shape, plan.layouts[i], plan.mesh), tensor.spec.dtype));
    }
    memory.weights = weights.total();
    ByPart cache(graph, plan);
    addTraining(graph, plan, memory);
    const bool training = memory.optimizer > 0;
    for (const PlannedSegment& segment : plan.segments) {
        if (!training)
            cache.add(segment.segment, segment.count * cachedBytes(graph, plan.mesh, segment));
        SegmentMemory(graph, plan.mesh, segment).addTo(memory);
    }
    memory.kvCache = cache.total();
    memory.activations += memory.kept;
    memory.peak = memory.weights + memory.gradients + memory.optimizer + memory.activations + memory.kvCache + memory.reshard;
    plan.memory = memory;
}

} // namespace shardboard

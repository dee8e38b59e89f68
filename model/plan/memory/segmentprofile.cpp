// SPDX-License-Identifier: Apache-2.0
#include "model/plan/memory/segmentprofile.h"

#include "model/ops/opdefinition.h"
#include "model/plan/largestshard.h"
#include "model/plan/memory/castbytes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace shardboard {

namespace {

enum Cause { Activations, Logits, Waiting };

/// Which values share memory: a renamed value is found under the first name that it had.
class Names {
public:
    Names(const Graph& graph, const PlannedSegment& planned) { add(graph, planned); }

    void add(const Graph& graph, const PlannedSegment& planned)
    {
        for (const PlannedOp& op : planned.ops) {
            const Op& what = graph.op(op.op);
            const OperandUse& use = op.operands.front();
            if (definitionOf(what.kind).view && what.kind != OpKind::ReduceGrad && (use.collectives.empty() || use.replaces))
                m_first[what.result] = of(use.tensor);
        }
    }

    TensorId of(TensorId id) const
    {
        const auto found = m_first.find(id);
        return found == m_first.end() ? id : found->second;
    }

private:
    std::map<TensorId, TensorId> m_first;
};

class SegmentWalk {
public:
    SegmentWalk(const Graph& graph, const Plan& plan, const PlannedSegment& planned, const PlannedSegment* forward)
        : m_graph(graph)
        , m_plan(plan)
        , m_planned(planned)
        , m_segment(graph.segment(planned.segment))
        , m_names(graph, planned)
        , m_statistics(forward != nullptr ? forward->statistics : planned.statistics)
    {
        if (forward != nullptr)
            m_names.add(graph, *forward);
        for (const Kept& kept : forward != nullptr ? forward->kept : planned.kept) {
            auto& size = m_kept[m_names.of(kept.tensor)];
            const std::int64_t bytes = shardBytes(graph, plan.mesh, kept.tensor, kept.layout);
            size = std::max(size, static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) * kept.share)));
        }
        for (std::size_t i = 0; i < planned.ops.size(); ++i)
            for (const OperandUse& use : planned.ops[i].operands)
                m_lastUse[m_names.of(use.tensor)] = i;
        if (m_segment.carryOut != kNoTensor)
            m_lastUse[m_names.of(m_segment.carryOut)] = planned.ops.size();
        if (planned.phase == Phase::Forward)
            for (const auto& [tensor, bytes] : m_kept)
                m_lastUse[tensor] = planned.ops.size();
    }

    SegmentProfile run()
    {
        if (m_planned.phase == Phase::Backward)
            for (const auto& [tensor, bytes] : m_kept)
                hold(tensor, bytes);
        if (m_planned.phase == Phase::Backward)
            m_live[Activations] += m_statistics;
        startLoss();
        for (std::size_t i = 0; i < m_planned.ops.size(); ++i)
            operation(i);
        if (m_planned.phase == Phase::Forward) {
            m_out.keptActivations += m_statistics;
            for (const auto& [tensor, bytes] : m_kept)
                (causeOf(tensor) == Logits ? m_out.keptLogits : m_out.keptActivations) += bytes;
        }
        m_out.reduced = m_reduced;
        for (const auto& [tensor, bytes] : m_gathered) {
            m_out.gathered += m_graph.entry(tensor).block == 0 ? bytes : 0;
            m_out.gatheredOf.emplace_back(tensor, bytes);
        }
        gatherBlocks();
        return std::move(m_out);
    }

private:
    void operation(std::size_t index)
    {
        const PlannedOp& planned = m_planned.ops[index];
        const Op& op = m_graph.op(planned.op);
        std::int64_t copies = 0;
        const std::int64_t casts = castOperands(planned, op);
        for (const OperandUse& use : planned.operands)
            copies += m_planned.phase == Phase::Update ? whileUpdated(use) : enter(use);
        m_live[Activations] += casts;
        if (op.kind == OpKind::MuonStep)
            copies += iterationBytes(m_graph.tensor(op.result).shape);
        loss(op, planned);
        if (m_planned.phase == Phase::Forward && definitionOf(op.kind).statistics != nullptr)
            m_live[Activations] += std::exchange(m_toCome, 0);
        if (op.kind == OpKind::ReduceGrad) {
            const std::int64_t elements = largestShard(m_graph.tensor(op.result).shape, planned.result, m_plan.mesh);
            m_reduced += bytesOf(elements, m_plan.held.gradients);
            if (m_plan.wholeGradients) {
                const OperandUse& whole = planned.operands.front();
                const std::int64_t all = largestShard(m_graph.tensor(whole.tensor).shape, whole.before, m_plan.mesh);
                m_out.reducedWhole += bytesOf(all, m_plan.held.gradients);
            }
        } else if (m_planned.phase != Phase::Update && m_names.of(op.result) == op.result) {
            // A cache that was appended to is counted with those of all layers.
            hold(op.result, definitionOf(op.kind).appends ? 0 : shardBytes(m_graph, m_plan.mesh, op.result, planned.result));
        }
        m_out.moments.push_back(
            { planned.op, m_live[Activations], m_live[Logits] + m_lossCopies, m_live[Waiting], m_reduced, copies });
        m_live[Activations] -= casts;
        for (const OperandUse& use : planned.operands)
            releaseAfter(index, use.tensor);
        releaseAfter(index, op.result);
        if (op.kind == OpKind::LogitGrad)
            m_lossCopies = 0;
    }

    /// A block's weights are gathered while its operations run, and those of the next blocks ahead.
    void gatherBlocks()
    {
        struct Block {
            std::size_t first = 0;
            std::size_t last = 0;
            std::int64_t bytes = 0;
        };
        std::map<int, Block> byNumber;
        for (std::size_t i = 0; i < m_planned.ops.size(); ++i)
            for (const OperandUse& use : m_planned.ops[i].operands)
                if (const int number = m_graph.entry(use.tensor).block; number > 0 && m_gathered.contains(use.tensor))
                    byNumber.try_emplace(number, Block { i, i, 0 }).first->second.last = i;
        for (const auto& [tensor, bytes] : m_gathered)
            if (const auto block = byNumber.find(m_graph.entry(tensor).block); block != byNumber.end())
                block->second.bytes += bytes;
        std::vector<Block> blocks;
        for (const auto& [number, block] : byNumber)
            blocks.push_back(block);
        std::ranges::sort(blocks, {}, &Block::first); // backward the last one comes first
        const auto ahead = static_cast<std::size_t>(m_plan.memorySettings.prefetchedLayers);
        for (std::size_t now = 0, i = 0; i < m_out.moments.size() && now < blocks.size(); ++i) {
            const std::size_t atWork = i >= blocks[now].first ? 1 : 0;
            const std::size_t end = std::min(now + ahead + atWork, blocks.size());
            for (std::size_t next = now; next < end; ++next)
                m_out.moments[i].gathered += blocks[next].bytes;
            m_out.moments[i].blocksAhead = static_cast<std::int64_t>(end - now - atWork);
            if (i == blocks[now].last)
                ++now;
        }
    }

    /// What a product in fp8 takes is cast for it. cuBLAS reads rows of the one operand and columns of the other along what is
    /// summed, so that for a weight's gradient both are there turned, too (torchao float8_ops.py, preprocess_addmm; columnwise data
    /// of Transformer Engine); Blackwell reads either order. What was kept as a cast is not cast again.
    std::int64_t castOperands(const PlannedOp& planned, const Op& op) const
    {
        if (definitionOf(op.kind).gemm == nullptr || m_plan.fp8Weights.empty())
            return 0;
        const GraphTensor& result = m_graph.entry(op.result);
        const TensorId of = result.gradientOf != kNoTensor ? result.gradientOf : result.addendOf;
        const bool ofWeight = m_plan.fp8Weights.contains(of);
        const auto isWeight = [&](const OperandUse& use) { return m_plan.fp8Weights.contains(use.tensor); };
        if (!ofWeight && std::ranges::none_of(planned.operands, isWeight))
            return 0;
        const bool kept = ofWeight && factsOf(m_plan.memorySettings.framework).savesInFp8;
        std::int64_t bytes = 0;
        for (const OperandUse& use : planned.operands)
            if (!isWeight(use) && !(kept && m_kept.contains(m_names.of(use.tensor))))
                bytes += (ofWeight && !m_plan.fp8AnyOrder ? 2 : 1)
                    * castBytes(m_plan.fp8.recipe,
                                scaledBytes(largestShard(m_graph.tensor(use.tensor).shape, use.layout, m_plan.mesh),
                                            m_graph.entry(use.tensor).density));
        return bytes;
    }

    /// One matrix at a time in 16 bits: it and the next one, and two products of it with itself.
    static std::int64_t iterationBytes(const Shape& shape)
    {
        const std::int64_t m = std::min(shape.back(), shape[shape.size() - 2]);
        const std::int64_t n = std::max(shape.back(), shape[shape.size() - 2]);
        return 2 * (2 * m * n + 2 * m * m);
    }

    /// From the loss on its copy of the logits in f32 stays, and while their gradient is made that is f32 too.
    void startLoss()
    {
        for (const PlannedOp& op : m_planned.ops)
            if (m_graph.op(op.op).kind == OpKind::LogitGrad)
                m_lossCopies = inF32(op.operands.front(), false);
    }

    void loss(const Op& op, const PlannedOp& planned)
    {
        if (op.kind == OpKind::LogitMax)
            m_lossCopies = inF32(planned.operands.front(), false);
        if (op.kind == OpKind::LogitGrad)
            m_lossCopies = inF32(planned.operands.front(), true);
    }

    std::int64_t inF32(const OperandUse& logits, bool gradient) const
    {
        const TensorSpec& spec = m_graph.tensor(logits.tensor);
        if (!m_plan.memorySettings.logitsInF32 || spec.dtype == DType::F32)
            return 0;
        const FrameworkFacts& facts = factsOf(m_plan.memorySettings.framework);
        const std::int64_t bytes = logits.layout.dims.back().empty() ? facts.lossBytes : facts.lossBytesCut;
        return largestShard(spec.shape, logits.layout, m_plan.mesh) * (gradient ? bytes : bitsOf(DType::F32) / 8);
    }

    Cause causeOf(TensorId id) const
    {
        const GraphTensor& tensor = m_graph.entry(id);
        for (const TensorId of : { tensor.addendOf, tensor.gradientOf })
            if (of != kNoTensor && m_graph.tensor(of).role == TensorRole::Weight)
                return Waiting;
        const bool logits = !tensor.spec.dimLabels.empty() && tensor.spec.dimLabels.back() == "vocabulary";
        return logits ? Logits : Activations;
    }

    void hold(TensorId id, std::int64_t size)
    {
        std::int64_t& held = m_held[id];
        m_live[causeOf(id)] += size - held;
        held = size;
    }

    void releaseAfter(std::size_t index, TensorId tensor)
    {
        const TensorId id = m_names.of(tensor);
        const auto last = m_lastUse.find(id);
        if ((last != m_lastUse.end() && last->second > index) || !m_held.contains(id))
            return;
        hold(id, 0);
        m_held.erase(id);
    }

    bool moves(const OperandUse& use) const
    {
        return std::ranges::any_of(use.collectives,
                                   [&](CollectiveId index) { return m_plan.collective(index).kind != CollectiveKind::LocalSlice; });
    }

    std::int64_t taken(const OperandUse& use) const { return shardBytes(m_graph, m_plan.mesh, use.tensor, use.layout); }

    /// Brings an operand in; returns the bytes of copies beside the stored value.
    std::int64_t enter(const OperandUse& use)
    {
        if (m_graph.tensor(use.tensor).role == TensorRole::Weight) {
            const WeightPacking& packing = m_graph.tensor(use.tensor).packing;
            if (moves(use) || (!packing.present() && m_plan.held.weights != m_plan.held.gathered)) {
                auto& size = m_gathered[use.tensor];
                const bool fp8 = m_plan.fp8.gather && m_plan.fp8Weights.contains(use.tensor);
                const std::int64_t elements = largestShard(m_graph.tensor(use.tensor).shape, use.layout, m_plan.mesh);
                if (moves(use))
                    m_out.moved.insert(use.tensor);
                size = std::max(size,
                                fp8 ? castBytes(m_plan.fp8.recipe, elements)
                                    : scaledBytes(bytesOf(elements, movedType(packing, m_plan.held.gathered)),
                                                  movedShare(m_graph.tensor(use.tensor), m_plan.held.gathered)));
            }
            return 0;
        }
        const TensorId id = m_names.of(use.tensor);
        if (!m_held.contains(id))
            hold(id, shardBytes(m_graph, m_plan.mesh, use.tensor, use.before));
        if (use.collectives.empty())
            return 0;
        if (!use.replaces)
            return taken(use);
        const std::int64_t old = m_held[id];
        hold(id, taken(use));
        return old; // the value before the reshard, while it is being made
    }

    /// Weights, states and gradients have their places; a gradient that is still to be reduced needs one more.
    std::int64_t whileUpdated(const OperandUse& use) const
    {
        return m_graph.tensor(use.tensor).role != TensorRole::Weight && causeOf(use.tensor) == Waiting && moves(use) ? taken(use)
                                                                                                                     : 0;
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const PlannedSegment& m_planned;
    const Segment& m_segment;
    Names m_names;
    std::int64_t m_statistics; ///< kept beside tensors
    std::int64_t m_toCome = m_statistics; ///< of the forward pass, until attention has made them
    std::map<TensorId, std::int64_t> m_kept;
    std::map<TensorId, std::size_t> m_lastUse;
    std::map<TensorId, std::int64_t> m_held;
    std::map<TensorId, std::int64_t> m_gathered;
    std::array<std::int64_t, 3> m_live {};
    std::int64_t m_reduced = 0;
    std::int64_t m_lossCopies = 0;
    SegmentProfile m_out;
};

/// The planned forward segments, by segment of the graph.
std::vector<std::vector<PlannedSegmentId>> forwardSegments(const Graph& graph, const Plan& plan)
{
    std::vector<std::vector<PlannedSegmentId>> out(graph.segments.size());
    for (std::size_t i = 0; i < plan.segments.size(); ++i)
        if (plan.segments[i].phase == Phase::Forward)
            out[plan.segments[i].segment].push_back(PlannedSegmentId(i));
    return out;
}

/// The planned forward segment that has the layers of a backward one.
PlannedSegmentId forwardOf(const Graph& graph, const Plan& plan, const std::vector<std::vector<PlannedSegmentId>>& forwards,
                           const PlannedSegment& backward)
{
    const SegmentId of = graph.segment(backward.segment).of;
    if (!of.valid())
        return {};
    for (const PlannedSegmentId index : forwards[of]) {
        const PlannedSegment& forward = plan.segment(index);
        if (forward.firstLayer <= backward.firstLayer && backward.firstLayer < forward.firstLayer + forward.count)
            return index;
    }
    return {};
}

} // namespace

std::int64_t shardBytes(const Graph& graph, const Mesh& mesh, TensorId tensor, const Layout& layout)
{
    const GraphTensor& what = graph.entry(tensor);
    return scaledBytes(bytesOf(largestShard(what.spec.shape, layout, mesh), what.spec.dtype), what.density);
}

std::vector<SegmentProfile> segmentProfiles(const Graph& graph, const Plan& plan)
{
    std::vector<SegmentProfile> out;
    const auto forwards = forwardSegments(graph, plan);
    for (const PlannedSegment& planned : plan.segments) {
        const PlannedSegmentId forward =
            planned.phase == Phase::Backward ? forwardOf(graph, plan, forwards, planned) : PlannedSegmentId();
        out.push_back(SegmentWalk(graph, plan, planned, forward.valid() ? &plan.segment(forward) : nullptr).run());
        out.back().keptFor = forward;
    }
    return out;
}

} // namespace shardboard

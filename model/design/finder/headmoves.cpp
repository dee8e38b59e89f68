// SPDX-License-Identifier: Apache-2.0
#include "model/design/finder/headmoves.h"

#include "model/core/checked.h"
#include "model/design/finder/cutalignment.h"

#include <algorithm>

namespace shardboard {

namespace {

class HeadMovesFinder {
public:
    explicit HeadMovesFinder(const FinderInput& input)
        : m_input(input)
        , m_graph(input.evaluation.graph)
        , m_producer(m_graph.tensors.size())
        , m_consumer(m_graph.tensors.size())
    {
        for (std::size_t i = 0; i < m_graph.ops.size(); ++i) {
            m_producer[m_graph.ops[i].result] = OpId(i);
            for (const TensorId operand : m_graph.ops[i].operands)
                m_consumer[operand] = OpId(i);
        }
    }

    HeadMovesOfPlan find()
    {
        for (const PlannedSegment& segment : m_input.evaluation.plan.segments)
            for (const PlannedOp& planned : segment.ops)
                for (const OperandUse& use : planned.operands)
                    if (!use.collectives.empty())
                        look(segment, planned, use);
        return std::move(m_out);
    }

private:
    const TensorSpec& spec(TensorId id) const { return m_graph.tensor(id); }
    bool isWeight(TensorId id) const { return id != kNoTensor && spec(id).role == TensorRole::Weight; }

    /// The weight that a tensor is, or is a gradient of.
    TensorId weightOf(TensorId id) const
    {
        if (isWeight(id))
            return id;
        const GraphTensor& tensor = m_graph.entry(id);
        for (const TensorId of : { tensor.gradientOf, tensor.addendOf })
            if (isWeight(of))
                return of;
        return kNoTensor;
    }

    static bool hasHeads(const TensorSpec& spec)
    {
        return spec.shape.size() > 1 && std::ranges::any_of(spec.grains, [](std::int64_t grain) { return grain > 1; });
    }

    TensorId projectionAt(OpId id) const
    {
        if (!id.valid())
            return kNoTensor;
        const Op& op = m_graph.op(id);
        for (const TensorId operand : op.operands)
            if (isWeight(operand) && hasHeads(spec(operand)))
                return operand;
        const TensorId gradient = weightOf(op.result);
        return gradient != kNoTensor && hasHeads(spec(gradient)) ? gradient : kNoTensor;
    }

    /// The projection that works on an activation: in the operation that wants it, before it, behind a bias, or after it.
    TensorId projectionOf(OpId wants, TensorId tensor) const
    {
        if (const TensorId here = projectionAt(wants); here != kNoTensor)
            return here;
        OpId before = m_producer[tensor];
        if (before.valid() && m_graph.op(before).kind == OpKind::Add && projectionAt(before) == kNoTensor)
            before = m_producer[m_graph.op(before).operands.front()];
        if (const TensorId made = projectionAt(before); made != kNoTensor)
            return made;
        return projectionAt(m_consumer[m_graph.op(wants).result]);
    }

    std::int64_t grainOf(const Op& op, TensorId tensor, std::size_t dim) const
    {
        const TensorId weight = weightOf(tensor);
        const TensorSpec& of = spec(weight == kNoTensor ? tensor : weight);
        if (op.kind == OpKind::SplitHeads && dim + 1 == of.shape.size() && op.attributes.heads > 0)
            return of.shape[dim] / op.attributes.heads;
        return dim < of.grains.size() ? of.grains[dim] : 1;
    }

    bool splits(const Layout& layout, std::size_t dim, std::int64_t size, std::int64_t grain) const
    {
        const Cutting cutting = layout.cuttingOf(dim);
        return cutsThrough(DimCut(layout.dims[dim], m_input.mesh(), cutting.rule, { CutSegment { 0, size, cutting.unit } }), grain);
    }

    void look(const PlannedSegment& segment, const PlannedOp& planned, const OperandUse& use)
    {
        const Op& op = m_graph.op(planned.op);
        for (std::size_t dim = 0; dim < use.before.dims.size(); ++dim) {
            const std::int64_t grain = grainOf(op, use.tensor, dim);
            if (grain <= 1 || use.before.dims[dim].empty())
                continue;
            const bool elsewhere =
                use.before.dims[dim] == use.layout.dims[dim] && !(use.before.cuttingOf(dim) == use.layout.cuttingOf(dim));
            const TensorId weight = weightOf(use.tensor);
            const std::int64_t size = spec(use.tensor).shape[dim];
            const bool wantsWhole = op.kind == OpKind::SplitHeads || op.kind == OpKind::MergeHeads;
            if (elsewhere || (wantsWhole && splits(use.before, dim, size, grain) && !splits(use.layout, dim, size, grain)))
                add(segment, planned.op, weight == kNoTensor ? projectionOf(planned.op, use.tensor) : weight, use, dim);
        }
    }

    void add(const PlannedSegment& segment, OpId op, TensorId weight, const OperandUse& use, std::size_t dim)
    {
        HeadMoves& moves = weight == kNoTensor ? m_out.ofOperations[op] : m_out.ofWeights[weight];
        for (const CollectiveId index : use.collectives) {
            const Collective& collective = m_input.evaluation.plan.collective(index);
            const auto isOfDim = [&](int axis) {
                return std::ranges::any_of(use.before.dims[dim], [axis](const AxisRef& ref) { return ref.axis == axis; });
            };
            if (collective.kind == CollectiveKind::LocalSlice || std::ranges::none_of(collective.axes, isOfDim))
                continue;
            const std::int64_t bytes = checkedMultiply(collective.bytes, collective.count).value_or(moves.bytes);
            moves.bytes = checkedAdd(moves.bytes, bytes).value_or(moves.bytes);
            moves.axes.insert(collective.axes.begin(), collective.axes.end());
            if (moves.first.empty())
                moves.first = segment.name + "/" + m_graph.op(op).name;
        }
    }

    const FinderInput& m_input;
    const Graph& m_graph;
    std::vector<OpId> m_producer; ///< by TensorId
    std::vector<OpId> m_consumer; ///< by TensorId: the last one
    HeadMovesOfPlan m_out;
};

} // namespace

HeadMovesOfPlan headMoves(const FinderInput& input) { return HeadMovesFinder(input).find(); }

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// From the graph of a forward pass to that of a training step: every operation gives the operations of its gradients.
#pragma once

#include "model/core/shards.h"
#include "model/ops/graph.h"
#include "model/ops/workload.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardboard {

/// Which layers compute what again.
struct Recomputing {
    Recompute what = Recompute::None;
    std::optional<std::vector<Range>> layers {}; ///< layers that do; nothing: all
    bool toEnd = false; ///< where a whole layer is computed again, what no gradient reads is, too
    /// A segment's first layer tells of all of them.
    Recompute of(const Segment& segment) const
    {
        const auto holds = [&](const Range& range) { return range.lo <= segment.firstLayer && segment.firstLayer < range.hi; };
        return !layers || std::ranges::any_of(*layers, holds) ? what : Recompute::None;
    }
};

/// Adds the backward pass and the update to a graph whose last segment ends with a loss. For every forward segment, from the
/// last to the first, there is a backward segment of the same name and count, and then for each an update segment with one
/// optimizer step per weight. Activations that the gradients need are kept from the forward pass, or computed again at the
/// start of the backward segment, as `recompute` says.
///
/// Names: `grad of X` is the whole gradient of X, `grad of X from OP` one addend. Where an addend can be partial sums and X is
/// laid out as the residual stream, the sum of all goes through an Output operation, so that there is one place where it is
/// reduced. Other gradients stay partial as far as operations can take them (all are linear in what comes from above), so
/// that what a block gives back is reduced once, where its gradients meet.
/// `rule`: of a step; Muon is for matrices that products take, without the vocabulary's. `gather`: after its step every weight goes
/// through an Output operation, in which it is gathered where the optimizer is cut.
Graph differentiated(Graph forward, const Recomputing& recomputing, bool gather = false, Optimizer rule = Optimizer::Adam);

/// What an operation's gradient function sees.
class GradientBuilder {
public:
    explicit GradientBuilder(Graph& graph);

    /// Gradient of the operation's result.
    TensorId dy() const { return m_dy; }
    /// Whether the operand can have a gradient: it is no input.
    bool wants(std::size_t operand) const;
    /// An addend of the gradient of a tensor, made by an operation `OP.suffix`. Its shape is the tensor's: rules leave some open.
    void giveTo(TensorId tensor, OpKind kind, const std::string& suffix, std::vector<TensorId> operands,
                const OpAttributes& attributes = {});
    /// The same for an operand.
    void give(std::size_t operand, OpKind kind, const std::string& suffix, std::vector<TensorId> operands,
              const OpAttributes& attributes = {})
    {
        giveTo(m_op->operands[operand], kind, suffix, std::move(operands), attributes);
    }
    /// The gradient of the result is one of the operand.
    void pass(std::size_t operand);
    /// The operation that wrote a tensor.
    const Op& producer(TensorId tensor) const { return m_graph.op(m_producer[tensor]); }
    const Graph& graph() const { return m_graph; }

    /// Of a graph with one segment: the operations for the gradients of the operands of one operation, of whose result `dy` is
    /// the gradient. GraphTensor::addendOf tells of which operand each result is.
    std::vector<Op> gradientsOf(OpId id, TensorId dy);
    void backward(SegmentId segment, Recompute recompute, bool toEnd);
    void update(SegmentId segment, bool gather, Optimizer rule);

private:
    struct Addend {
        TensorId tensor;
        bool own; ///< made for this gradient alone, so that it can take its name
        bool partial; ///< may be partial sums
        bool moves; ///< may have to move before it is used
    };
    OpId append(const std::string& name, OpKind kind, std::vector<TensorId> operands, TensorId result,
                const OpAttributes& attributes);
    TensorId make(const std::string& name, TensorId like, bool gradient);
    void differentiate(OpId id);
    TensorId total(TensorId of);
    TensorId sum(TensorId of, std::vector<Addend>& addends);
    void reduceWeights(SegmentId segment);
    OpKind stepOf(TensorId weight, Optimizer rule) const;
    template <class Reads>
    bool readOnlyBy(const std::vector<OpId>& ops, TensorId tensor, Reads reads) const;
    std::vector<OpId> repeated(SegmentId forward, const Segment& segment, Recompute recompute, bool toEnd) const;
    void computeAgain(SegmentId forward, Segment& segment, Recompute recompute, bool toEnd);

    Graph& m_graph;
    std::vector<OpId> m_producer; ///< by TensorId, of the forward pass
    std::vector<std::vector<TensorId>> m_weights; ///< by forward segment
    std::map<TensorId, std::vector<Addend>> m_addends;
    std::map<TensorId, TensorId> m_totals;
    std::vector<OpId> m_ops; ///< of the segment that is being made
    const Op* m_op = nullptr; ///< whose gradients are being made
    TensorId m_dy = kNoTensor;
};

} // namespace shardboard

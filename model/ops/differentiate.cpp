// SPDX-License-Identifier: Apache-2.0
#include "model/ops/differentiate.h"

#include "model/ops/opdefinition.h"
#include "model/ops/recomputedops.h"

#include <algorithm>
#include <utility>

namespace shardboard {

GradientBuilder::GradientBuilder(Graph& graph)
    : m_graph(graph)
    , m_producer(graph.tensors.size())
    , m_weights(graph.segments.size())
{
    for (std::size_t i = 0; i < graph.ops.size(); ++i)
        m_producer[graph.ops[i].result] = OpId(i);
    for (std::size_t id = 0; id < graph.tensors.size(); ++id)
        if (graph.tensors[id].spec.role == TensorRole::Weight)
            m_weights[graph.tensors[id].segment].push_back(TensorId(id));
}

bool GradientBuilder::wants(std::size_t operand) const { return m_graph.tensor(m_op->operands[operand]).role != TensorRole::Input; }

OpId GradientBuilder::append(const std::string& name, OpKind kind, std::vector<TensorId> operands, TensorId result,
                             const OpAttributes& attributes)
{
    m_graph.ops.push_back({ name, kind, std::move(operands), result, attributes });
    m_ops.push_back(lastId(m_graph.ops));
    return m_ops.back();
}

TensorId GradientBuilder::make(const std::string& name, TensorId like, bool gradient)
{
    GraphTensor tensor = m_graph.entry(like);
    tensor.spec.name = name;
    tensor.spec.role = TensorRole::Activation;
    tensor.segment = lastId(m_graph.segments);
    tensor.copies = tensor.pieces = 1;
    tensor.part = {};
    tensor.cached = false;
    tensor.fill = {};
    tensor.gradientOf = gradient ? like : kNoTensor;
    tensor.addendOf = kNoTensor;
    m_graph.tensors.push_back(std::move(tensor));
    return lastId(m_graph.tensors);
}

void GradientBuilder::giveTo(TensorId tensor, OpKind kind, const std::string& suffix, std::vector<TensorId> operands,
                             const OpAttributes& attributes)
{
    const TensorId gradient = make("grad of " + m_graph.tensor(tensor).name + " from " + m_op->name, tensor, false);
    m_graph.tensors.back().addendOf = tensor;
    append(m_op->name + "." + suffix, kind, std::move(operands), gradient, attributes);
    const OpDefinition& definition = definitionOf(kind);
    m_addends[tensor].push_back({ gradient, true, definition.contracts, definition.moves });
}

void GradientBuilder::pass(std::size_t operand) { m_addends[m_op->operands[operand]].push_back({ m_dy, false, false, false }); }

/// Adds up the addends of a gradient in the order in which they came, but those that may be partial sums before the others, so
/// that they are reduced once.
TensorId GradientBuilder::sum(TensorId of, std::vector<Addend>& addends)
{
    std::stable_partition(addends.begin(), addends.end(), [](const Addend& addend) { return addend.partial; });
    const std::string name = m_graph.tensor(of).name;
    TensorId result = addends.front().tensor;
    for (std::size_t i = 1; i < addends.size(); ++i) {
        const TensorId next = make("grad of " + name + ", sum of " + std::to_string(i + 1), of, false);
        m_graph.tensors.back().addendOf = of;
        append(name + ".grad_sum" + (addends.size() > 2 ? std::to_string(i) : std::string()), OpKind::Add,
               { result, addends[i].tensor }, next, {});
        result = next;
    }
    return result;
}

/// The whole gradient of an activation; none when nothing depends on it.
TensorId GradientBuilder::total(TensorId of)
{
    const auto found = m_addends.find(of);
    if (found == m_addends.end())
        return kNoTensor;
    std::vector<Addend>& addends = found->second;
    const bool settles = std::any_of(addends.begin(), addends.end(), [&](const Addend& addend) {
        return addend.moves || (addend.partial && m_graph.isStream(of));
    });
    const bool single = addends.size() == 1;
    TensorId result = sum(of, addends);
    const std::string name = "grad of " + m_graph.tensor(of).name;
    if (settles) {
        const TensorId settled = make(name, of, true);
        append(m_graph.tensor(of).name + ".grad", OpKind::Output, { result }, settled, {});
        result = settled;
    } else if (!single || addends.front().own) {
        GraphTensor& tensor = m_graph.entry(result);
        tensor.spec.name = name;
        tensor.gradientOf = of;
        tensor.addendOf = kNoTensor;
    }
    m_addends.erase(found);
    m_totals[of] = result;
    return result;
}

void GradientBuilder::differentiate(OpId id)
{
    const Op op = m_graph.op(id); // a copy: the list grows
    m_op = &op;
    m_dy = total(op.result);
    const OpDefinition& definition = definitionOf(op.kind);
    if (definition.kind == OpKind::TokenLoss) {
        definition.gradient(*this, op);
    } else if (m_dy != kNoTensor) {
        if (definition.passes)
            pass(0);
        if (definition.gradient != nullptr)
            definition.gradient(*this, op);
    }
    m_op = nullptr;
}

/// The gradients of the weights of a segment: summed, and brought into the layout of the weight.
void GradientBuilder::reduceWeights(SegmentId segment)
{
    for (const TensorId weight : m_weights[segment]) {
        const auto addends = m_addends.find(weight);
        if (addends == m_addends.end())
            continue;
        const TensorId all = sum(weight, addends->second);
        const TensorId reduced = make("grad of " + m_graph.tensor(weight).name, weight, true);
        append(m_graph.tensor(weight).name + ".reduce_grad", OpKind::ReduceGrad, { all }, reduced, {});
        m_totals[weight] = reduced;
        m_addends.erase(addends);
    }
}

/// Whether all operations of a list that read a tensor are of a kind that `reads` knows; with one at least.
template <class Reads>
bool GradientBuilder::readOnlyBy(const std::vector<OpId>& ops, TensorId tensor, Reads reads) const
{
    int readers = 0;
    for (const OpId id : ops) {
        const Op& op = m_graph.op(id);
        if (std::find(op.operands.begin(), op.operands.end(), tensor) == op.operands.end())
            continue;
        if (!reads(op.kind))
            return false;
        ++readers;
    }
    return readers > 0;
}

/// The operations of a forward segment to do again for what the backward pass needs of it, in their order.
std::vector<OpId> GradientBuilder::repeated(SegmentId forward, const Segment& segment, Recompute recompute, bool toEnd) const
{
    if (toEnd && recompute.has(RecomputePart::Layer))
        return m_graph.segment(forward).ops;
    std::set<TensorId> needed;
    for (const OpId id : segment.ops)
        needed.insert(m_graph.op(id).operands.begin(), m_graph.op(id).operands.end());
    const std::vector<OpId>& done = m_graph.segment(forward).ops;
    const std::set<OpId> parts = recomputedOps(m_graph, done, recompute);
    std::set<OpId> fromParts;
    for (auto id = done.rbegin(); id != done.rend(); ++id) {
        const Op& op = m_graph.op(*id);
        if (!parts.contains(*id) || !needed.contains(op.result))
            continue;
        fromParts.insert(*id);
        needed.insert(op.operands.begin(), op.operands.end());
    }
    std::vector<OpId> chosen;
    for (const OpId id : done) {
        const Op& op = m_graph.op(id);
        if (fromParts.contains(id)) {
            chosen.push_back(id);
            continue;
        }
        const bool there =
            std::all_of(op.operands.begin(), op.operands.end(), [&](TensorId operand) { return needed.contains(operand); });
        if (!needed.contains(op.result) || !definitionOf(op.kind).cheap || !there)
            continue;
        const bool gate = definitionOf(op.kind).group == OpGroup::Activation
            && readOnlyBy(done, op.result, [](OpKind kind) { return kind == OpKind::Mul; });
        // What attention takes may have been moved for it.
        const bool still = readOnlyBy(done, op.result, [](OpKind kind) { return definitionOf(kind).statistics == nullptr; });
        if (gate || (recompute.has(RecomputePart::Cheap) && still))
            chosen.push_back(id);
    }
    return chosen;
}

/// Puts the operations that make what the gradients need, and that is not kept, in front of them.
void GradientBuilder::computeAgain(SegmentId forward, Segment& segment, Recompute recompute, bool toEnd)
{
    const std::vector<OpId> chosen = repeated(forward, segment, recompute, toEnd);
    std::map<TensorId, TensorId> again;
    m_ops.clear();
    for (const OpId id : chosen) {
        const Op op = m_graph.op(id);
        std::vector<TensorId> operands = op.operands;
        for (TensorId& operand : operands)
            if (const auto found = again.find(operand); found != again.end())
                operand = found->second;
        const TensorId result = make(m_graph.tensor(op.result).name + " again", op.result, false);
        m_graph.entry(result).again = op.result;
        append(op.name + ".again", op.kind, std::move(operands), result, op.attributes);
        again[op.result] = result;
    }
    for (const OpId id : segment.ops)
        for (TensorId& operand : m_graph.ops[id].operands)
            if (const auto found = again.find(operand); found != again.end())
                operand = found->second;
    segment.ops.insert(segment.ops.begin(), m_ops.begin(), m_ops.end());
}

void GradientBuilder::backward(SegmentId index, Recompute recompute, bool toEnd)
{
    const Segment forward = m_graph.segment(index);
    Segment segment;
    segment.name = forward.name;
    segment.firstLayer = forward.firstLayer;
    segment.count = forward.count;
    segment.isLayer = forward.isLayer;
    segment.phase = Phase::Backward;
    segment.of = index;
    m_graph.segments.push_back(segment);
    m_ops.clear();
    if (const auto carried = m_totals.find(forward.carryOut); carried != m_totals.end()) {
        segment.carryIn = carried->second;
        m_addends[forward.carryOut].push_back({ carried->second, false, false, false });
    }
    for (auto id = forward.ops.rbegin(); id != forward.ops.rend(); ++id)
        differentiate(*id);
    if (forward.carryIn != kNoTensor)
        segment.carryOut = total(forward.carryIn);
    reduceWeights(index);
    segment.ops = m_ops;
    // The first layers of a run of alike segments compute again as well; the head's logits are not worth it.
    if (forward.isLayer)
        computeAgain(index, segment, recompute, toEnd);
    m_graph.segments.back() = std::move(segment);
}

OpKind GradientBuilder::stepOf(TensorId weight, Optimizer rule) const
{
    if (rule != Optimizer::Muon)
        return rule == Optimizer::Sgd ? OpKind::SgdStep : OpKind::AdamStep;
    const bool table = !m_graph.tensor(weight).logicalNames.empty() && m_graph.tensor(weight).logicalNames.front() == "vocab";
    const bool multiplies = std::ranges::any_of(m_graph.ops, [&](const Op& op) {
        return definitionOf(op.kind).gemm != nullptr && op.operands.size() > 1 && op.operands[1] == weight;
    });
    return multiplies && !table ? OpKind::MuonStep : OpKind::AdamStep;
}

void GradientBuilder::update(SegmentId index, bool gather, Optimizer rule)
{
    const Segment forward = m_graph.segment(index);
    Segment segment;
    segment.name = forward.name;
    segment.firstLayer = forward.firstLayer;
    segment.count = forward.count;
    segment.isLayer = forward.isLayer;
    segment.phase = Phase::Update;
    segment.of = index;
    m_graph.segments.push_back(segment);
    m_ops.clear();
    for (const TensorId weight : m_weights[index]) {
        const auto gradient = m_totals.find(weight);
        if (gradient == m_totals.end())
            continue;
        const std::string name = m_graph.tensor(weight).name;
        const TensorId result = make(name + " updated", weight, false);
        append(name + ".update", stepOf(weight, rule), { weight, gradient->second }, result, {});
        if (gather)
            append(name + ".gather", OpKind::Output, { result }, make(name + " gathered", weight, false), {});
    }
    m_graph.segments.back().ops = m_ops;
}

std::vector<Op> GradientBuilder::gradientsOf(OpId id, TensorId dy)
{
    m_addends[m_graph.op(id).result].push_back({ dy, false, false, false });
    differentiate(id);
    std::vector<Op> out;
    for (const OpId made : m_ops)
        out.push_back(m_graph.op(made));
    return out;
}

Graph differentiated(Graph graph, const Recomputing& recomputing, bool gather, Optimizer rule)
{
    const std::size_t segments = graph.segments.size();
    GradientBuilder builder(graph);
    for (std::size_t segment = segments; segment-- > 0;)
        builder.backward(SegmentId(segment), recomputing.of(graph.segments[segment]), recomputing.toEnd);
    for (SegmentId segment { 0 }; segment < segments; ++segment)
        builder.update(segment, gather, rule);
    return graph;
}

} // namespace shardboard

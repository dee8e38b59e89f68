// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/networkbuilder.h"

#include "model/text/contains.h"

#include <algorithm>

namespace shardboard {

double NetworkBuilder::heldPerByte() const
{
    if (!m_trains)
        return 1;
    const double weight = bitsOf(m_kernels.held.weights) / 8.0;
    const int moments = m_request.workload.rule == Optimizer::Adam ? 2 : 1; // of the matrices, which are nearly all
    return (weight + m_kernels.held.momentBytes(moments) + m_kernels.held.masterBytes()
            + (m_microBatches > 1 ? bitsOf(m_kernels.held.gradients) / 8.0 : 0))
        / weight;
}

DType NetworkBuilder::gatheredType(TensorId weight) const
{
    return m_request.plan.fp8.gather && m_request.plan.fp8Weights.contains(weight)
        ? DType::F8E4M3
        : movedType(m_graph.tensor(weight).packing, m_kernels.held.gathered);
}

void NetworkBuilder::addWeight(std::size_t index)
{
    const WeightChoice& weight = m_out.weights[index];
    const int node = m_out.weightNode(m_space, index);
    const Places stored = Places::make(node, weight.stored);
    for (const TensorId tensor : weight.tensors) {
        const std::set<SegmentId> segments = addGathers(tensor, stored);
        if (segments.empty())
            continue;
        const bool staged = m_request.plan.pipeline && m_graph.segment(m_graph.entry(tensor).segment).isLayer;
        const double held = static_cast<double>(m_graph.entry(tensor).copies)
            / static_cast<double>(staged ? m_request.plan.pipeline->stages : 1) * m_perWeightByte
            * (m_graph.tensor(tensor).packing.present()
                   ? 1
                   : static_cast<double>(bitsOf(m_kernels.held.weights)) / bitsOf(m_graph.tensor(tensor).dtype));
        addPair(
            stored, stored, [&](int from, int) { return held * m_prices.bytes(tensor, from); }, true);
        addUpdate(tensor, stored);
    }
}

std::set<SegmentId> NetworkBuilder::addGathers(TensorId tensor, const Places& stored)
{
    std::set<SegmentId> segments;
    const DType dtype = gatheredType(tensor);
    for (std::size_t s = 0; s < m_graph.segments.size(); ++s) {
        const Segment& segment = m_graph.segments[s];
        const bool backward = segment.phase == Phase::Backward;
        if (segment.phase == Phase::Update)
            continue;
        std::set<int> paid; // once a decision: what was gathered is there for the others
        for (const OpId id : segment.ops) {
            const auto at = std::ranges::find(m_graph.op(id).operands, tensor) - m_graph.op(id).operands.begin();
            if (at == std::ssize(m_graph.op(id).operands) || m_space.ofOp[id] < 0)
                continue;
            segments.insert(SegmentId(s));
            if (!paid.insert(m_space.ofOp[id]).second)
                continue;
            double times = timesOf(SegmentId(s));
            const bool atEnds = !segment.isLayer && m_graph.entry(tensor).block == 0;
            const bool stays = m_trains && (m_request.plan.keepsGathered || (atEnds && m_framework.onlyOnce));
            if (stays && backward)
                continue;
            if (stays && m_request.plan.wholeGradients)
                times /= m_microBatches;
            const double by = times * rate(SegmentId(s), OverlapKind::WeightGathers);
            addPair(stored, Places::make(m_space.ofOp[id], member(id).operands[static_cast<std::size_t>(at)]),
                    [this, tensor, dtype, by](int from, int to) {
                        const double once = price(tensor, dtype, from, to);
                        return once == 0 || once == kNever ? once : by * once;
                    });
        }
    }
    return segments;
}

void NetworkBuilder::addUpdate(TensorId tensor, const Places& stored)
{
    if (!m_trains)
        return;
    const DType dtype = m_kernels.held.reductions;
    OpId step;
    for (std::size_t id = 0; id < m_graph.ops.size(); ++id)
        if (m_graph.ops[id].kind == OpKind::AdamStep && m_graph.ops[id].operands[0] == tensor)
            step = OpId(id);
    if (!step.valid())
        return;
    const SegmentId updated = m_segment[step];
    const auto layers = static_cast<double>(m_graph.segment(updated).count);
    const Shape& shape = m_graph.tensor(tensor).shape;
    std::unordered_map<int, int> inParts; // by the layout in which it is stored
    for (const int layout : stored.distinct) {
        Layout out = m_layouts[layout];
        cutForOptimizer(m_optimizerAxes, shape, m_request.mesh, out);
        inParts[layout] = m_layouts.of(out);
    }
    addPair(stored, stored, [&](int from, int) {
        const int parts = inParts.at(from);
        double out = layers * m_rates.of(updated).compute * kernel(step, { parts, parts }, parts, m_graph.segment(updated).isLayer);
        if (parts != from)
            out += layers * rate(updated, OverlapKind::WeightGathers) * m_prices.seconds(tensor, gatheredType(tensor), parts, from);
        return out;
    });
    for (std::size_t s = 0; s < m_graph.segments.size(); ++s)
        for (const OpId id : m_graph.segments[s].phase == Phase::Backward ? m_graph.segments[s].ops : std::vector<OpId> {}) {
            const GraphTensor& result = m_graph.entry(m_graph.op(id).result);
            if (m_space.ofOp[id] < 0 || (result.addendOf != tensor && result.gradientOf != tensor))
                continue;
            const double times = m_request.plan.wholeGradients ? layers : timesOf(SegmentId(s));
            const double each = times * rate(SegmentId(s), OverlapKind::GradientScatters);
            const double once = layers * rate(updated, OverlapKind::GradientScatters);
            addPair(Places::make(m_space.ofOp[id], member(id).result), stored, [=, this](int from, int to) {
                const int parts = inParts.at(to);
                const int reduced = reducedFrom(tensor, from, to, parts);
                const double first = price(tensor, dtype, from, reduced);
                const double second = first == kNever ? 0 : price(tensor, dtype, reduced, parts);
                return first == kNever || second == kNever ? kNever : each * first + once * second;
            });
        }
}

int NetworkBuilder::reducedFrom(TensorId tensor, int from, int stored, int parts)
{
    // Of the gradient's layout only what it is partial over matters.
    const LayoutNumbers::Code& code = m_layouts.code(from);
    const auto find = [&] {
        const bool cut = m_optimizer.gradients;
        Layout out = m_layouts[cut ? parts : stored];
        for (const AxisRef& ref : m_layouts[from].partial)
            if ((m_microBatches > 1 || (!cut && contains(m_optimizerAxes, ref.axis)))
                && std::ranges::none_of(out.dims, [&](const auto& dim) { return contains(dim, ref); }))
                out.partial.push_back(ref);
        return m_layouts.of(out);
    };
    if (!code.fits)
        return find();
    const auto [place, isNew] = m_reduced.try_emplace({ tensor, code.partial, stored });
    if (isNew)
        place->second = find();
    return place->second;
}

} // namespace shardboard

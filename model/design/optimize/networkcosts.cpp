// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/networkbuilder.h"

#include "model/ops/opdefinition.h"
#include "model/text/contains.h"

#include <algorithm>

namespace shardboard {

double NetworkBuilder::rate(SegmentId segment, OverlapKind kind) const
{
    return m_rates.of(segment).collectives[static_cast<std::size_t>(kind)];
}

OverlapKind NetworkBuilder::kindOf(TensorId tensor, OpId takenBy) const
{
    if (contains(m_graph.tensor(tensor).dimLabels, "experts"))
        return OverlapKind::Experts;
    return definitionOf(m_graph.op(takenBy).kind).group == OpGroup::Attention ? OverlapKind::Context : OverlapKind::Tensor;
}

double NetworkBuilder::kernel(OpId id, const std::vector<int>& operands, int result, bool inLayer) const
{
    const Op& op = m_graph.op(id);
    PlannedOp planned;
    planned.op = id;
    planned.result = m_layouts[result];
    for (std::size_t i = 0; i < op.operands.size(); ++i)
        planned.operands.push_back({ op.operands[i], {}, m_layouts[operands[i]], {}, false });
    KernelSettings settings = m_kernels;
    settings.fp8Products = settings.fp8Products && inLayer;
    return kernelSeconds(kernelWorkOf(m_graph, m_request.mesh, planned, settings), m_request.hardware);
}

void NetworkBuilder::addKernels(int index)
{
    const LayoutDecision& of = decision(index);
    std::vector<double>* out = nullptr;
    for (std::size_t m = 0; m < of.members.size(); ++m) {
        const LayoutDecision::Member& member = of.members[m];
        const bool free = definitionOf(m_graph.op(member.ops.front()).kind).view;
        for (const OpId id : member.ops) {
            const SegmentId segment = m_segment[id];
            const double times = timesOf(segment);
            if (out == nullptr)
                out = &table(index, -1).seconds;
            for (std::size_t s = 0; s < of.count() && !free; ++s) {
                std::vector<int> operands;
                for (const auto& operand : member.operands)
                    operands.push_back(operand[s]);
                (*out)[s] +=
                    times * m_rates.of(segment).compute * kernel(id, operands, member.result[s], m_graph.segment(segment).isLayer);
            }
            addRings(of, m, id, segment, *out);
        }
    }
}

void NetworkBuilder::addRings(const LayoutDecision& of, std::size_t m, OpId id, SegmentId segment, std::vector<double>& out)
{
    const Op& op = m_graph.op(id);
    for (std::size_t s = 0; s < of.count(); ++s)
        for (std::size_t axis = 0; axis < m_space.axes.size(); ++axis)
            for (const int operand : of.row(m, s, axis).ring) {
                const auto place = static_cast<std::size_t>(operand);
                bool shared = false;
                for (std::size_t before = m; before-- > 0 && !shared;)
                    shared = m_graph.op(of.members[before].ops.front()).operands == op.operands
                        && contains(of.row(before, s, axis).ring, operand);
                if (!shared)
                    out[s] += timesOf(segment) * rate(segment, kindOf(op.operands[place], id))
                        * m_prices.ringSeconds(op.operands[place], of.members[m].operands[place][s], m_space.axes[axis]);
            }
}

NetworkBuilder::Cost NetworkBuilder::forwardMove(TensorId tensor, const Use& use, double times)
{
    const OverlapKind kind = kindOf(tensor, use.op);
    const bool isForward = m_graph.segment(use.segment).phase == Phase::Forward;
    const double first = isForward ? times * rate(use.segment, kind) : 0;
    const double again = use.again ? times * rate(backwardOf(use.segment), kind) : 0;
    const bool always = use.repeated || !isForward;
    const bool whereGrown = !m_framework.keepsGatheredInputs;
    return [=, this, dtype = m_graph.tensor(tensor).dtype](int from, int to) {
        const double once = price(tensor, dtype, from, to);
        if (once == 0 || once == kNever)
            return once;
        const bool twice = again != 0 && (always || (whereGrown && m_prices.bytes(tensor, to) > m_prices.bytes(tensor, from)));
        return twice ? first * once + again * once : first * once;
    };
}

SegmentId NetworkBuilder::backwardOf(SegmentId forward) const
{
    for (std::size_t s = 0; s < m_graph.segments.size(); ++s)
        if (m_graph.segments[s].phase == Phase::Backward && m_graph.segments[s].of == forward)
            return SegmentId(s);
    return forward;
}

double NetworkBuilder::keptBytes(TensorId tensor, const Use& use, double layers, int from, int to)
{
    if (!use.again || use.repeated)
        return 0;
    return layers * std::min(m_prices.bytes(tensor, from), m_prices.bytes(tensor, to));
}

void NetworkBuilder::addMoves(TensorId tensor, const Uses& uses)
{
    if (m_graph.tensor(tensor).role == TensorRole::Input) {
        const int stored = m_layouts.of(m_request.plan.layouts[tensor]);
        // What was gathered of an input stays so for the whole step.
        const bool isForward = std::ranges::any_of(uses.taken, [&](const Use& use) { return phaseOf(use) == Phase::Forward; });
        for (Use use : uses.taken) {
            if (isForward && phaseOf(use) != Phase::Forward)
                continue;
            use.again = use.again && !isForward;
            const Places taken = Places::make(use.decision, *use.taken);
            const Places given = Places::make(use.decision, std::vector<int>(use.taken->size(), stored));
            addPair(given, taken, forwardMove(tensor, use, timesOf(use.segment)));
        }
        return;
    }
    const SegmentId segment = forwardSegment(uses);
    const std::vector<Maker> makers = makersOf(tensor, segment);
    const ValueChoice* value = uses.value > 0 ? &m_out.values[uses.value - 1] : nullptr;
    const int node = value != nullptr ? m_out.valueNode(m_space, uses.value - 1) : -1;
    if (value != nullptr && !value->taken.empty()) {
        const Places shared = Places::make(node, value->taken);
        // What is kept and moved again is so for all who take it together.
        Use all = uses.taken.front();
        for (const Use& use : uses.taken) {
            all.again = all.again || use.again;
            all.repeated = all.repeated || use.repeated;
            if (m_graph.segment(use.segment).phase == Phase::Forward)
                all.segment = use.segment;
        }
        for (const Maker& maker : makers)
            join(tensor, all, maker, Places::make(maker.decision, *maker.made), shared);
        for (const Use& use : uses.taken)
            addPair(shared, Places::make(use.decision, *use.taken), forwardMove(tensor, use, timesOf(use.segment)));
    } else {
        for (const Use& use : uses.taken)
            for (const Maker& maker : makers)
                join(tensor, use, maker, Places::make(maker.decision, *maker.made), Places::make(use.decision, *use.taken));
    }
    addGradients(tensor, uses, makers, value, node);
}

void NetworkBuilder::join(TensorId tensor, const Use& use, const Maker& maker, const Places& made, const Places& taken)
{
    addPair(made, taken, forwardMove(tensor, use, maker.times));
    if (use.again && !use.repeated)
        addPair(
            made, taken, [&](int from, int to) { return keptBytes(tensor, use, maker.times / m_microBatches, from, to); }, true);
}

void NetworkBuilder::addGradients(TensorId tensor, const Uses& uses, const std::vector<Maker>& makers, const ValueChoice* value,
                                  int node)
{
    if (uses.addends.empty())
        return;
    const DType dtype = m_graph.tensor(tensor).dtype;
    const SegmentId segment = uses.addends.front().segment;
    const auto move = [&](double times) {
        return [this, tensor, dtype, times, segment](int from, int to) {
            const double once = price(tensor, dtype, from, to);
            return once == 0 || once == kNever ? once : times * rate(segment, OverlapKind::Tensor) * once;
        };
    };
    if (value == nullptr || value->summed.empty()) {
        for (const Addend& addend : uses.addends)
            for (const Maker& maker : makers)
                addPair(Places::make(addend.decision, *addend.made), Places::make(maker.decision, *maker.upstream),
                        move(maker.times));
        return;
    }
    const Places summed = Places::make(node, value->summed);
    for (const Addend& addend : uses.addends)
        addPair(Places::make(addend.decision, *addend.made), summed, move(timesOf(addend.segment)));
    for (const Maker& maker : makers)
        addPair(summed, Places::make(maker.decision, *maker.upstream), move(maker.times));
    const auto sums = static_cast<double>(uses.addends.size() - 1);
    OpId sum;
    for (const OpId id : m_graph.segment(segment).ops)
        if (m_graph.op(id).kind == OpKind::Add && m_space.ofOp[id] < 0) {
            const GraphTensor& result = m_graph.entry(m_graph.op(id).result);
            if (result.gradientOf == tensor || result.addendOf == tensor)
                sum = id;
        }
    if (!sum.valid())
        return;
    std::vector<double>& out = table(node, -1).seconds;
    for (std::size_t s = 0; s < value->summed.size(); ++s)
        out[s] += sums * timesOf(segment) * m_rates.of(segment).compute
            * kernel(sum, { value->summed[s], value->summed[s] }, value->summed[s], m_graph.segment(segment).isLayer);
}

} // namespace shardboard

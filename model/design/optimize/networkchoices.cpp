// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/networkbuilder.h"

#include "model/ops/opdefinition.h"
#include "model/picker/menu/menu.h"
#include "model/text/contains.h"

#include <algorithm>

namespace shardboard {

void NetworkBuilder::findUses()
{
    for (std::size_t s = 0; s < m_graph.segments.size(); ++s) {
        const Segment& segment = m_graph.segments[s];
        if (segment.phase == Phase::Update)
            continue;
        for (const OpId id : segment.ops) {
            if (m_space.ofOp[id] < 0)
                continue;
            const Op& op = m_graph.op(id);
            const bool forward = segment.phase == Phase::Forward;
            for (std::size_t i = 0; i < op.operands.size(); ++i) {
                const TensorId tensor = op.operands[i];
                if (isGradient(tensor) || m_graph.tensor(tensor).role == TensorRole::Weight)
                    continue;
                const TensorId of = original(tensor);
                auto& taken = m_uses[of].taken;
                const int place = m_space.ofOp[id];
                const auto known = std::ranges::find_if(
                    taken, [&](const Use& use) { return use.decision == place && use.op.valid() && sameSegment(use.op, id); });
                if (known == taken.end())
                    taken.push_back({ place, SegmentId(s), &member(id).operands[i], id, !forward, tensor != of });
                else if (!forward) {
                    known->again = true;
                    known->repeated = known->repeated || tensor != of;
                }
            }
            if (!forward)
                addendOf(id, SegmentId(s));
        }
    }
    for (std::size_t s = 0; m_trains && s < m_graph.segments.size(); ++s)
        if (m_graph.segments[s].phase == Phase::Backward)
            addPassed(SegmentId(s));
}

bool NetworkBuilder::sameSegment(OpId a, OpId b) const
{
    const auto forward = [&](OpId op) {
        const SegmentId segment = m_segment[op];
        return m_graph.segment(segment).of.valid() ? m_graph.segment(segment).of : segment;
    };
    return forward(a) == forward(b);
}

void NetworkBuilder::addendOf(OpId id, SegmentId segment)
{
    const GraphTensor& result = m_graph.entry(m_graph.op(id).result);
    const TensorId of = result.gradientOf != kNoTensor ? result.gradientOf : result.addendOf;
    if (of != kNoTensor && m_graph.tensor(of).role == TensorRole::Activation)
        m_uses[of].addends.push_back({ m_space.ofOp[id], segment, &member(id).result });
}

void NetworkBuilder::addPassed(SegmentId index)
{
    const Segment& segment = m_graph.segment(index);
    for (const OpId id : m_graph.segment(segment.of).ops) {
        const Op& op = m_graph.op(id);
        const bool first = definitionOf(op.kind).passes;
        for (std::size_t i = 0; i < op.operands.size(); ++i) {
            const TensorId operand = op.operands[i];
            const bool passes = (i == 0 && first)
                || (i == 1 && op.kind == OpKind::Add
                    && m_graph.tensor(operand).shape.size() == m_graph.tensor(op.result).shape.size());
            if (passes && m_graph.tensor(operand).role == TensorRole::Activation)
                m_uses[operand].addends.push_back({ m_space.ofOp[id], index, &decision(m_space.ofOp[id]).upstream });
        }
    }
}

std::vector<NetworkBuilder::Maker> NetworkBuilder::makersOf(TensorId tensor, SegmentId takenIn) const
{
    std::vector<Maker> out;
    const Segment& segment = m_graph.segment(takenIn);
    const bool carried = segment.carryIn == tensor && segment.count > 1;
    const auto add = [&](TensorId made, double layers) {
        const OpId op = m_maker[made];
        if (op.valid() && m_space.ofOp[op] >= 0)
            out.push_back({ m_space.ofOp[op], layers * m_microBatches, &member(op).result, &decision(m_space.ofOp[op]).upstream });
    };
    add(tensor, carried ? 1 : static_cast<double>(segment.count));
    if (carried)
        add(segment.carryOut, static_cast<double>(segment.count - 1));
    return out;
}

std::size_t NetworkBuilder::takers(const Uses& uses) const
{
    std::set<int> out;
    for (const Use& use : uses.taken)
        out.insert(use.decision);
    return out.size();
}

void NetworkBuilder::chooseValues()
{
    std::map<std::pair<std::string, std::string>, std::size_t> known;
    for (auto& [tensor, uses] : m_uses) {
        if (m_graph.tensor(tensor).role != TensorRole::Activation)
            continue;
        const bool shared = takers(uses) > 1;
        const bool sums = uses.addends.size() > 1;
        if (!shared && !sums)
            continue;
        const std::string& segment = m_graph.segment(forwardSegment(uses)).name;
        const auto [place, isNew] = known.try_emplace({ segment, m_graph.tensor(tensor).name }, m_out.values.size());
        uses.value = place->second + 1;
        if (!isNew) {
            m_out.values[place->second].tensors.push_back(tensor);
            continue;
        }
        ValueChoice value { segment, { tensor }, {}, {} };
        addValueChoices(value, uses, shared, sums);
        m_out.values.push_back(std::move(value));
    }
    for (const ValueChoice& value : m_out.values)
        m_out.sizes.push_back(static_cast<int>(std::max(value.taken.size(), value.summed.size())));
}

SegmentId NetworkBuilder::forwardSegment(const Uses& uses) const
{
    const SegmentId segment = uses.taken.front().segment;
    return m_graph.segment(segment).of.valid() ? m_graph.segment(segment).of : segment;
}

void NetworkBuilder::addValueChoices(ValueChoice& value, const Uses& uses, bool shared, bool sums)
{
    const TensorId tensor = value.tensors.front();
    const std::size_t axes = m_space.axes.size();
    std::vector<std::vector<Placement>> forward(axes, { Placement {} });
    const auto offer = [&](const std::vector<int>& layouts) {
        for (const int layout : Places::make(0, layouts).distinct)
            for (std::size_t axis = 0; axis < axes; ++axis)
                if (const Placement placement = placementOn(m_layouts[layout], m_space.axes[axis]);
                    std::ranges::find(forward[axis], placement) == forward[axis].end())
                    forward[axis].push_back(placement);
    };
    std::vector<int> inUnits; // layouts of those who take it that cut some dim otherwise than evenly
    for (const Use& use : uses.taken) {
        for (const int layout : Places::make(0, *use.taken).distinct)
            if (!m_layouts[layout].cutting.empty())
                inUnits.push_back(layout);
        offer(*use.taken);
        for (const Maker& maker : makersOf(tensor, forwardSegment(uses)))
            offer(*maker.made);
    }
    std::vector<std::vector<std::pair<Placement, Placement>>> choices(axes);
    for (std::size_t axis = 0; axis < axes; ++axis)
        for (const Placement& placement : forward[axis]) {
            choices[axis].emplace_back(placement, dualOf(placement));
            if (sums && placement.replicated())
                choices[axis].emplace_back(placement, partialPlacement());
        }
    const Shape& shape = m_graph.tensor(tensor).shape;
    std::vector<std::size_t> index(axes, 0);
    std::set<std::pair<int, int>> seen;
    for (bool more = true; more;) {
        std::vector<Placement> taken;
        std::vector<Placement> summed;
        bool fits = true;
        for (std::size_t axis = 0; axis < axes; ++axis) {
            for (std::size_t other = 0; other < axis; ++other)
                fits = fits && (!m_space.alike(other, axis) || choices[other][index[other]] == choices[axis][index[axis]]);
            taken.push_back(choices[axis][index[axis]].first);
            summed.push_back(choices[axis][index[axis]].second);
        }
        const Layout layout = fits ? withUnits(layoutOf(taken, m_space.axes, shape.size()), inUnits) : Layout();
        const Layout gradient = fits ? withUnits(layoutOf(summed, m_space.axes, shape.size()), inUnits) : Layout();
        for (std::size_t dim = 0; fits && dim < shape.size(); ++dim)
            fits = partsOf(layout.dims[dim], m_request.mesh) <= std::max<std::int64_t>(1, shape[dim]);
        if (fits) {
            const int first = shared ? m_layouts.of(layout) : -1;
            const int second = sums ? m_layouts.of(gradient) : -1;
            if (seen.emplace(first, second).second) {
                if (shared)
                    value.taken.push_back(first);
                if (sums)
                    value.summed.push_back(second);
            }
        }
        std::size_t i = axes;
        while (i > 0 && ++index[i - 1] == choices[i - 1].size())
            index[--i] = 0;
        more = i > 0;
    }
}

Layout NetworkBuilder::withUnits(Layout layout, const std::vector<int>& inUnits) const
{
    for (std::size_t dim = 0; dim < layout.dims.size() && !inUnits.empty(); ++dim) {
        if (layout.dims[dim].empty())
            continue;
        for (const int other : inUnits)
            if (m_layouts[other].dims[dim] == layout.dims[dim] && m_layouts[other].cuttingOf(dim) != Cutting {})
                layout.setCutting(dim, m_layouts[other].cuttingOf(dim));
    }
    return layout;
}

void NetworkBuilder::chooseWeights()
{
    std::map<std::string, std::size_t> known;
    for (std::size_t id = 0; id < m_graph.tensors.size(); ++id) {
        const GraphTensor& tensor = m_graph.tensors[id];
        if (tensor.spec.role != TensorRole::Weight)
            continue;
        const auto [place, isNew] = known.try_emplace(tensor.spec.name, m_out.weights.size());
        if (!isNew) {
            m_out.weights[place->second].tensors.push_back(TensorId(id));
            continue;
        }
        WeightChoice weight { { TensorId(id) }, {} };
        const Layout& now = m_request.plan.layouts[id];
        if (m_request.keeps && m_request.keeps(TensorId(id))) {
            weight.stored.push_back(m_layouts.of(now));
        } else {
            addStored(weight.stored, tensor.spec.shape, Layout::replicated(tensor.spec.shape.size()), 0);
            if (const int current = m_layouts.of(now); !contains(weight.stored, current) && now.partial.empty())
                weight.stored.push_back(current);
        }
        m_out.weights.push_back(std::move(weight));
    }
    for (const WeightChoice& weight : m_out.weights)
        m_out.sizes.push_back(static_cast<int>(weight.stored.size()));
}

void NetworkBuilder::addStored(std::vector<int>& out, const Shape& shape, const Layout& layout, std::size_t next)
{
    if (next == m_space.axes.size()) {
        out.push_back(m_layouts.of(layout));
        return;
    }
    const AxisRef axis { m_space.axes[next] };
    addStored(out, shape, layout, next + 1);
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const std::int64_t parts = partsOf(layout.dims[dim], m_request.mesh) * m_request.mesh.axis(axis.axis).size;
        if (shape[dim] % parts != 0)
            continue;
        for (std::size_t at = 0; at <= layout.dims[dim].size(); ++at) {
            Layout cut = layout;
            cut.dims[dim].insert(cut.dims[dim].begin() + static_cast<std::ptrdiff_t>(at), axis);
            addStored(out, shape, cut, next + 1);
        }
    }
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/layoutdesign.h"

#include "model/design/layoutstrategy.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "model/picker/menu/menu.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardboard {

namespace {

class DesignWriter {
public:
    DesignWriter(const Graph& graph, const Mesh& mesh, const LayoutSpace& space, const LayoutNetwork& network,
                 const LayoutNumbers& layouts, const std::vector<int>& choice)
        : m_graph(graph)
        , m_mesh(mesh)
        , m_space(space)
        , m_network(network)
        , m_layouts(layouts)
        , m_choice(choice)
    {
        for (std::size_t v = 0; v < network.values.size(); ++v)
            for (const TensorId tensor : network.values[v].tensors)
                m_valueOf[tensor] = v;
        m_maker.resize(graph.tensors.size());
        for (std::size_t id = 0; id < graph.ops.size(); ++id)
            m_maker[graph.ops[id].result] = OpId(id);
    }

    std::vector<Pin> pins()
    {
        std::vector<Pin> out;
        std::set<std::string> done;
        for (const Segment& segment : m_graph.segments) {
            if (segment.phase == Phase::Update)
                continue;
            for (const OpId id : segment.ops) {
                const std::string match = segment.name + "/" + m_graph.op(id).name;
                if (!done.insert(match).second)
                    continue;
                for (std::size_t axis = 0; axis < m_space.axes.size(); ++axis)
                    if (std::string row = rowOf(segment, id, axis); !row.empty()) {
                        Pin pin;
                        pin.match = match;
                        pin.axis = m_mesh.axis(m_space.axes[axis]).name;
                        pin.row = std::move(row);
                        pin.source = kOptimizedSource;
                        out.push_back(std::move(pin));
                    }
            }
        }
        return out;
    }

private:
    int chosen(int node) const { return m_choice[static_cast<std::size_t>(node)]; }

    std::string rowOf(const Segment& segment, OpId id, std::size_t axis) const
    {
        const Op& op = m_graph.op(id);
        if (const int place = m_space.ofOp[id]; place >= 0) {
            const auto member = static_cast<std::size_t>(m_space.memberOf[id]);
            return rowText(
                m_space.decisions[static_cast<std::size_t>(place)].row(member, static_cast<std::size_t>(chosen(place)), axis));
        }
        if (op.kind == OpKind::ReduceGrad)
            return {};
        const GraphTensor& result = m_graph.entry(op.result);
        const TensorId of = result.gradientOf != kNoTensor ? result.gradientOf : result.addendOf;
        const int layout = op.kind == OpKind::Add ? summed(of) : upstream(segment, of);
        return layout < 0 ? std::string() : evenRow(op, placementOn(m_layouts[layout], m_space.axes[axis]));
    }

    int summed(TensorId tensor) const
    {
        const auto value = m_valueOf.find(tensor);
        if (value == m_valueOf.end() || m_network.values[value->second].summed.empty())
            return -1;
        return m_network.values[value->second]
            .summed[static_cast<std::size_t>(chosen(m_network.valueNode(m_space, value->second)))];
    }

    /// Where the gradient of a value is wanted by what made the value: of the residual stream of repeated layers, the layer before.
    int upstream(const Segment& backward, TensorId tensor) const
    {
        const Segment& forward = m_graph.segment(backward.of);
        const TensorId made = forward.carryIn == tensor && forward.count > 1 ? forward.carryOut : tensor;
        const OpId op = m_maker[made];
        if (!op.valid() || m_space.ofOp[op] < 0)
            return -1;
        const int place = m_space.ofOp[op];
        return m_space.decisions[static_cast<std::size_t>(place)].upstream[static_cast<std::size_t>(chosen(place))];
    }

    /// The row that has operands and result so.
    std::string evenRow(const Op& op, const Placement& placement) const
    {
        std::vector<Shape> shapes;
        for (const TensorId operand : op.operands)
            shapes.push_back(m_graph.tensor(operand).shape);
        for (const Row& row : ruleOf(op.kind).rows(shapes, m_graph.tensor(op.result).shape, PickerProfile::Shardboard))
            if (row.result == placement && std::ranges::all_of(row.operands, [&](const Placement& p) { return p == placement; }))
                return rowText(row);
        return {};
    }

    const Graph& m_graph;
    const Mesh& m_mesh;
    const LayoutSpace& m_space;
    const LayoutNetwork& m_network;
    const LayoutNumbers& m_layouts;
    const std::vector<int>& m_choice;
    std::map<TensorId, std::size_t> m_valueOf;
    std::vector<OpId> m_maker; ///< by TensorId
};

} // namespace

Design designOf(const Design& design, const Graph& graph, const Mesh& mesh, const LayoutSpace& space, const LayoutNetwork& network,
                const LayoutNumbers& layouts, const std::vector<int>& choice, const std::function<bool(TensorId)>& keeps)
{
    Design out = design;
    std::erase_if(out.pins, [](const Pin& pin) { return !pin.source.empty(); });
    std::vector<Pin> pins = DesignWriter(graph, mesh, space, network, layouts, choice).pins();
    out.pins.insert(out.pins.begin(), std::make_move_iterator(pins.begin()), std::make_move_iterator(pins.end()));
    out.picker.profile = PickerProfile::Shardboard;
    out.picker.picker = PickerKind::Greedy;
    for (std::size_t w = 0; w < network.weights.size(); ++w) {
        const WeightChoice& weight = network.weights[w];
        const TensorId tensor = weight.tensors.front();
        if (keeps && keeps(tensor))
            continue;
        const std::string& name = graph.tensor(tensor).name;
        std::erase_if(out.strategies, [&](const StrategyEntry& entry) { return entry.match == name; });
        const int layout = weight.stored[static_cast<std::size_t>(choice[static_cast<std::size_t>(network.weightNode(space, w))])];
        out.strategies.push_back({ name, strategyOf(layouts[layout], design.mesh), std::nullopt });
    }
    return out;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/oneprogram.h"

#include "model/hardware/hardware.h"

#include <algorithm>

namespace shardboard::conformance {

namespace {

bool below(std::mt19937& random, unsigned percent) { return random() % 100 < percent; }

class Planner {
public:
    Planner(const Graph& graph, const Mesh& mesh, DType dtype, std::mt19937& random)
        : m_random(random)
    {
        m_program.graph = graph;
        for (GraphTensor& tensor : m_program.graph.tensors)
            tensor.spec.dtype = tensor.spec.dtype == DType::F32 ? dtype : tensor.spec.dtype;
        m_program.plan.mesh = mesh;
        for (const GraphTensor& tensor : graph.tensors)
            m_program.plan.layouts.push_back(Layout::replicated(tensor.spec.shape.size()));
        PlannedSegment segment;
        segment.name = graph.segments.front().name;
        m_program.plan.segments.push_back(std::move(segment));
    }

    /// False when the operands cannot be brought there.
    bool add(OpId id, const std::vector<Layout>& operands, const Layout& result, const std::vector<RowChoice::Ring>& rings)
    {
        const Op& op = m_program.graph.op(id);
        PlannedOp planned;
        planned.op = id;
        planned.result = result;
        for (std::size_t i = 0; i < op.operands.size(); ++i) {
            auto use = operand(op, i, operands[i]);
            if (!use)
                return false;
            for (const RowChoice::Ring& ring : rings)
                if (ring.operand == i)
                    for (const int axis : ring.axes)
                        addCollective({ CollectiveKind::SendRecv, { axis }, operands[i], operands[i] }, id, i, *use);
            planned.operands.push_back(std::move(*use));
        }
        m_layouts[op.result] = result;
        m_program.plan.segments.front().ops.push_back(std::move(planned));
        return true;
    }

    Program take() { return std::move(m_program); }

private:
    std::optional<OperandUse> operand(const Op& op, std::size_t index, const Layout& wanted)
    {
        const TensorId tensor = op.operands[index];
        const bool made = m_program.graph.tensor(tensor).role != TensorRole::Activation;
        OperandUse use;
        use.tensor = tensor;
        use.layout = wanted;
        const auto known = m_layouts.find(tensor);
        if (known != m_layouts.end())
            use.before = known->second;
        else if (made && (!wanted.partial.empty() || below(m_random, 50)))
            use.before = wanted;
        else
            use.before = randomLayout(m_random, m_program.plan.mesh, wanted.dims.size(), false);
        m_layouts[tensor] = use.before;
        m_program.plan.layouts[tensor] = use.before;
        const auto& presets = hardwarePresets(); // links of all sorts, so that the ways differ
        const auto steps =
            reshardSteps(use.before, wanted, { m_program.graph.tensor(tensor).shape, m_program.graph.tensor(tensor).dtype, 1 },
                         m_program.plan.mesh, presets[m_random() % presets.size()], "t");
        if (!steps.ok())
            return std::nullopt;
        for (const ReshardStep& step : steps.value())
            addCollective(step, OpId(&op - m_program.graph.ops.data()), index, use);
        return use;
    }

    void addCollective(const ReshardStep& step, OpId op, std::size_t operand, OperandUse& use)
    {
        Plan& plan = m_program.plan;
        const TensorSpec& spec = m_program.graph.tensor(use.tensor);
        Collective collective;
        collective.id = "c" + std::to_string(plan.collectives.size());
        collective.kind = step.kind;
        collective.axes = step.axes;
        collective.groupSize = plan.mesh.groupSize(step.axes);
        collective.tensor = use.tensor;
        collective.step = step;
        collective.bytes = stepBytes(step, spec.shape, spec.dtype, plan.mesh);
        collective.op = op;
        collective.operand = static_cast<int>(operand);
        use.collectives.push_back(nextId(plan.collectives));
        plan.collectives.push_back(std::move(collective));
    }

    std::mt19937& m_random;
    Program m_program;
    std::map<TensorId, Layout> m_layouts; ///< of what there is already
};

std::vector<Layout> wholeOperands(const Graph& graph, const Op& op)
{
    std::vector<Layout> out;
    for (const TensorId tensor : op.operands)
        out.push_back(Layout::replicated(graph.tensor(tensor).shape.size()));
    return out;
}

} // namespace

Layout randomLayout(std::mt19937& random, const Mesh& mesh, std::size_t rank, bool mayBePartial)
{
    Layout layout = Layout::replicated(rank);
    std::vector<int> axes;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        axes.push_back(axis);
    std::shuffle(axes.begin(), axes.end(), random);
    for (const int axis : axes) {
        const std::size_t choice = random() % (rank + 2);
        if (choice < rank)
            layout.dims[choice].push_back(AxisRef { axis });
        else if (choice == rank && mayBePartial)
            layout.partial.push_back(AxisRef { axis });
    }
    std::sort(layout.partial.begin(), layout.partial.end(), [](const AxisRef& a, const AxisRef& b) { return a.axis < b.axis; });
    return layout;
}

std::optional<Program> programOf(const OpCase& of, const Mesh& mesh, const RowChoice& choice, DType dtype, std::mt19937& random)
{
    Planner planner(of.graph, mesh, dtype, random);
    const auto last = lastId(of.graph.ops);
    for (OpId id { 0 }; id < last; ++id) {
        const Op& op = of.graph.op(id);
        if (!planner.add(id, wholeOperands(of.graph, op), Layout::replicated(of.graph.tensor(op.result).shape.size()), {}))
            return std::nullopt;
    }
    if (!planner.add(last, choice.operands, choice.result, choice.rings))
        return std::nullopt;
    return planner.take();
}

std::optional<Program> reshardProgram(const Shape& shape, const Mesh& mesh, const Layout& from, const Layout& to, DType dtype,
                                      std::mt19937& random)
{
    constexpr std::int64_t kInner = 23;
    GraphMaker maker;
    Shape rows = shape;
    rows.back() = kInner;
    const TensorId y = maker.op(OpKind::Linear, { maker.input(rows), maker.input({ shape.back(), kInner }) }, shape);
    OpAttributes twice;
    twice.scale = 2;
    maker.op(OpKind::Scale, { y }, shape, twice);
    const OpCase made = maker.done("reshard");
    Layout x = from;
    x.partial.clear();
    x.dims.back() = from.partial;
    Layout weight = Layout::replicated(2);
    weight.dims[0] = from.dims.back();
    weight.dims[1] = from.partial;
    Planner planner(made.graph, mesh, dtype, random);
    if (!planner.add(OpId(0), { x, weight }, from, {}) || !planner.add(OpId(1), { to }, to, {}))
        return std::nullopt;
    return planner.take();
}

} // namespace shardboard::conformance

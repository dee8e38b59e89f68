// SPDX-License-Identifier: Apache-2.0
#include "engine/run/schedule/checkprogram.h"

#include "engine/machine/failure.h"
#include "engine/ops/checkgradients.h"
#include "engine/ops/checkparts.h"
#include "engine/values/rounding.h"
#include "model/ops/opdefinition.h"

#include <algorithm>
#include <optional>
#include <set>

namespace shardboard::engine {

namespace {

class Checker {
public:
    Checker(const Program& program, const RunOptions& options)
        : m_graph(program.graph)
        , m_plan(program.plan)
        , m_options(options)
    {
    }

    void check()
    {
        if (m_plan.mesh.deviceCount() > kMostDevices)
            failPlan("the engine runs at most " + std::to_string(kMostDevices) + " logical devices, the mesh has "
                         + std::to_string(m_plan.mesh.deviceCount()),
                     "mesh");
        for (const GraphTensor& tensor : m_graph.tensors)
            checkTensor(tensor.spec);
        for (const Segment& segment : m_graph.segments)
            checkSegment(segment);
        for (const Op& op : m_graph.ops)
            if (op.kind == OpKind::LogitMax && op.result != kNoTensor)
                m_maxima.insert(op.result);
        for (const PlannedSegment& segment : m_plan.segments) {
            checkPhase(segment);
            for (const PlannedOp& planned : segment.ops)
                checkPlanned(segment, planned);
        }
        for (const Collective& collective : m_plan.collectives) {
            checkLayout(collective.step.before, collective.tensor, collective.id);
            checkLayout(collective.step.after, collective.tensor, collective.id);
        }
        if (!m_options.breakCollective.empty())
            checkHook();
    }

private:
    const Shape& shape(TensorId id) const { return m_graph.tensor(id).shape; }

    void require(bool good, const std::string& message) const
    {
        if (!good)
            failPlan(message, m_where);
    }

    void checkTensor(const TensorSpec& spec)
    {
        m_where = spec.name;
        const auto elements = elementCount(spec.shape);
        require(elements && *elements <= (std::int64_t { 1 } << 48), "the tensor has too many elements to be run");
        require(!spec.shape.empty() && spec.shape.size() <= 8,
                "a tensor of rank " + std::to_string(spec.shape.size()) + " cannot be run");
        for (const std::int64_t size : spec.shape)
            require(size > 0, "a tensor without elements cannot be run");
        if (m_options.designDtype)
            require(roundingOf(spec.dtype).has_value(),
                    "values of dtype " + dtypeName(spec.dtype) + " cannot be emulated; run with dtype f32");
    }

    void checkSegment(const Segment& segment)
    {
        m_where = segment.name;
        const auto of = static_cast<std::size_t>(segment.of);
        if (segment.phase == Phase::Forward)
            return require(segment.of < 0, "a forward segment belongs to no other one");
        require(segment.of >= 0 && of < m_graph.segments.size() && m_graph.segments[of].phase == Phase::Forward,
                "a segment of the backward pass or the update belongs to a forward segment");
        require(segment.isLayer == m_graph.segments[of].isLayer, "it and its forward segment are not both layers");
    }

    void checkPhase(const PlannedSegment& planned)
    {
        const Segment& segment = m_graph.segment(planned.segment);
        m_where = planned.name;
        require(planned.phase == segment.phase, "the plan has it in another phase than the graph");
        require(planned.kept.empty() || planned.phase == Phase::Forward, "only a forward segment keeps activations");
        for (const Kept& kept : planned.kept) {
            checkLayout(kept.layout, kept.tensor, planned.name);
            require(m_graph.tensor(kept.tensor).role == TensorRole::Activation, "only activations are kept");
        }
    }

    void checkLayout(const Layout& layout, TensorId tensor, const std::string& where)
    {
        m_where = where;
        const std::string name = m_graph.tensor(tensor).name;
        const auto status = verifyLayout(layout, m_plan.mesh, shape(tensor).size(), name);
        if (!status.ok())
            failPlan(status.error().text(), where);
        require(layout.partial.empty() || layout.op == ReduceOp::Sum || (layout.op == ReduceOp::Max && m_maxima.contains(tensor)),
                "only sums, and the largest logits, can be partial");
        for (const AxisRef& ref : layout.partial)
            require(ref.whole(), "a value that is partial over a part of a mesh axis cannot be run");
    }

    void checkPlanned(const PlannedSegment& segment, const PlannedOp& planned)
    {
        const Op& op = m_graph.op(planned.op);
        m_where = segment.name + "/" + op.name;
        require(planned.operands.size() == op.operands.size(), "the plan has another number of operands than the graph");
        for (std::size_t i = 0; i < op.operands.size(); ++i) {
            require(planned.operands[i].tensor == op.operands[i], "the plan has other operands than the graph");
            checkLayout(planned.operands[i].before, op.operands[i], m_where);
            checkLayout(planned.operands[i].layout, op.operands[i], m_where);
            require(planned.operands[i].layout.partial.empty() || !m_maxima.contains(op.operands[i]),
                    "it takes largest logits of which every device has only its own");
        }
        checkLayout(planned.result, op.result, m_where);
        checkOp(op);
    }

    void checkOp(const Op& op)
    {
        const std::size_t wanted = definitionOf(op.kind).operands;
        require(op.operands.size() == wanted, "a " + opKindName(op.kind) + " has " + std::to_string(wanted) + " operands");
        const Shape& x = shape(op.operands.front());
        const Shape& y = shape(op.result);
        if (const auto fits = gradientFits(op, y))
            return require(*fits, "the shapes of its operands and its result do not fit");
        std::vector<Shape> operands;
        for (const TensorId operand : op.operands)
            operands.push_back(shape(operand));
        if (const std::string error = shapeErrorOfParts(op, operands, y); !error.empty())
            failPlan(error, m_where);
        if (const std::string error = shapeErrorOfGradients(op, operands, y); !error.empty())
            failPlan(error, m_where);
        if (wanted >= 2)
            require(fits(op, x, shape(op.operands[1]), y), "the shapes of its operands do not fit");
        switch (op.kind) {
        case OpKind::Silu:
        case OpKind::Gelu:
        case OpKind::Output:
        case OpKind::GatherLast:
        case OpKind::ReduceGrad:
            return require(x == y, "operand and result differ in shape");
        case OpKind::SplitHeads:
            return require(y.size() == 4 && x == Shape { y[0], y[1], y[2] * y[3] }, "the shapes do not fit");
        case OpKind::MergeHeads:
            return require(x.size() == 4 && y == Shape { x[0], x[1], x[2] * x[3] }, "the shapes do not fit");
        case OpKind::KvAppend:
            return require(x.size() == 4 && y.size() == 4 && y[0] == x[0] && y[1] >= x[1] && y[2] == x[2] && y[3] == x[3],
                           "the cache does not fit the new tokens");
        default:
            return;
        }
    }

    /// Whether the shapes of an operation of the loss, the backward pass or the update fit; nothing for other operations.
    std::optional<bool> gradientFits(const Op& op, const Shape& y) const
    {
        const auto operand = [&](std::size_t i) -> const Shape& { return shape(op.operands[i]); };
        const Shape& x = operand(0);
        const Shape rows(x.begin(), x.end() - 1);
        const auto with = [](Shape leading, std::int64_t last) {
            leading.push_back(last);
            return leading;
        };
        const std::int64_t last = x.back();
        switch (op.kind) {
        case OpKind::LogitMax:
            return y == rows;
        case OpKind::SumExp:
        case OpKind::TargetLogit:
            return y == rows && operand(1) == rows && last <= (std::int64_t { 1 } << 24);
        case OpKind::TokenLoss:
            return y == x && operand(1) == x && operand(2) == x;
        case OpKind::LogitGrad:
            return y == x && operand(1) == rows && operand(2) == rows && operand(3) == rows && last <= (std::int64_t { 1 } << 24);
        case OpKind::LinearGradX:
            return operand(1).size() == 2 && operand(1)[0] == last && y == with(rows, operand(1)[1]);
        case OpKind::LinearGradW:
            return operand(1) == with(rows, operand(1).back()) && y == Shape { last, operand(1).back() };
        case OpKind::EmbeddingGrad:
            return operand(1) == rows && y.size() == 2 && y[1] == last && y[0] <= (std::int64_t { 1 } << 24);
        case OpKind::RmsNormGradX:
            return y == x && operand(1) == x && operand(2) == Shape { last };
        case OpKind::RmsNormGradW:
            return operand(1) == x && y == Shape { last };
        case OpKind::SumLeading:
            return y == Shape { last };
        case OpKind::SiluGrad:
        case OpKind::GeluGrad:
        case OpKind::AdamStep:
            return y == x && operand(1) == x;
        default:
            return std::nullopt;
        }
    }

    bool fits(const Op& op, const Shape& x, const Shape& w, const Shape& y) const
    {
        Shape rows = x;
        switch (op.kind) {
        case OpKind::Embedding:
            rows.push_back(w.size() == 2 ? w[1] : 0);
            return w.size() == 2 && rows == y && w[0] <= (std::int64_t { 1 } << 24);
        case OpKind::RmsNorm:
            return x == y && w == Shape { x.back() };
        case OpKind::Linear:
            rows.back() = w[0];
            return w.size() == 2 && w[1] == x.back() && rows == y;
        case OpKind::Add:
        case OpKind::Mul:
            return x == y && w.size() <= x.size()
                && std::equal(w.rbegin(), w.rend(), x.rbegin(), [](auto b, auto a) { return b == a || b == 1; });
        default:
            return true;
        }
    }

    void checkHook()
    {
        const auto found = std::any_of(m_plan.collectives.begin(), m_plan.collectives.end(), [&](const Collective& c) {
            return c.id == m_options.breakCollective
                || (m_options.breakCollective == "any" && c.kind != CollectiveKind::LocalSlice);
        });
        if (!found)
            failPlan("the plan has no collective '" + m_options.breakCollective + "' to break", "options.break_collective");
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const RunOptions& m_options;
    std::set<TensorId> m_maxima; ///< largest logits
    std::string m_where;
};

} // namespace

void checkProgram(const Program& program, const RunOptions& options) { Checker(program, options).check(); }

} // namespace shardboard::engine

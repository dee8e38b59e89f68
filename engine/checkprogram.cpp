// SPDX-License-Identifier: Apache-2.0
#include "engine/checkprogram.h"

#include "engine/failure.h"
#include "engine/rounding.h"

#include <algorithm>

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
        if (m_options.backend != "cpu")
            failPlan("this build has no backend '" + m_options.backend + "', only cpu", "options.backend");
        if (m_plan.mesh.deviceCount() > kMostDevices)
            failPlan("the cpu backend runs at most " + std::to_string(kMostDevices) + " logical devices, the mesh has "
                         + std::to_string(m_plan.mesh.deviceCount()),
                     "mesh");
        for (const GraphTensor& tensor : m_graph.tensors)
            checkTensor(tensor.spec);
        for (const PlannedSegment& segment : m_plan.segments)
            for (const PlannedOp& planned : segment.ops)
                checkPlanned(segment, planned);
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
        require(!spec.shape.empty() && spec.shape.size() <= 8, "a tensor of rank " + std::to_string(spec.shape.size())
                    + " cannot be run");
        for (const std::int64_t size : spec.shape)
            require(size > 0, "a tensor without elements cannot be run");
        if (m_options.designDtype)
            require(roundingOf(spec.dtype).has_value(), "values of dtype " + dtypeName(spec.dtype)
                        + " cannot be imitated on the cpu; run with dtype f32");
    }

    void checkLayout(const Layout& layout, TensorId tensor, const std::string& where)
    {
        m_where = where;
        const std::string name = m_graph.tensor(tensor).name;
        const auto status = verifyLayout(layout, m_plan.mesh, shape(tensor).size(), name);
        if (!status.ok())
            failPlan(status.error().text(), where);
        require(layout.op == ReduceOp::Sum, "only sums can be partial");
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
        }
        checkLayout(planned.result, op.result, m_where);
        checkOp(op);
    }

    void checkOp(const Op& op)
    {
        const std::size_t wanted = op.kind == OpKind::Attention ? 3 : isBinary(op.kind) ? 2 : 1;
        require(op.operands.size() == wanted, "a " + opKindName(op.kind) + " has " + std::to_string(wanted) + " operands");
        const Shape& x = shape(op.operands.front());
        const Shape& y = shape(op.result);
        if (wanted >= 2)
            require(fits(op, x, shape(op.operands[1]), y), "the shapes of its operands do not fit");
        switch (op.kind) {
        case OpKind::Silu:
        case OpKind::Gelu:
        case OpKind::Output:
        case OpKind::GatherLast:
            return require(x == y, "operand and result differ in shape");
        case OpKind::Rope:
            require(x == y && x.size() == 4 && x[3] % 2 == 0, "it rotates heads of an even width");
            return require(op.attributes.ropeTheta > 0, "its base must be positive");
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

    static bool isBinary(OpKind kind)
    {
        return kind == OpKind::Embedding || kind == OpKind::RmsNorm || kind == OpKind::Linear || kind == OpKind::Add
            || kind == OpKind::Mul;
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
        case OpKind::Attention:
            return x == y && x.size() == 4 && w == shape(op.operands[2]) && w.size() == 4 && w[0] == x[0] && w[1] >= x[1]
                && x[2] % w[2] == 0 && w[3] == x[3];
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
    std::string m_where;
};

} // namespace

void checkProgram(const Program& program, const RunOptions& options) { Checker(program, options).check(); }

} // namespace shardboard::engine

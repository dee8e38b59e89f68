// SPDX-License-Identifier: Apache-2.0
#include "engine/run/schedule/checkprogram.h"

#include "engine/machine/failure.h"
#include "engine/values/rounding.h"
#include "model/ops/opdefinition.h"
#include "model/text/figures.h"

#include <algorithm>
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
            failPlan("the engine runs at most " + figures::count(kMostDevices) + " logical devices, the mesh has "
                         + figures::count(m_plan.mesh.deviceCount()),
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
        const SegmentId of = segment.of;
        if (segment.phase == Phase::Forward)
            return require(!of.valid(), "a forward segment belongs to no other one");
        require(of.valid() && of < m_graph.segments.size() && m_graph.segments[of].phase == Phase::Forward,
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
        if (const Status fits = verifyOp(m_graph, op); !fits.ok())
            failPlan(fits.error().text(), m_where);
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

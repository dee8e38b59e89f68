// SPDX-License-Identifier: Apache-2.0
#include "model/io/json/meshjson.h"
#include "model/io/wire/planjson.h"
#include "model/io/wire/planmembers.h"
#include "model/text/contains.h"

#include <utility>

namespace shardboard {

namespace {

class PlanReader {
public:
    explicit PlanReader(const nlohmann::json& document)
        : m_root(JsonFields::message(document, "plan"))
        , m_members(m_program.graph, m_program.plan)
    {
    }

    Result<Program> read()
    {
        checkHeading();
        JsonFields mesh = m_root.object("mesh");
        readMesh(mesh, plan().mesh);
        JsonMembersReader each(m_root);
        if (ok())
            readPipeline(each);
        each.value("micro_batches", plan().microBatches, { 1, kMostInPlan });
        each.list("tensors", graph().tensors, [&](auto& inner, GraphTensor& tensor) { m_members.tensor(inner, tensor); });
        if (ok())
            readLayouts();
        each.list("segments", graph().segments, [&](auto& inner, Segment& segment) { m_members.segment(inner, segment); });
        each.list("layers", plan().segments,
                  [&](auto& inner, PlannedSegment& segment) { m_members.plannedSegment(inner, segment); });
        each.list("collectives", plan().collectives,
                  [&](auto& inner, Collective& collective) { readCollective(inner, collective); });
        m_root.objects("operations", [&](JsonFields& from) { readOperation(from); });
        if (ok())
            readPlacesOfCollectives();
        if (!ok())
            return *m_root.error();
        return std::move(m_program);
    }

private:
    bool ok() const { return !m_root.error(); }
    Graph& graph() { return m_program.graph; }
    Plan& plan() { return m_program.plan; }
    void refuse(const std::string& what) { m_root.fail({}, what, "make the plan again"); }

    void checkHeading()
    {
        if (m_root.text("format") != "shardboard-plan")
            m_root.fail("format", "this is not a plan", "expected shardboard-plan");
        if (m_root.integer("version", 0, kMostInPlan) != 1)
            m_root.fail("version", "this version of the plan is not known", "expected 1");
    }

    void readPipeline(JsonMembersReader& each)
    {
        PlannedPipeline pipeline;
        each.groupIfAny("pipeline", [&](auto& inner) { m_members.pipeline(inner, pipeline); });
        if (!ok() || pipeline.axis < 0)
            return;
        pipeline.stages = plan().mesh.axis(pipeline.axis).size;
        if (const auto& ends = pipeline.runEnds; !ends.empty()
            && (std::ssize(ends) != pipeline.stages * pipeline.chunks || !std::ranges::is_sorted(ends) || ends.front() < 0
                || ends.back() != pipeline.layers))
            m_root.fail("pipeline", "run_ends are not the ends of the runs of its layers, in order",
                        "give one for each run, the last one the number of layers");
        if (pipeline.busiestStage >= pipeline.stages)
            m_root.fail("pipeline", "busiest_stage is none of its stages", "number them from 0");
        plan().pipeline = pipeline;
    }

    void readLayouts()
    {
        const auto specs = m_root.texts("layouts");
        if (specs.size() != graph().tensors.size())
            m_root.fail("layouts",
                        "there are " + std::to_string(specs.size()) + " layouts of " + std::to_string(graph().tensors.size())
                            + " tensors",
                        "give each tensor one");
        for (std::size_t i = 0; i < specs.size() && ok(); ++i) {
            const std::string key = "layouts[" + std::to_string(i) + "]";
            auto layout = LayoutText { plan().mesh, graph().tensors[i].spec.shape.size() }.parse(specs[i], key);
            if (!layout.ok())
                return m_root.fail(key, layout.error().what, layout.error().fix);
            plan().layouts.push_back(std::move(layout).value());
        }
    }

    void readCollective(JsonMembersReader& each, Collective& collective)
    {
        const AxisText axisText { plan().mesh };
        each.from().need("axes");
        for (const std::string& name : each.from().texts("axes")) {
            const auto axis = axisText.parse(name, each.from().place("axes"));
            if (!axis.ok())
                return each.from().fail("axes", axis.error().what, axis.error().fix);
            collective.axes.push_back(axis.value());
        }
        m_members.collective(each, collective);
        if (!ok())
            return;
        collective.groupSize = plan().mesh.groupSize(collective.axes);
        collective.step.kind = collective.kind;
        collective.step.axes = collective.axes;
    }

    void readOperation(JsonFields& from)
    {
        JsonMembersReader each(from);
        PlannedOp planned;
        PlannedSegmentId segmentId;
        each.value("op_id", planned.op, { 0, kMostIds });
        each.value("planned_segment", segmentId, indexInto(plan().segments.size()));
        Op op;
        m_members.operation(each, op, planned);
        if (!ok())
            return;
        for (const OperandUse& use : planned.operands)
            op.operands.push_back(use.tensor);
        const auto opId = static_cast<std::size_t>(planned.op);
        if (graph().ops.size() <= opId)
            graph().ops.resize(opId + 1);
        PlannedSegment& segment = plan().segment(segmentId);
        auto& ops = graph().segment(segment.segment).ops;
        if (!contains(ops, planned.op))
            ops.push_back(planned.op);
        graph().ops[opId] = std::move(op);
        segment.ops.push_back(std::move(planned));
    }

    /// Which operation wanted a collective follows from the first operand that lists it; each must be listed once (those around
    /// a ring also by later operations that they serve), and the steps of an operand must lead from where it arrives to where
    /// it is taken.
    void readPlacesOfCollectives()
    {
        std::vector<bool> listed(plan().collectives.size(), false);
        for (PlannedSegment& segment : plan().segments)
            for (PlannedOp& op : segment.ops)
                for (std::size_t i = 0; i < op.operands.size(); ++i) {
                    OperandUse& use = op.operands[i];
                    const Layout* now = &use.before;
                    for (const CollectiveId id : use.collectives) {
                        Collective& collective = plan().collective(id);
                        const bool chained = collective.tensor == use.tensor && collective.step.before == *now;
                        const bool again = listed[id];
                        const bool ring = collective.kind == CollectiveKind::SendRecv && collective.step.after == use.layout;
                        if ((again && !ring) || !chained)
                            return refuse("collective " + collective.id + " does not fit the operand that lists it");
                        if (again)
                            continue;
                        listed[id] = true;
                        collective.op = op.op;
                        collective.operand = static_cast<int>(i);
                        now = &collective.step.after;
                    }
                    if (!(*now == use.layout))
                        return refuse("the steps of operand " + std::to_string(i) + " of " + graph().op(op.op).name
                                      + " do not lead to the layout in which it is taken");
                }
        if (contains(listed, false))
            refuse("a collective is wanted by no operation");
    }

    JsonFields m_root;
    Program m_program;
    PlanMembers<JsonMembersReader, Graph, Plan> m_members;
};

} // namespace

Result<Program> planFromJson(const nlohmann::json& document) { return PlanReader(document).read(); }

} // namespace shardboard

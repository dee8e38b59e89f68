// SPDX-License-Identifier: Apache-2.0
#include "model/core/jsonreader.h"
#include "model/io/wire/planjson.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::int64_t kMost = std::int64_t { 1 } << 40;

class PlanReader {
public:
    explicit PlanReader(const nlohmann::json& document)
        : m_root(document, "plan")
    {
    }

    Result<Program> read()
    {
        if (m_root.text("format") != "shardboard-plan")
            m_root.child("format").fail("this is not a plan", "expected shardboard-plan");
        if (m_root.integer("version") != 1)
            m_root.child("version").fail("this version of the plan is not known", "expected 1");
        readMesh();
        readPipeline();
        plan().microBatches = m_root.integer("micro_batches", 1, kMost);
        readTensors();
        readSegments();
        readPlannedSegments();
        readCollectives();
        readOperations();
        if (m_root.ok())
            readPlacesOfCollectives();
        if (!m_root.ok())
            return m_root.error();
        return std::move(m_program);
    }

private:
    Graph& graph() { return m_program.graph; }
    Plan& plan() { return m_program.plan; }

    int index(JsonReader reader, const std::string& key, std::size_t count, bool optional = false)
    {
        return static_cast<int>(reader.integer(key, optional ? -1 : 0, static_cast<std::int64_t>(count) - 1));
    }

    Layout layout(JsonReader reader, TensorId tensor)
    {
        if (!reader.ok())
            return {};
        auto parsed = parseSpec(reader.asText(), plan().mesh, graph().tensor(tensor).shape.size(), reader.where());
        if (!reader.ok())
            return {};
        if (!parsed.ok()) {
            reader.fail(parsed.error().what, parsed.error().fix);
            return {};
        }
        return std::move(parsed).value();
    }

    void readMesh()
    {
        JsonReader mesh = m_root.child("mesh");
        std::vector<MeshAxis> axes;
        auto names = mesh.items("axes");
        auto sizes = mesh.items("sizes");
        if (names.size() != sizes.size())
            mesh.fail("axes and sizes differ in length");
        for (std::size_t i = 0; i < std::min(names.size(), sizes.size()); ++i)
            axes.push_back({ names[i].asText(), sizes[i].asInteger(1, kMaxDevices) });
        std::vector<std::int64_t> ids;
        if (mesh.has("device_ids"))
            for (JsonReader& id : mesh.items("device_ids"))
                ids.push_back(id.asInteger(0));
        if (!m_root.ok())
            return;
        auto made = Mesh::make(std::move(axes), std::move(ids), mesh.where());
        if (made.ok())
            plan().mesh = std::move(made).value();
        else
            mesh.fail(made.error().what, made.error().fix);
    }

    void readPipeline()
    {
        if (!m_root.ok() || !m_root.has("pipeline"))
            return;
        JsonReader item = m_root.child("pipeline");
        PlannedPipeline pipeline;
        pipeline.axis = plan().mesh.find(item.text("axis"));
        if (item.ok() && pipeline.axis < 0)
            return item.child("axis").fail("the mesh has no such axis");
        pipeline.chunks = item.integer("chunks", 1, 1 << 16);
        pipeline.layers = item.integer("layers", 1, kMost);
        pipeline.bubble = item.number("bubble");
        pipeline.stageSeconds = item.number("stage_seconds");
        item.readNumber("end_seconds", pipeline.endSeconds);
        item.readNumber("other_end_seconds", pipeline.otherEndSeconds);
        pipeline.updateSeconds = item.number("update_seconds");
        if (!m_root.ok())
            return;
        pipeline.stages = plan().mesh.axis(pipeline.axis).size;
        plan().pipeline = pipeline;
    }

    static TensorRole role(JsonReader reader)
    {
        const std::string name = reader.asText();
        if (name == "weight")
            return TensorRole::Weight;
        if (name == "input")
            return TensorRole::Input;
        if (name == "kv_cache")
            return TensorRole::KvCache;
        if (name != "activation")
            reader.fail("'" + name + "' is not a role of a tensor");
        return TensorRole::Activation;
    }

    static Phase phase(JsonReader item)
    {
        const auto phase = phaseFromName(item.text("phase"));
        if (!phase)
            item.child("phase").fail("is forward, backward or update");
        return phase.value_or(Phase::Forward);
    }

    void readTensors()
    {
        for (JsonReader& item : m_root.items("tensors")) {
            GraphTensor tensor;
            tensor.spec.name = item.text("name");
            for (JsonReader& size : item.items("shape"))
                tensor.spec.shape.push_back(size.asInteger(0, kMost));
            const auto elements = elementCount(tensor.spec.shape);
            if (!elements || *elements > (std::int64_t { 1 } << 56))
                item.child("shape").fail("the tensor has too many elements");
            const auto dtype = dtypeFromName(item.text("dtype"));
            if (!dtype)
                item.child("dtype").fail("unknown dtype");
            tensor.spec.dtype = dtype.value_or(DType::F32);
            tensor.spec.role = role(item.child("role"));
            tensor.copies = item.integer("copies", 1);
            item.readInteger("pieces", tensor.pieces, 1);
            item.readNumber("density", tensor.density);
            if (!(tensor.density > 0 && tensor.density <= 1))
                item.child("density").fail("a share of rows is more than 0 and at most 1");
            tensor.segment = static_cast<int>(item.integer("segment", 0, 1 << 20));
            tensor.gradientOf = static_cast<TensorId>(item.integer("gradient_of", kNoTensor, 1 << 20));
            tensor.again = static_cast<TensorId>(item.integer("again", kNoTensor, 1 << 20));
            JsonReader fill = item.child("fill");
            tensor.fill = { fill.number("mean"), fill.number("deviation") };
            graph().tensors.push_back(std::move(tensor));
            if (!m_root.ok())
                return;
        }
        if (m_root.ok())
            for (JsonReader& item : m_root.items("layouts")) {
                if (plan().layouts.size() == graph().tensors.size())
                    return item.fail("there are more layouts than tensors");
                plan().layouts.push_back(layout(item, static_cast<TensorId>(plan().layouts.size())));
            }
        if (m_root.ok() && plan().layouts.size() != graph().tensors.size())
            m_root.child("layouts").fail("there are fewer layouts than tensors");
    }

    void readSegments()
    {
        if (!m_root.ok())
            return;
        const std::size_t tensors = graph().tensors.size();
        for (JsonReader& item : m_root.items("segments")) {
            Segment segment;
            segment.name = item.text("name");
            segment.firstLayer = item.integer("first_layer", 0, kMost);
            segment.count = item.integer("count", 1, kMost);
            segment.isLayer = item.boolean("is_layer");
            segment.carryIn = index(item, "carry_in", tensors, true);
            segment.carryOut = index(item, "carry_out", tensors, true);
            segment.phase = phase(item);
            segment.of = static_cast<int>(item.integer("of", -1, static_cast<std::int64_t>(graph().segments.size()) - 1));
            graph().segments.push_back(std::move(segment));
        }
    }

    void readPlannedSegments()
    {
        if (!m_root.ok())
            return;
        for (JsonReader& item : m_root.items("layers")) {
            PlannedSegment segment;
            segment.name = item.text("name");
            segment.count = item.integer("count", 1, kMost);
            segment.firstLayer = item.integer("first_layer", 0, kMost);
            segment.segment = index(item, "segment", graph().segments.size());
            segment.phase = phase(item);
            segment.statistics = item.integer("kept_statistics", 0);
            for (JsonReader& kept : item.items("kept")) {
                const TensorId tensor = index(kept, "tensor_id", graph().tensors.size());
                if (!m_root.ok())
                    return;
                segment.kept.push_back({ tensor, layout(kept.child("spec"), tensor) });
            }
            plan().segments.push_back(std::move(segment));
        }
    }

    void readCollectives()
    {
        if (!m_root.ok())
            return;
        for (JsonReader& item : m_root.items("collectives")) {
            Collective collective;
            collective.id = item.text("id");
            const auto kind = collectiveFromName(item.text("kind"));
            if (!kind)
                item.child("kind").fail("unknown collective");
            collective.kind = kind.value_or(CollectiveKind::AllReduce);
            for (JsonReader& name : item.items("axes")) {
                collective.axes.push_back(plan().mesh.find(name.asText()));
                if (collective.axes.back() < 0)
                    name.fail("the mesh has no such axis");
            }
            collective.tensor = index(item, "tensor_id", graph().tensors.size());
            collective.plannedSegment = index(item, "planned_segment", plan().segments.size());
            collective.bytes = item.integer("bytes", 0);
            collective.count = item.integer("count", 1);
            collective.seconds = item.number("seconds");
            item.readText("algorithm", collective.algorithm);
            item.readText("link", collective.link);
            if (!m_root.ok())
                return;
            collective.groupSize = plan().mesh.groupSize(collective.axes);
            collective.step = { collective.kind, collective.axes, layout(item.child("from"), collective.tensor),
                                layout(item.child("to"), collective.tensor) };
            JsonReader cause = item.child("cause");
            collective.cause = cause.text("brief");
            collective.reason = cause.text("reason");
            plan().collectives.push_back(std::move(collective));
        }
    }

    void readOperations()
    {
        if (!m_root.ok())
            return;
        for (JsonReader& item : m_root.items("operations")) {
            const std::size_t opId = static_cast<std::size_t>(item.integer("op_id", 0, 1 << 20));
            const int segment = index(item, "planned_segment", plan().segments.size());
            if (!m_root.ok())
                return;
            PlannedOp planned;
            planned.op = static_cast<OpId>(opId);
            planned.count = item.integer("count", 1);
            readWork(item, planned.work);
            planned.seconds = item.number("seconds");
            if (graph().ops.size() <= opId)
                graph().ops.resize(opId + 1);
            Op op = readOp(item, planned);
            if (!m_root.ok())
                return;
            auto& ops = graph().segments[static_cast<std::size_t>(plan().segments[static_cast<std::size_t>(segment)].segment)].ops;
            if (std::find(ops.begin(), ops.end(), planned.op) == ops.end())
                ops.push_back(planned.op);
            graph().ops[opId] = std::move(op);
            plan().segments[static_cast<std::size_t>(segment)].ops.push_back(std::move(planned));
        }
    }

    /// Running a plan needs none of it, so a plan may lack all but the FLOPs.
    static void readWork(JsonReader& item, KernelWork& work)
    {
        work.flops = item.number("flops");
        if (!item.has("work"))
            return;
        JsonReader from = item.child("work");
        const auto kernel = kernelClassFromName(from.text("kernel"));
        const auto dtype = dtypeFromName(from.text("dtype"));
        if (!kernel)
            from.child("kernel").fail("unknown class of kernels");
        if (!dtype)
            from.child("dtype").fail("unknown dtype");
        work.kernel = kernel.value_or(KernelClass::None);
        work.dtype = dtype.value_or(DType::BF16);
        from.readNumber("bytes", work.bytes);
        if (!from.has("gemm"))
            return;
        JsonReader gemm = from.child("gemm");
        work.gemm = { gemm.number("b"), gemm.number("m"), gemm.number("n"), gemm.number("k") };
    }

    static void readAttribute(JsonReader& reader, const char* key, bool& value) { reader.readBoolean(key, value); }
    static void readAttribute(JsonReader& reader, const char* key, double& value) { reader.readNumber(key, value); }
    static void readAttribute(JsonReader& reader, const char* key, std::int64_t& value)
    {
        if (reader.has(key))
            value = reader.integer(key, 0, kMost);
    }

    Op readOp(JsonReader item, PlannedOp& planned)
    {
        Op op;
        op.name = item.text("name");
        const auto kind = opKindFromName(item.text("op"));
        if (!kind)
            item.child("op").fail("unknown operation");
        op.kind = kind.value_or(OpKind::Add);
        JsonReader attributes = item.child("attributes");
        visitAttributes(op.attributes, [&](const char* key, auto& value, const auto&) { readAttribute(attributes, key, value); });
        for (JsonReader& operand : item.items("operands")) {
            OperandUse use;
            use.tensor = index(operand, "tensor_id", graph().tensors.size());
            if (!m_root.ok())
                return op;
            use.before = layout(operand.child("before"), use.tensor);
            use.layout = layout(operand.child("spec"), use.tensor);
            use.replaces = operand.boolean("replaces");
            for (JsonReader& collective : operand.items("collectives"))
                use.collectives.push_back(
                    static_cast<int>(collective.asInteger(0, static_cast<std::int64_t>(plan().collectives.size()) - 1)));
            op.operands.push_back(use.tensor);
            planned.operands.push_back(std::move(use));
        }
        JsonReader result = item.child("result");
        op.result = index(result, "tensor_id", graph().tensors.size());
        if (m_root.ok())
            planned.result = layout(result.child("spec"), op.result);
        return op;
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
                    for (const int id : use.collectives) {
                        Collective& collective = plan().collectives[static_cast<std::size_t>(id)];
                        const bool chained = collective.tensor == use.tensor && collective.step.before == *now;
                        const bool again = listed[static_cast<std::size_t>(id)];
                        const bool ring = collective.kind == CollectiveKind::SendRecv && collective.step.after == use.layout;
                        if ((again && !ring) || !chained)
                            return m_root.fail("collective " + collective.id + " does not fit the operand that lists it");
                        if (again)
                            continue;
                        listed[static_cast<std::size_t>(id)] = true;
                        collective.op = op.op;
                        collective.operand = static_cast<int>(i);
                        now = &collective.step.after;
                    }
                    if (!(*now == use.layout))
                        return m_root.fail("the steps of operand " + std::to_string(i) + " of " + graph().op(op.op).name
                                           + " do not lead to the layout in which it is taken");
                }
        if (std::find(listed.begin(), listed.end(), false) != listed.end())
            m_root.fail("a collective is wanted by no operation");
    }

    JsonReader m_root;
    Program m_program;
};

} // namespace

Result<Program> planFromJson(const nlohmann::json& document) { return PlanReader(document).read(); }

} // namespace shardboard

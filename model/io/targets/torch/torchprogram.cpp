// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/torch/torchprogram.h"

#include "model/io/exports/leftout.h"
#include "model/io/exports/moduleflow.h"
#include "model/io/exports/pythontext.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace shardboard {

namespace {

bool isCut(const Layout& layout, int axis)
{
    return std::ranges::any_of(layout.dims, [&](const auto& axes) {
        return std::ranges::any_of(axes, [&](const AxisRef& ref) { return ref.axis == axis; });
    });
}

bool isCutOn(const Layout& layout, std::size_t dim, int axis)
{
    return dim < layout.dims.size() && std::ranges::any_of(layout.dims[dim], [&](const AxisRef& ref) { return ref.axis == axis; });
}

/// What the forward pass says of the mesh axes.
struct Uses {
    std::set<int> gathered; ///< weights are whole over it where they are used, and cut where they lie
    std::set<int> inParts; ///< weights are cut where they are used
    std::set<int> sequence; ///< an activation that a linear takes arrives cut on its sequence
    bool experts = false;
    bool otherAttention = false; ///< keys and values are not gathered but come in another way
    /// Of layers: by operation and the mesh axes that cut its weight the layers.
    std::map<std::pair<std::string, std::vector<bool>>, std::set<std::int64_t>> linears;
    std::set<int> inside; ///< something else is moved inside a layer than what norms, linears and sums of the stream take
};

bool isOfStream(OpKind kind)
{
    constexpr std::array kOfStream { OpKind::Linear, OpKind::Add, OpKind::RmsNorm, OpKind::LayerNorm };
    return std::ranges::count(kOfStream, kind) > 0;
}

void addOperand(const Graph& graph, const PlannedOp& planned, const OperandUse& use, int axes, Uses& uses)
{
    const bool weight = graph.tensor(use.tensor).role == TensorRole::Weight;
    for (int axis = 0; axis < axes; ++axis) {
        if (weight && isCut(use.layout, axis))
            uses.inParts.insert(axis);
        else if (weight && isCut(use.before, axis))
            uses.gathered.insert(axis);
        else if (!weight && graph.op(planned.op).kind == OpKind::Linear && isCutOn(use.before, 1, axis))
            uses.sequence.insert(axis);
    }
}

Uses usesOf(const Evaluation& evaluation, int contextAxis)
{
    const Plan& plan = evaluation.plan;
    Uses uses;
    for (const PlannedSegment& segment : plan.segments)
        for (const PlannedOp& planned : segment.ops) {
            if (segment.phase != Phase::Forward)
                continue;
            const OpKind kind = evaluation.graph.op(planned.op).kind;
            const bool layers = evaluation.graph.segment(segment.segment).isLayer;
            const bool attends = kind == OpKind::Attention || kind == OpKind::SinkAttention;
            uses.experts = uses.experts || kind == OpKind::Dispatch;
            for (const OperandUse& use : planned.operands) {
                addOperand(evaluation.graph, planned, use, plan.mesh.axisCount(), uses);
                if (layers && kind == OpKind::Linear && evaluation.graph.tensor(use.tensor).role == TensorRole::Weight
                    && use.layout.dims.size() == 2) {
                    std::vector<bool> cut;
                    for (int axis = 0; axis < plan.mesh.axisCount(); ++axis)
                        cut.push_back(isCut(use.layout, axis));
                    std::set<std::int64_t>& in = uses.linears[{ evaluation.graph.op(planned.op).name, cut }];
                    for (std::int64_t i = 0; i < segment.count; ++i)
                        in.insert(segment.firstLayer + i);
                }
                for (const CollectiveId id : use.collectives) {
                    const Collective& collective = plan.collective(id);
                    if (attends && collective.kind != CollectiveKind::AllGather
                        && std::ranges::count(collective.axes, contextAxis) > 0)
                        uses.otherAttention = true;
                    if (layers && !isOfStream(kind) && collective.kind != CollectiveKind::LocalSlice)
                        uses.inside.insert(collective.axes.begin(), collective.axes.end());
                }
            }
        }
    return uses;
}

/// Mesh axes of a dim of the input.
std::vector<int> inputAxes(const Evaluation& evaluation, std::size_t dim)
{
    std::vector<int> out;
    for (const WeightLayout& input : evaluation.weights)
        if (input.spec.role != TensorRole::Weight && input.spec.name == "tokens" && dim < input.layout.dims.size())
            for (const AxisRef& ref : input.layout.dims[dim])
                out.push_back(ref.axis);
    return out;
}

std::string namesCode(const std::vector<int>& axes, const Mesh& mesh)
{
    std::string text = "(";
    for (const int axis : axes)
        text += pythonLiteral(mesh.axis(axis).name) + ", ";
    if (axes.size() > 1)
        text.resize(text.size() - 2);
    else if (axes.size() == 1)
        text.pop_back();
    return text + ")";
}

std::string nameCode(int axis, const Mesh& mesh) { return axis < 0 ? "None" : pythonLiteral(mesh.axis(axis).name); }

/// `(layers 1 and 5)` of those that are not all.
std::string layersText(const std::set<std::int64_t>& layers, std::int64_t all)
{
    constexpr std::size_t kMostNamed = 4;
    if (static_cast<std::int64_t>(layers.size()) == all)
        return {};
    if (layers.size() > kMostNamed)
        return " (" + std::to_string(layers.size()) + " layers)";
    std::string text;
    for (const std::int64_t layer : layers)
        text += (text.empty() ? "" : ", ") + std::to_string(layer);
    return (layers.size() == 1 ? " (layer " : " (layers ") + text + ")";
}

/// Why its modules are no pairs of column and row parallel ones, which is what torch has styles for.
void addModules(const Evaluation& evaluation, const Uses& uses, TorchProgram& program)
{
    std::string whole;
    std::set<std::int64_t> layers;
    for (const auto& [linear, in] : uses.linears)
        layers.insert(in.begin(), in.end());
    for (const auto& [linear, in] : uses.linears)
        if (!linear.second[static_cast<std::size_t>(program.tensorAxis)])
            whole += (whole.empty() ? "" : ", ") + linear.first + layersText(in, static_cast<std::int64_t>(layers.size()));
    if (!whole.empty()) {
        program.notRun.push_back("the weights of " + whole + " are whole where others are used in parts");
        return;
    }
    const auto isCutHead = [&](const WeightLayout& weight) {
        return weight.spec.name.starts_with("lm_head.") && isCutOn(weight.layout, 1, program.tensorAxis);
    };
    const auto partsOf = [&](const WeightLayout& weight) {
        return ModuleParts { .takes = isCutOn(weight.layout, 1, program.tensorAxis) && !isCutHead(weight),
                             .gives = isCutOn(weight.layout, 0, program.tensorAxis) };
    };
    for (const ExportRefusal& refusal : flowRefusals(evaluation, "torch", partsOf)) {
        program.notRun.push_back("no style of torch runs " + refusal.error.where + " so: " + refusal.error.what);
        return;
    }
    if (std::ranges::any_of(evaluation.weights, isCutHead))
        program.notRun.push_back("the head is cut on its hidden dim, for which torch has no style that takes the whole stream");
}

} // namespace

TorchProgram torchProgram(const Design& design, const Evaluation& evaluation)
{
    TorchProgram program;
    const Mesh& mesh = design.mesh;
    if (evaluation.plan.segments.empty())
        program.notRun.push_back("its model is a list of weights, without operations");
    const std::vector<int> context = inputAxes(evaluation, 1);
    if (context.size() > 1)
        program.notRun.push_back("the sequence is cut over several mesh axes");
    program.contextAxis = context.empty() ? -1 : context.front();
    const Uses uses = usesOf(evaluation, program.contextAxis);
    if (uses.inParts.size() > 1)
        program.notRun.push_back("weights are used in parts over several mesh axes");
    if (uses.experts)
        program.notRun.push_back("experts: their layers are fused in other ways in every library");
    if (uses.otherAttention)
        program.notRun.push_back("attention over parts of the sequence does not gather keys and values (a ring is torch's "
                                 "experimental context_parallel, for GPUs alone)");
    program.tensorAxis = uses.inParts.empty() ? -1 : *uses.inParts.begin();
    if (program.tensorAxis >= 0 && uses.inside.contains(program.tensorAxis) && !uses.experts)
        program.notRun.push_back("values are moved inside attention or MLP over the mesh axis of their weights (heads that it does "
                                 "not divide, say)");
    if (program.tensorAxis >= 0 && !uses.experts)
        addModules(evaluation, uses, program);
    program.sequenceParallel = uses.sequence.contains(program.tensorAxis);
    for (const int axis : uses.gathered)
        if (uses.inParts.contains(axis))
            program.notRun.push_back("weights are gathered over the same mesh axis over which others are used in parts");
        else
            program.gatheredAxes.push_back(axis);
    std::vector<int> data = inputAxes(evaluation, 0);
    data.insert(data.end(), context.begin(), context.end());
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        if (std::ranges::count(data, axis) > 0 && !uses.gathered.contains(axis))
            program.summedAxes.push_back(axis);
    for (const int axis : uses.gathered)
        if (std::ranges::count(data, axis) == 0)
            program.notRun.push_back("weights are gathered over a mesh axis over which neither batch nor sequence is cut");
    return program;
}

bool recomputesSelectively(const Workload& workload) { return workload.recompute == Recompute::ByOp && workload.recomputesInAll(); }

std::string programCode(const Design& design, const TorchProgram& program, bool keepsGathered)
{
    const Mesh& mesh = design.mesh;
    const bool training = design.workload.kind == WorkloadKind::Train;
    std::string text = "# What the mesh axes are for in the plan's program.\n";
    text += "TENSOR_AXIS = " + nameCode(program.tensorAxis, mesh) + "  # over which weights are used in parts\n";
    text += std::string("SEQUENCE_PARALLEL = ") + (program.sequenceParallel ? "True" : "False")
        + "  # between them activations are cut on the sequence\n";
    text += "CONTEXT_AXIS = " + nameCode(program.contextAxis, mesh) + "  # every device has a part of the sequence\n";
    text +=
        "GATHERED_AXES = " + namesCode(program.gatheredAxes, mesh) + "  # over which weights are gathered where they are used\n";
    text += "SUMMED_AXES = " + namesCode(program.summedAxes, mesh) + "  # over which copies of weights sum their gradients\n";
    Recompute recompute = training && isPlainRecompute(design.workload) ? design.workload.recompute : Recompute::None;
    if (training && recomputesSelectively(design.workload))
        recompute = Recompute::Selective;
    text += "RECOMPUTE = " + pythonLiteral(recomputeName(recompute)) + "\n";
    text += std::string("RESHARD_AFTER_FORWARD = ") + (keepsGathered ? "False" : "True")
        + "  # gathered weights of layers are given back\n";
    text += "NOT_RUN = (";
    for (const std::string& reason : program.notRun)
        text += "\n    " + pythonLiteral(reason) + ",";
    return text + (program.notRun.empty() ? ")\n\n" : "\n)\n\n");
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/planjson.h"

#include "model/plan/buildplan.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardboard {

using nlohmann::json;

namespace {

const char* roleName(TensorRole role)
{
    switch (role) {
    case TensorRole::Weight:
        return "weight";
    case TensorRole::Input:
        return "input";
    case TensorRole::Activation:
        return "activation";
    case TensorRole::KvCache:
        return "kv_cache";
    }
    return "activation";
}

std::vector<std::string> axisNames(const std::vector<int>& axes, const Mesh& mesh)
{
    std::vector<std::string> names;
    for (const int axis : axes)
        names.push_back(mesh.axis(axis).name);
    return names;
}

json meshJson(const Mesh& mesh)
{
    json axes = json::array();
    json sizes = json::array();
    for (const MeshAxis& axis : mesh.axes()) {
        axes.push_back(axis.name);
        sizes.push_back(axis.size);
    }
    json out { { "axes", axes }, { "sizes", sizes } };
    if (!mesh.deviceIds().empty())
        out["device_ids"] = mesh.deviceIds();
    return out;
}

json tensorsJson(const Graph& graph)
{
    json out = json::array();
    for (const GraphTensor& tensor : graph.tensors)
        out.push_back({ { "name", tensor.spec.name },
                        { "shape", tensor.spec.shape },
                        { "dtype", dtypeName(tensor.spec.dtype) },
                        { "role", roleName(tensor.spec.role) },
                        { "dims", tensor.spec.dimLabels },
                        { "segment", tensor.segment },
                        { "copies", tensor.copies },
                        { "pieces", tensor.pieces },
                        { "density", tensor.density },
                        { "gradient_of", tensor.gradientOf },
                        { "again", tensor.again },
                        { "fill", { { "mean", tensor.fill.mean }, { "deviation", tensor.fill.deviation } } } });
    return out;
}

json segmentsJson(const Graph& graph)
{
    json out = json::array();
    for (const Segment& segment : graph.segments)
        out.push_back({ { "name", segment.name },
                        { "first_layer", segment.firstLayer },
                        { "count", segment.count },
                        { "is_layer", segment.isLayer },
                        { "carry_in", segment.carryIn },
                        { "carry_out", segment.carryOut },
                        { "phase", phaseName(segment.phase) },
                        { "of", segment.of } });
    return out;
}

json attributesJson(const OpAttributes& attributes)
{
    json out = json::object();
    visitAttributes(attributes, [&](const char* key, const auto& value, const auto& usual) {
        if (value != usual)
            out[key] = value;
    });
    return out;
}

json workJson(const KernelWork& work)
{
    json out { { "kernel", kernelClassName(work.kernel) }, { "dtype", dtypeName(work.dtype) }, { "bytes", work.bytes } };
    if (work.kernel == KernelClass::Gemm)
        out["gemm"] = { { "b", work.gemm.b }, { "m", work.gemm.m }, { "n", work.gemm.n }, { "k", work.gemm.k } };
    return out;
}

json operationJson(const Graph& graph, const Plan& plan, std::size_t plannedSegment, const PlannedOp& planned)
{
    const Op& op = graph.op(planned.op);
    const PlannedSegment& segment = plan.segments[plannedSegment];
    json operands = json::array();
    for (const OperandUse& use : planned.operands)
        operands.push_back({ { "tensor", graph.tensor(use.tensor).name },
                             { "tensor_id", use.tensor },
                             { "before", specText(use.before, plan.mesh) },
                             { "spec", specText(use.layout, plan.mesh) },
                             { "collectives", use.collectives },
                             { "replaces", use.replaces } });
    return { { "id", segment.name + "/" + op.name },
             { "layer", segment.name },
             { "planned_segment", plannedSegment },
             { "phase", phaseName(segment.phase) },
             { "op", opKindName(op.kind) },
             { "name", op.name },
             { "op_id", planned.op },
             { "attributes", attributesJson(op.attributes) },
             { "operands", operands },
             { "result",
               { { "tensor", graph.tensor(op.result).name },
                 { "tensor_id", op.result },
                 { "spec", specText(planned.result, plan.mesh) } } },
             { "count", planned.count },
             { "flops", planned.work.flops },
             { "seconds", planned.seconds },
             { "work", workJson(planned.work) } };
}

json collectiveJson(const Graph& graph, const Plan& plan, const Collective& collective)
{
    const PlannedSegment& segment = plan.segments[static_cast<std::size_t>(collective.plannedSegment)];
    return { { "id", collective.id },
             { "layer", segment.name },
             { "phase", phaseName(segment.phase) },
             { "kind", collectiveName(collective.kind) },
             { "axes", axisNames(collective.axes, plan.mesh) },
             { "group_size", collective.groupSize },
             { "groups", plan.mesh.deviceCount() / std::max<std::int64_t>(1, collective.groupSize) },
             { "tensor", graph.tensor(collective.tensor).name },
             { "tensor_id", collective.tensor },
             { "from", specText(collective.step.before, plan.mesh) },
             { "to", specText(collective.step.after, plan.mesh) },
             { "bytes", collective.bytes },
             { "count", collective.count },
             { "seconds", collective.seconds },
             { "algorithm", collective.algorithm },
             { "link", collective.link },
             { "planned_segment", collective.plannedSegment },
             { "cause",
               { { "op", segment.name + "/" + graph.op(collective.op).name },
                 { "op_id", collective.op },
                 { "operand", collective.operand },
                 { "brief", collective.cause },
                 { "reason", collective.reason } } } };
}

json memoryJson(const MemoryByCause& memory)
{
    json causes = json::object();
    for (const MemoryCause& cause : memoryCauses())
        causes[cause.key] = memory.*cause.bytes;
    causes["kept_activations"] = memory.kept; // part of the activations
    return { { "peak_bytes_per_device", memory.peak }, { "peak_at", memory.peakAt }, { "by_cause", causes } };
}

} // namespace

json planToJson(const Graph& graph, const Plan& plan)
{
    json layers = json::array();
    json operations = json::array();
    for (std::size_t i = 0; i < plan.segments.size(); ++i) {
        const PlannedSegment& segment = plan.segments[i];
        json kept = json::array();
        json recomputed = json::array();
        for (const std::string& name : recomputedIn(graph, segment))
            recomputed.push_back(name);
        for (const Kept& k : segment.kept)
            kept.push_back({ { "tensor_id", k.tensor }, { "spec", specText(k.layout, plan.mesh) } });
        layers.push_back({ { "name", segment.name },
                           { "count", segment.count },
                           { "first_layer", segment.firstLayer },
                           { "segment", segment.segment },
                           { "phase", phaseName(segment.phase) },
                           { "kept", kept },
                           { "kept_statistics", segment.statistics },
                           { "recomputed", recomputed } });
        for (const PlannedOp& op : segment.ops)
            operations.push_back(operationJson(graph, plan, i, op));
    }
    json collectives = json::array();
    for (const Collective& collective : plan.collectives)
        collectives.push_back(collectiveJson(graph, plan, collective));
    json layouts = json::array();
    for (std::size_t i = 0; i < graph.tensors.size(); ++i)
        layouts.push_back(specText(plan.layouts[i], plan.mesh));
    json document { { "format", "shardboard-plan" },
                    { "version", 1 },
                    { "mesh", meshJson(plan.mesh) },
                    { "micro_batches", plan.microBatches },
                    { "layers", layers },
                    { "segments", segmentsJson(graph) },
                    { "tensors", tensorsJson(graph) },
                    { "layouts", layouts },
                    { "operations", operations },
                    { "collectives", collectives },
                    { "memory", memoryJson(plan.memory) },
                    { "totals",
                      { { "seconds", plan.seconds() },
                        { "compute_seconds", plan.computeSeconds },
                        { "collective_seconds", plan.collectiveSeconds },
                        { "exposed_collective_seconds", plan.exposedSeconds },
                        { "collective_bytes", plan.collectiveBytes() },
                        { "tokens", plan.performance.tokens },
                        { "model_flops", plan.performance.modelFlops },
                        { "tokens_per_second_per_device", plan.performance.tokensPerSecondPerDevice },
                        { "mfu", plan.performance.mfu },
                        { "hfu", plan.performance.hfu } } } };
    if (plan.pipeline) {
        const PlannedPipeline& pipeline = *plan.pipeline;
        document["pipeline"] = { { "axis", plan.mesh.axis(pipeline.axis).name },
                                 { "stages", pipeline.stages },
                                 { "chunks", pipeline.chunks },
                                 { "schedule", pipeline.chunks > 1 ? "interleaved" : "1f1b" },
                                 { "layers", pipeline.layers },
                                 { "bubble", pipeline.bubble },
                                 // totals.seconds = stage_seconds + bubble_seconds + update_seconds; bubble_seconds =
                                 // bubble x (stage_seconds - end_seconds) + other_end_seconds
                                 { "stage_seconds", pipeline.stageSeconds },
                                 { "end_seconds", pipeline.endSeconds },
                                 { "other_end_seconds", pipeline.otherEndSeconds },
                                 { "bubble_seconds", pipeline.bubbleSeconds() },
                                 { "update_seconds", pipeline.updateSeconds } };
        for (const MemoryByCause& stage : pipeline.memory)
            document["pipeline"]["memory"].push_back(memoryJson(stage));
        document["pipeline"]["fullest_stage"] = pipeline.fullestStage;
    }
    return document;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/planjson.h"

#include "model/io/json/meshjson.h"
#include "model/io/wire/planmembers.h"
#include "model/plan/hostcopies.h"
#include "model/plan/pipeline.h"
#include "model/text/names.h"

#include <algorithm>

namespace shardboard {

using nlohmann::json;

namespace {

std::vector<std::string> axisNames(const std::vector<int>& axes, const Mesh& mesh)
{
    std::vector<std::string> names;
    for (const int axis : axes)
        names.push_back(mesh.axis(axis).name);
    return names;
}

json memoryJson(const MemoryByCause& memory)
{
    json causes = json::object();
    for (const MemoryCause& cause : memoryCauses())
        causes[cause.key] = memory.*cause.bytes;
    causes["kept_activations"] = memory.kept; // part of the activations
    return { { "peak_bytes_per_device", memory.peak },
             { "least_bytes_per_device", memory.least },
             { "most_bytes_per_device", memory.most },
             { "host_bytes_per_device", memory.host },
             { "peak_at", memory.peakAt },
             { "by_cause", causes } };
}

using PlanWriter = PlanMembers<JsonMembersWriter, const Graph, const Plan>;

json operationJson(const Graph& graph, const Plan& plan, std::size_t plannedSegment, const PlannedOp& planned)
{
    const Op& op = graph.op(planned.op);
    const PlannedSegment& segment = plan.segments[plannedSegment];
    json out = json::object();
    JsonMembersWriter each(out);
    PlanWriter(graph, plan).operation(each, op, planned);
    out["id"] = segment.name + "/" + op.name;
    out["layer"] = segment.name;
    out["planned_segment"] = plannedSegment;
    out["phase"] = phaseName(segment.phase);
    out["op_id"] = planned.op.number();
    return out;
}

void collectiveJson(JsonMembersWriter& each, const Graph& graph, const Plan& plan, const Collective& collective)
{
    const PlannedSegment& segment = plan.segment(collective.plannedSegment);
    PlanWriter(graph, plan).collective(each, collective);
    json& out = each.out();
    out["layer"] = segment.name;
    out["phase"] = phaseName(segment.phase);
    out["axes"] = axisNames(collective.axes, plan.mesh);
    out["group_size"] = collective.groupSize;
    out["groups"] = plan.mesh.deviceCount() / std::max<std::int64_t>(1, collective.groupSize);
    out["tensor"] = graph.tensor(collective.tensor).name;
}

json pipelineJson(const Graph& graph, const Plan& plan)
{
    const PlannedPipeline& pipeline = *plan.pipeline;
    json out = json::object();
    JsonMembersWriter each(out);
    PlanWriter(graph, plan).pipeline(each, pipeline);
    out["stages"] = pipeline.stages;
    const bool plain = pipeline.schedule == PipelineSchedule::OneForwardOneBackward;
    out["schedule"] = plain && pipeline.chunks > 1 ? "interleaved" : scheduleName(pipeline.schedule);
    out["bubble_seconds"] = pipeline.bubbleSeconds();
    for (const MemoryByCause& stage : pipeline.memory)
        out["memory"].push_back(memoryJson(stage));
    out["fullest_stage"] = pipeline.fullestStage;
    return out;
}

} // namespace

std::string roleName(TensorRole role)
{
    constexpr std::array kNames { "weight", "input", "activation", "kv_cache" };
    return nameIn(kNames, role);
}

std::optional<TensorRole> roleFromName(std::string_view name)
{
    for (const TensorRole role : { TensorRole::Weight, TensorRole::Input, TensorRole::Activation, TensorRole::KvCache })
        if (name == roleName(role))
            return role;
    return std::nullopt;
}

json planToJson(const Graph& graph, const Plan& plan)
{
    const PlanWriter members(graph, plan);
    json operations = json::array();
    for (std::size_t i = 0; i < plan.segments.size(); ++i)
        for (const PlannedOp& op : plan.segments[i].ops)
            operations.push_back(operationJson(graph, plan, i, op));
    json layouts = json::array();
    for (std::size_t i = 0; i < graph.tensors.size(); ++i)
        layouts.push_back(specText(plan.layouts[i], plan.mesh));
    json document { { "format", "shardboard-plan" },
                    { "version", 1 },
                    { "micro_batches", plan.microBatches },
                    { "totals",
                      { { "seconds", plan.seconds() },
                        { "compute_seconds", plan.computeSeconds },
                        { "collective_seconds", plan.collectiveSeconds },
                        { "exposed_collective_seconds", plan.exposedSeconds },
                        { "collective_bytes", plan.collectiveBytes() },
                        { "device",
                          { { "compute_seconds", plan.device.compute },
                            { "collective_seconds", collectiveSecondsAlone(graph, plan) },
                            { "exposed_collective_seconds", plan.device.exposed },
                            { "bubble_seconds", plan.device.bubble },
                            { "collective_bytes", collectiveBytesOfDevice(graph, plan) } } },
                        { "tokens", plan.performance.tokens },
                        { "model_flops", plan.performance.modelFlops },
                        { "tokens_per_second_per_device", plan.performance.tokensPerSecondPerDevice },
                        { "mfu", plan.performance.mfu },
                        { "hfu", plan.performance.hfu } } } };
    if (const double host = hostCopySeconds(graph, plan); host > 0)
        document["totals"]["device"]["host_seconds"] = host;
    JsonMembersWriter each(document);
    each.list("layers", plan.segments, [&](JsonMembersWriter& inner, const PlannedSegment& segment) {
        members.plannedSegment(inner, segment);
        inner.out()["recomputed"] = recomputedIn(graph, segment);
        if (segment.host.count > 0)
            inner.out()["host"] = { { "offloaded", offloadName(segment.offload) },
                                    { "to_host_bytes", segment.host.toHost },
                                    { "to_device_bytes", segment.host.toDevice },
                                    { "count", segment.host.count },
                                    { "seconds", segment.host.seconds } };
    });
    each.list("segments", graph.segments, [&](auto& inner, const Segment& segment) { members.segment(inner, segment); });
    each.list("tensors", graph.tensors, [&](auto& inner, const GraphTensor& tensor) { members.tensor(inner, tensor); });
    each.list("collectives", plan.collectives,
              [&](auto& inner, const Collective& collective) { collectiveJson(inner, graph, plan, collective); });
    document["mesh"] = meshJson(plan.mesh);
    document["layouts"] = std::move(layouts);
    document["operations"] = std::move(operations);
    document["memory"] = memoryJson(plan.memory);
    if (plan.pipeline)
        document["pipeline"] = pipelineJson(graph, plan);
    return document;
}

} // namespace shardboard

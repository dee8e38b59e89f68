// SPDX-License-Identifier: Apache-2.0
#include "model/plan/pipeline.h"

#include "model/cost/collectivetime.h"
#include "model/plan/buildplan.h"

#include <algorithm>

namespace shardboard {

namespace {

const Segment& segmentOf(const Graph& graph, const PlannedSegment& planned)
{
    return graph.segments[static_cast<std::size_t>(planned.segment)];
}

/// One send for each micro-batch at each border between runs of layers: p v - 1 of them.
void addSends(const Graph& graph, const Hardware& hardware, Plan& plan)
{
    const PlannedPipeline& pipeline = *plan.pipeline;
    const std::int64_t borders = pipeline.stages * pipeline.chunks - 1;
    for (const Phase phase : { Phase::Forward, Phase::Backward }) {
        for (std::size_t s = 0; s < plan.segments.size(); ++s) {
            PlannedSegment& planned = plan.segments[s];
            const Segment& segment = segmentOf(graph, planned);
            if (planned.phase != phase || !segment.isLayer || segment.carryIn == kNoTensor || planned.ops.empty())
                continue;
            for (PlannedOp& op : planned.ops) {
                const auto use = std::find_if(op.operands.begin(), op.operands.end(),
                                              [&](const OperandUse& u) { return u.tensor == segment.carryIn; });
                if (use == op.operands.end())
                    continue;
                const TensorSpec& spec = graph.tensor(segment.carryIn);
                Collective send;
                send.kind = CollectiveKind::SendRecv;
                send.axes = { pipeline.axis };
                send.groupSize = pipeline.stages;
                send.tensor = segment.carryIn;
                send.step = { CollectiveKind::SendRecv, send.axes, use->before, use->before };
                send.bytes = bytesOf(largestShard(spec.shape, use->before, plan.mesh), spec.dtype);
                send.count = borders * plan.microBatches;
                send.seconds = collectiveSeconds(send.kind, send.bytes, 2, linkOf(send.axes, plan.mesh, hardware));
                send.plannedSegment = static_cast<int>(s);
                send.op = op.op;
                send.operand = static_cast<int>(use - op.operands.begin());
                send.id = planned.name + "/" + spec.name + "/to the next stage" + (phase == Phase::Backward ? ", backward" : "");
                send.cause = spec.name + " goes to the next stage";
                send.reason = "the layers lie on " + std::to_string(pipeline.stages) + " stages over " + plan.mesh.axis(pipeline.axis).name
                    + (pipeline.chunks > 1 ? ", " + std::to_string(pipeline.chunks) + " runs of layers on each" : std::string())
                    + ": what leaves one goes to the next";
                use->collectives.insert(use->collectives.begin(), static_cast<int>(plan.collectives.size()));
                plan.collectives.push_back(std::move(send));
                break;
            }
            break; // the borders are counted once, however many kinds of layers there are
        }
    }
}

} // namespace

double stageShare(const PlannedPipeline& pipeline)
{
    return static_cast<double>((pipeline.layers + pipeline.stages - 1) / pipeline.stages) / static_cast<double>(pipeline.layers);
}

double stagesKept(const PlannedPipeline& pipeline, std::int64_t microBatches)
{
    const double stages = static_cast<double>(pipeline.stages);
    const double chunks = static_cast<double>(pipeline.chunks);
    const double kept = pipeline.chunks > 1 ? stages * (1 + (stages - 1) / (stages * chunks)) : stages;
    return std::min(kept, static_cast<double>(microBatches));
}

Result<PlannedPipeline> plannedPipeline(const PipelineSpec& spec, const Graph& graph, const Mesh& mesh, std::int64_t microBatches)
{
    PlannedPipeline pipeline;
    pipeline.axis = mesh.find(spec.axis);
    if (pipeline.axis < 0)
        return inputError("pipeline", "the mesh " + mesh.text() + " has no axis '" + spec.axis + "' for the stages", "use one that it has");
    pipeline.stages = mesh.axis(pipeline.axis).size;
    pipeline.chunks = spec.chunks;
    for (const Segment& segment : graph.segments)
        if (segment.isLayer && segment.phase == Phase::Forward)
            pipeline.layers += segment.count;
    if (pipeline.chunks < 1 || pipeline.layers < pipeline.stages * pipeline.chunks)
        return inputError("pipeline", std::to_string(pipeline.layers) + " layers cannot be cut into " + std::to_string(pipeline.stages)
                              + " stages of " + std::to_string(pipeline.chunks) + " runs",
                          "use fewer stages or chunks");
    if (pipeline.chunks > 1 && microBatches % pipeline.stages != 0)
        return inputError("pipeline", "the interleaved schedule needs micro-batches in multiples of its " + std::to_string(pipeline.stages)
                              + " stages, and there are " + std::to_string(microBatches),
                          "use --micro-batches " + std::to_string(pipeline.stages));
    pipeline.bubble = static_cast<double>(pipeline.stages - 1) / static_cast<double>(pipeline.chunks * microBatches);
    return pipeline;
}

void addPipeline(const Graph& graph, const Hardware& hardware, Plan& plan)
{
    PlannedPipeline& pipeline = *plan.pipeline;
    const std::size_t before = plan.collectives.size();
    addSends(graph, hardware, plan);
    // Layers are spread over the stages; embedding and head lie on the first and the last, which work at different times.
    std::vector<double> ends(graph.segments.size(), 0);
    double layers = 0;
    const auto add = [&](int plannedSegment, double seconds) {
        const PlannedSegment& planned = plan.segments[static_cast<std::size_t>(plannedSegment)];
        const Segment& segment = segmentOf(graph, planned);
        if (planned.phase == Phase::Update)
            pipeline.updateSeconds += seconds * (segment.isLayer ? stageShare(pipeline) : 1);
        else if (segment.isLayer)
            layers += seconds;
        else
            ends[static_cast<std::size_t>(segment.of < 0 ? planned.segment : segment.of)] += seconds;
    };
    for (std::size_t s = 0; s < plan.segments.size(); ++s)
        for (const PlannedOp& op : plan.segments[s].ops)
            add(static_cast<int>(s), static_cast<double>(op.count) * op.seconds);
    double sends = 0;
    for (std::size_t c = 0; c < plan.collectives.size(); ++c) {
        const Collective& collective = plan.collectives[c];
        const double seconds = static_cast<double>(collective.count) * collective.seconds;
        if (c < before)
            add(collective.plannedSegment, seconds);
        else
            sends += seconds / static_cast<double>(pipeline.stages);
    }
    pipeline.stageSeconds = layers * stageShare(pipeline) + *std::max_element(ends.begin(), ends.end()) + sends;
}

} // namespace shardboard

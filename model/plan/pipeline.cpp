// SPDX-License-Identifier: Apache-2.0
#include "model/plan/pipeline.h"

#include "model/core/shards.h"
#include "model/ops/opdefinition.h"
#include "model/plan/collectiveprice.h"
#include "model/plan/largestshard.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace shardboard {

namespace {

const Segment& segmentOf(const Graph& graph, const PlannedSegment& planned) { return graph.segment(planned.segment); }

bool isCutOver(const Layout& layout, int axis)
{
    return std::ranges::any_of(layout.dims, [axis](const std::vector<AxisRef>& refs) {
        return std::ranges::any_of(refs, [axis](const AxisRef& ref) { return ref.axis == axis; });
    });
}

/// To where an operand of a planned operation is sent, how often in a step, and why.
struct StageSend {
    std::size_t segment; ///< index into Plan::segments
    PlannedOp& op;
    std::size_t operand;
    std::int64_t count;
    std::string target; ///< next, first, last
    std::string reason;
};

/// A send of an operand, as it arrives at its operation, and in front of what else happens to it there.
void addSend(const Graph& graph, CollectivePrices& prices, const StageSend& what, Plan& plan)
{
    const auto& [segment, op, operand, count, target, reason] = what;
    OperandUse& use = op.operands[operand];
    const TensorSpec& spec = graph.tensor(use.tensor);
    const PlannedPipeline& pipeline = *plan.pipeline;
    Collective send;
    send.kind = CollectiveKind::SendRecv;
    send.axes = { pipeline.axis };
    send.groupSize = pipeline.stages;
    send.tensor = use.tensor;
    send.step = { CollectiveKind::SendRecv, send.axes, use.before, use.before };
    send.bytes = bytesOf(largestShard(spec.shape, use.before, plan.mesh), spec.dtype);
    send.count = count;
    priceSend(send, prices);
    send.plannedSegment = PlannedSegmentId(segment);
    send.op = op.op;
    send.operand = static_cast<int>(operand);
    send.id = plan.segments[segment].name + "/" + spec.name + "/to the " + target + " stage"
        + (plan.segments[segment].phase == Phase::Forward ? "" : ", " + phaseName(plan.segments[segment].phase));
    send.cause = spec.name + " goes to the " + target + " stage";
    send.reason = reason;
    use.collectives.insert(use.collectives.begin(), nextId(plan.collectives));
    plan.collectives.push_back(std::move(send));
}

/// One send for each micro-batch at each border between runs of layers: p v - 1 of them.
void addSends(const Graph& graph, CollectivePrices& prices, Plan& plan)
{
    const PlannedPipeline& pipeline = *plan.pipeline;
    const std::int64_t borders = pipeline.stages * pipeline.chunks - 1;
    const std::string reason = "the layers lie on " + std::to_string(pipeline.stages) + " stages over "
        + plan.mesh.axis(pipeline.axis).name
        + (pipeline.chunks > 1 ? ", " + std::to_string(pipeline.chunks) + " runs of layers on each" : std::string())
        + ": what leaves one goes to the next";
    for (const Phase phase : { Phase::Forward, Phase::Backward }) {
        for (std::size_t s = 0; s < plan.segments.size(); ++s) {
            PlannedSegment& planned = plan.segments[s];
            const Segment& segment = segmentOf(graph, planned);
            if (planned.phase != phase || !segment.isLayer || segment.carryIn == kNoTensor || planned.ops.empty())
                continue;
            for (PlannedOp& op : planned.ops) {
                const auto use =
                    std::ranges::find_if(op.operands, [&](const OperandUse& u) { return u.tensor == segment.carryIn; });
                if (use == op.operands.end())
                    continue;
                addSend(graph, prices,
                        { s, op, static_cast<std::size_t>(use - op.operands.begin()), borders * plan.microBatches, "next", reason },
                        plan);
                break;
            }
            break; // the borders are counted once, however many kinds of layers there are
        }
    }
}

/// The first (0) or the last (1) stage, on which what is no layer lies: whether it comes behind the layers. By segment.
std::vector<int> endsOf(const Graph& graph)
{
    std::vector<int> ends(graph.segments.size(), 0);
    int end = 0;
    for (std::size_t i = 0; i < graph.segments.size(); ++i) {
        if (graph.segments[i].phase == Phase::Forward && graph.segments[i].isLayer)
            end = 1;
        ends[i] = graph.segments[i].of.valid() ? ends[graph.segments[i].of] : end;
    }
    return ends;
}

/// A table that embedding and head share has a gradient from both, and they lie on different stages.
void addSendsBetweenEnds(const Graph& graph, CollectivePrices& prices, Plan& plan)
{
    const std::vector<int> ends = endsOf(graph);
    std::vector<SegmentId> madeIn(graph.tensors.size());
    for (std::size_t i = 0; i < graph.segments.size(); ++i)
        for (const OpId id : graph.segments[i].ops)
            madeIn[graph.op(id).result] = SegmentId(i);
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const Segment& segment = segmentOf(graph, plan.segments[s]);
        if (segment.phase == Phase::Forward || segment.isLayer)
            continue;
        const int end = ends[plan.segments[s].segment];
        std::set<TensorId> sent;
        for (PlannedOp& op : plan.segments[s].ops)
            for (std::size_t i = 0; i < op.operands.size(); ++i) {
                const TensorId tensor = op.operands[i].tensor;
                const SegmentId from = madeIn[tensor];
                if (!from.valid() || tensor == segment.carryIn || graph.segment(from).isLayer
                    || graph.segment(from).phase == Phase::Forward || ends[from] == end || !sent.insert(tensor).second)
                    continue;
                addSend(graph, prices,
                        { s, op, i, segment.phase == Phase::Update ? 1 : plan.microBatches, end == 0 ? "first" : "last",
                          "embedding and head share a weight and lie on the first and the last stage: what one adds to its "
                          "gradient goes to the other" },
                        plan);
            }
    }
}

/// With DualPipe two devices have the weights of a stage and work on half of the micro-batches each: what each adds to a gradient
/// goes to the other before the step (examples/example_dualpipe.py of deepseek-ai/DualPipe). Both ways are used at the same time.
void addPairSums(const Graph& graph, CollectivePrices& prices, Plan& plan)
{
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        PlannedSegment& segment = plan.segments[s];
        if (segment.phase != Phase::Update)
            continue;
        for (PlannedOp& op : segment.ops)
            if (definitionOf(graph.op(op.op).kind).moments > 0) {
                OperandUse& use = op.operands[1]; // the gradient
                const TensorSpec& spec = graph.tensor(use.tensor);
                Collective sum;
                sum.kind = CollectiveKind::AllReduce;
                sum.axes = { plan.pipeline->axis };
                sum.groupSize = 2;
                sum.tensor = use.tensor;
                sum.step = { CollectiveKind::AllReduce, sum.axes, use.layout, use.layout };
                sum.bytes = bytesOf(largestShard(spec.shape, use.layout, plan.mesh), plan.held.reductions);
                sum.count = op.count;
                setPrice(sum, sum.bytes, prices);
                sum.plannedSegment = PlannedSegmentId(s);
                sum.op = op.op;
                sum.operand = 1;
                sum.id = segment.name + "/" + spec.name + "/with the opposite stage";
                sum.cause = spec.name + " is added up with that of the opposite stage";
                sum.reason = "with DualPipe two stages have these weights, and each works on half of the micro-batches";
                use.collectives.push_back(nextId(plan.collectives));
                plan.collectives.push_back(std::move(sum));
            }
    }
}

} // namespace

SendPrice sendPrice(const Collective& send, CollectivePrices& prices)
{
    SendPrice out { prices.secondsAtOnce(CollectiveKind::SendRecv, send.axes, send.bytes), {} };
    const Mesh& mesh = prices.mesh();
    const double rate = widestLink(prices.footprint(send.axes), prices.hardware()).bytesPerSecond;
    std::vector<int> copies;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        if (axis != send.axes.front() && mesh.axis(axis).size > 1 && !isCutOver(send.step.before, axis)
            && widestLink(prices.footprint({ axis }), prices.hardware()).bytesPerSecond > rate)
            copies.push_back(axis);
    const std::int64_t group = mesh.groupSize(copies);
    if (group <= 1)
        return out;
    const double inParts = prices.secondsAtOnce(CollectiveKind::SendRecv, send.axes, (send.bytes + group - 1) / group)
        + prices.secondsAtOnce(CollectiveKind::AllGather, copies, send.bytes);
    if (inParts < out.seconds)
        out = { inParts, std::move(copies) };
    return out;
}

void priceSend(Collective& send, CollectivePrices& prices)
{
    setPrice(send, send.bytes, prices);
    const SendPrice price = sendPrice(send, prices);
    send.seconds = price.seconds;
    if (price.gathered.empty())
        return;
    std::string names;
    for (const int axis : price.gathered)
        names += (names.empty() ? "" : ", ") + prices.mesh().axis(axis).name;
    send.algorithm = "in parts, then all-gather over " + names;
}

Range layersOfRun(const PlannedPipeline& pipeline, std::int64_t run)
{
    if (pipeline.runEnds.empty())
        return balancedPart(pipeline.layers, pipeline.stages * pipeline.chunks, run);
    const auto index = static_cast<std::size_t>(run);
    return { index == 0 ? 0 : pipeline.runEnds[index - 1], pipeline.runEnds[index] };
}

std::vector<std::int64_t> runsOfStage(const PlannedPipeline& pipeline, std::int64_t stage)
{
    const std::int64_t runs = pipeline.stages * pipeline.chunks;
    const std::int64_t opposite = pipeline.stages - 1 - stage;
    std::vector<std::int64_t> out;
    for (std::int64_t run = stage; run < runs; run += pipeline.stages)
        out.push_back(run);
    if (pipeline.isDual() && opposite != stage)
        out.insert(opposite < stage ? out.begin() : out.end(), opposite);
    return out;
}

std::int64_t layersOfStage(const PlannedPipeline& pipeline, std::int64_t stage)
{
    return layersOfStage(pipeline, stage, { 0, pipeline.layers });
}

std::int64_t layersOfStage(const PlannedPipeline& pipeline, std::int64_t stage, const Range& layers)
{
    std::int64_t count = 0;
    for (const std::int64_t run : runsOfStage(pipeline, stage)) {
        const Range part = layersOfRun(pipeline, run);
        count += std::max<std::int64_t>(0, std::min(part.hi, layers.hi) - std::max(part.lo, layers.lo));
    }
    return count;
}

std::int64_t runOfLayer(const PlannedPipeline& pipeline, std::int64_t layer)
{
    if (!pipeline.runEnds.empty())
        return std::ranges::upper_bound(pipeline.runEnds, layer) - pipeline.runEnds.begin();
    const std::int64_t runs = pipeline.stages * pipeline.chunks;
    const std::int64_t length = pipeline.layers / runs;
    const std::int64_t inLonger = pipeline.layers % runs * (length + 1); // layers of the first runs, which have one more
    return layer < inLonger ? layer / (length + 1) : pipeline.layers % runs + (layer - inLonger) / length;
}

std::vector<std::int64_t> stagesOfLayer(const PlannedPipeline& pipeline, std::int64_t layer)
{
    const std::int64_t stage = runOfLayer(pipeline, layer) % pipeline.stages;
    const std::int64_t opposite = pipeline.stages - 1 - stage;
    if (!pipeline.isDual() || opposite == stage)
        return { stage };
    return { std::min(stage, opposite), std::max(stage, opposite) };
}

double stageShare(const PlannedPipeline& pipeline)
{
    const double held = static_cast<double>(layersOfStage(pipeline, pipeline.busiestStage)) / static_cast<double>(pipeline.layers);
    return pipeline.isDual() ? held / 2 : held; // on each of two devices for half of the micro-batches
}

bool isStageSend(const Plan& plan, const Collective& collective)
{
    return plan.pipeline && collective.kind == CollectiveKind::SendRecv && collective.axes.size() == 1
        && collective.axes.front() == plan.pipeline->axis;
}

double deviceShare(const Graph& graph, const Plan& plan, PlannedSegmentId segment)
{
    if (!plan.pipeline)
        return 1;
    // With DualPipe two devices share the work of a stage, and each updates all of its weights.
    const double copies = plan.pipeline->isDual() && plan.segment(segment).phase == Phase::Update ? 2 : 1;
    if (graph.segment(plan.segment(segment).segment).isLayer)
        return stageShare(*plan.pipeline) * copies;
    return plan.pipeline->isDual() ? copies / 2 : 1;
}

double deviceShare(const Graph& graph, const Plan& plan, const Collective& collective)
{
    return isStageSend(plan, collective) ? 1 / static_cast<double>(plan.pipeline->stages)
                                         : deviceShare(graph, plan, collective.plannedSegment);
}

double stageShare(const Graph& graph, const Plan& plan, PlannedSegmentId id, std::int64_t stage)
{
    if (!plan.pipeline || plan.pipeline->stages == 1)
        return 1;
    const PlannedPipeline& pipeline = *plan.pipeline;
    const PlannedSegment& planned = plan.segment(id);
    // With DualPipe two devices share the work of a stage, and each updates all of its weights.
    const double part = pipeline.isDual() && planned.phase != Phase::Update ? 0.5 : 1;
    if (graph.segment(planned.segment).isLayer) {
        const Range own { planned.firstLayer, planned.firstLayer + planned.count };
        return part * static_cast<double>(layersOfStage(pipeline, stage, own)) / static_cast<double>(planned.count);
    }
    const bool isLast = stage + 1 == pipeline.stages;
    if (pipeline.isDual())
        return stage == 0 || isLast ? part : 0;
    return (endsOf(graph)[planned.segment] != 0 ? isLast : stage == 0) ? 1 : 0;
}

double stageShare(const Graph& graph, const Plan& plan, const Collective& collective, std::int64_t stage)
{
    if (!isStageSend(plan, collective))
        return stageShare(graph, plan, collective.plannedSegment, stage);
    const PlannedPipeline& pipeline = *plan.pipeline;
    const PlannedSegment& planned = plan.segment(collective.plannedSegment);
    if (!graph.segment(planned.segment).isLayer) // between the ends
        return stage == 0 || stage + 1 == pipeline.stages ? 1 : 0;
    const std::int64_t runs = pipeline.stages * pipeline.chunks;
    const auto sends = [&](std::int64_t run) { return planned.phase == Phase::Forward ? run + 1 < runs : run > 0; };
    const auto borders = std::ranges::count_if(runsOfStage(pipeline, stage), sends);
    return static_cast<double>(borders) / static_cast<double>(runs - 1) / (pipeline.isDual() ? 2 : 1);
}

double busiestShare(const Graph& graph, const Plan& plan, PlannedSegmentId id)
{
    return stageShare(graph, plan, id, plan.pipeline ? plan.pipeline->busiestStage : 0);
}

double busiestShare(const Graph& graph, const Plan& plan, const Collective& collective)
{
    return isStageSend(plan, collective) ? deviceShare(graph, plan, collective)
                                         : busiestShare(graph, plan, collective.plannedSegment);
}

std::int64_t collectiveBytesOfDevice(const Graph& graph, const Plan& plan)
{
    if (!plan.pipeline)
        return plan.collectiveBytes();
    double sum = 0;
    for (const Collective& collective : plan.collectives)
        sum +=
            static_cast<double>(collective.bytes) * static_cast<double>(collective.count) * busiestShare(graph, plan, collective);
    return static_cast<std::int64_t>(std::llround(sum));
}

std::string scheduleTitle(PipelineSchedule schedule, std::int64_t chunks)
{
    switch (schedule) {
    case PipelineSchedule::ZeroBubble:
        return "zero-bubble (ZB-H1)";
    case PipelineSchedule::DualPipe:
        return "DualPipe";
    case PipelineSchedule::GPipe:
        return "GPipe";
    case PipelineSchedule::OneForwardOneBackward:
        break;
    }
    return chunks > 1 ? "interleaved" : "1F1B";
}

namespace {

/// Layers of each run, where they are not just spread evenly.
Result<std::vector<std::int64_t>> layersOfRuns(const PipelineSpec& spec, const PlannedPipeline& pipeline)
{
    const std::int64_t runs = pipeline.stages * pipeline.chunks;
    std::vector<std::int64_t> out;
    if (spec.layers.empty()) {
        const std::int64_t units = pipeline.layers + (spec.countEmbedding ? 1 : 0) + (spec.countLoss ? 1 : 0);
        for (std::int64_t run = 0; run < runs; ++run)
            out.push_back(balancedPart(units, runs, run).size());
        out.front() -= spec.countEmbedding ? 1 : 0;
        out.back() -= spec.countLoss ? 1 : 0;
        return out;
    }
    const auto given = static_cast<std::int64_t>(spec.layers.size());
    const std::string shape = std::to_string(pipeline.stages) + " stages"
        + (pipeline.chunks > 1 ? " of " + std::to_string(pipeline.chunks) + " runs" : std::string());
    if (spec.countEmbedding || spec.countLoss)
        return inputError("pipeline", "layers given by hand leave no embedding or loss to count",
                          "give the layers, or count the ends");
    if (given != runs && given != pipeline.stages)
        return inputError("pipeline", "the pipeline has " + shape + ", and layers are given for " + std::to_string(given),
                          "give one number for each stage" + std::string(pipeline.chunks > 1 ? " or run" : ""));
    std::int64_t sum = 0;
    for (const std::int64_t layers : spec.layers)
        sum += std::clamp<std::int64_t>(layers, 0, kMostRuns);
    if (sum != pipeline.layers)
        return inputError("pipeline",
                          "the layers of the stages add up to " + std::to_string(sum) + ", and the model has "
                              + std::to_string(pipeline.layers),
                          "make them add up");
    for (std::int64_t run = 0; run < runs; ++run) {
        const std::int64_t layers = spec.layers[static_cast<std::size_t>(given == runs ? run : run % pipeline.stages)];
        out.push_back(given == runs ? layers : balancedPart(layers, pipeline.chunks, run / pipeline.stages).size());
    }
    return out;
}

Status cutByHand(const PipelineSpec& spec, PlannedPipeline& pipeline)
{
    const auto layers = layersOfRuns(spec, pipeline);
    if (!layers.ok())
        return layers.error();
    std::int64_t end = 0;
    for (const std::int64_t run : layers.value())
        pipeline.runEnds.push_back(end += run);
    for (std::int64_t stage = 0; stage < pipeline.stages; ++stage) {
        std::int64_t held = 0;
        for (std::int64_t run = stage; run < std::ssize(layers.value()); run += pipeline.stages)
            held += layers.value()[static_cast<std::size_t>(run)];
        if (held < 1)
            return inputError("pipeline", "stage " + std::to_string(stage) + " has no layers", "use fewer stages");
    }
    return done();
}

Status verifySchedule(const PlannedPipeline& pipeline, const Graph& graph, std::int64_t microBatches)
{
    const bool trains = std::ranges::any_of(graph.segments, [](const Segment& it) { return it.phase == Phase::Backward; });
    if (pipeline.schedule == PipelineSchedule::OneForwardOneBackward) {
        if (pipeline.chunks > 1 && microBatches % pipeline.stages != 0)
            return inputError("pipeline",
                              "the interleaved schedule needs micro-batches in multiples of its " + std::to_string(pipeline.stages)
                                  + " stages, and there are " + std::to_string(microBatches),
                              trains ? "use --micro-batches " + std::to_string(pipeline.stages)
                                     : "use one run of layers on each stage: only training has micro-batches");
        return done();
    }
    const std::string name = scheduleTitle(pipeline.schedule, pipeline.chunks);
    if (pipeline.chunks > 1)
        return inputError("pipeline",
                          name + " has one run of layers on each stage, and " + std::to_string(pipeline.chunks) + " are asked for",
                          "use one, or the schedule 1f1b, which interleaves them");
    if (!trains)
        return inputError("pipeline", name + " orders forward and backward passes, and this workload has no backward pass",
                          "use the schedule 1f1b, or train");
    if (pipeline.schedule == PipelineSchedule::DualPipe && (pipeline.stages % 2 != 0 || microBatches % 2 != 0))
        return inputError("pipeline",
                          "DualPipe starts half of the micro-batches at each end, and there are " + std::to_string(pipeline.stages)
                              + " stages and " + std::to_string(microBatches) + " micro-batches",
                          "use even numbers of both");
    if (pipeline.isDual() && microBatches < 2 * pipeline.stages) // as its step() asserts
        return inputError("pipeline",
                          "DualPipe needs two micro-batches for each of its " + std::to_string(pipeline.stages)
                              + " stages, and there are " + std::to_string(microBatches),
                          "use --micro-batches " + std::to_string(2 * pipeline.stages));
    return done();
}

} // namespace

Result<PlannedPipeline> plannedPipeline(const PipelineSpec& spec, const Graph& graph, const Mesh& mesh, std::int64_t microBatches)
{
    PlannedPipeline pipeline;
    pipeline.axis = mesh.find(spec.axis);
    if (pipeline.axis < 0)
        return inputError("pipeline", "the mesh " + mesh.text() + " has no axis '" + spec.axis + "' for the stages",
                          "use one that it has");
    pipeline.stages = mesh.axis(pipeline.axis).size;
    pipeline.chunks = spec.chunks;
    pipeline.schedule = spec.schedule;
    for (const Segment& segment : graph.segments)
        if (segment.isLayer && segment.phase == Phase::Forward) {
            if (segment.firstLayer < pipeline.layers) // they begin anew behind an encoder
                return inputError("pipeline", "layers of an encoder and of a decoder cannot be cut into stages together yet",
                                  "leave the pipeline out");
            pipeline.layers += segment.count;
        }
    const std::int64_t spare = spec.even() ? 0 : pipeline.stages * (pipeline.chunks - 1); // runs without a layer, at most
    if (pipeline.chunks < 1 || pipeline.chunks > kMostRuns || pipeline.layers < pipeline.stages * pipeline.chunks - spare)
        return inputError("pipeline",
                          std::to_string(pipeline.layers) + " layers cannot be cut into " + std::to_string(pipeline.stages)
                              + " stages of " + std::to_string(pipeline.chunks) + " runs",
                          "use fewer stages or chunks");
    if (auto status = verifySchedule(pipeline, graph, microBatches); !status.ok())
        return status.error();
    if (!spec.even())
        if (auto status = cutByHand(spec, pipeline); !status.ok())
            return status.error();
    return pipeline;
}

void addPipeline(const Graph& graph, CollectivePrices& prices, Plan& plan)
{
    if (plan.pipeline->stages < 2)
        return;
    addSends(graph, prices, plan);
    addSendsBetweenEnds(graph, prices, plan);
    if (plan.pipeline->isDual())
        addPairSums(graph, prices, plan);
}

} // namespace shardboard

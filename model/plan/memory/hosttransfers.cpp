// SPDX-License-Identifier: Apache-2.0
#include "model/plan/memory/hosttransfers.h"

#include "model/ops/opdefinition.h"
#include "model/plan/largestshard.h"
#include "model/plan/memory/castbytes.h"
#include "model/plan/memory/segmentprofile.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

/// Of the steps of one layer: gradients, weights, and the optimizer's states.
struct StepBytes {
    std::int64_t gradients = 0;
    std::int64_t weights = 0;
    std::int64_t states = 0;
};

StepBytes stepBytes(const Graph& graph, const Plan& plan, const PlannedSegment& segment)
{
    StepBytes out;
    for (const PlannedOp& op : segment.ops) {
        const OpDefinition& definition = definitionOf(graph.op(op.op).kind);
        if (definition.moments == 0)
            continue;
        const std::int64_t elements = largestShard(graph.tensor(graph.op(op.op).result).shape, op.result, plan.mesh);
        out.gradients += bytesOf(elements, plan.held.gradients);
        out.weights += bytesOf(elements, plan.held.weights);
        out.states += definition.moments * bytesOf(elements, plan.held.optimizer)
            + (plan.held.copiesWeights() ? bytesOf(elements, plan.held.master) : 0);
    }
    return out;
}

PlannedSegment::HostTransfer transferOf(const Graph& graph, const Plan& plan, const PlannedSegment& segment, std::int64_t kept)
{
    PlannedSegment::HostTransfer out;
    out.count = segment.count * (segment.phase == Phase::Update ? 1 : plan.microBatches);
    out.toDevice = fetchedBytes(graph, plan, segment);
    if (segment.phase != Phase::Update) {
        (segment.phase == Phase::Forward ? out.toHost : out.toDevice) += kept;
        return out;
    }
    const StepBytes step = stepBytes(graph, plan, segment);
    const bool atHome = segment.offload.has(OffloadKind::Weights); // where the host steps them
    if (segment.offload.has(OffloadKind::Optimizer)) {
        const bool hostSteps = factsOf(plan.memorySettings.framework).hostSteps;
        out.toHost += hostSteps ? step.gradients : step.states;
        out.toDevice += !hostSteps ? step.states : atHome ? 0 : step.weights;
        if (!hostSteps && atHome)
            out.toHost += step.weights;
    } else if (atHome) {
        out.toHost += step.weights;
    }
    return out;
}

} // namespace

std::int64_t storedBytes(const Graph& graph, const Plan& plan, TensorId weight)
{
    const Layout& layout = plan.layouts[static_cast<std::size_t>(weight)];
    if (const TensorSpec& spec = graph.tensor(weight); spec.packing.present())
        return storedBytes(spec, largestShape(spec.shape, layout, plan.mesh));
    const std::int64_t elements = largestShard(graph.tensor(weight).shape, layout, plan.mesh);
    const std::int64_t stored = bytesOf(elements, plan.held.weights);
    if (!factsOf(plan.memorySettings.framework).savesInFp8 || plan.fp8.recipe == Fp8Recipe::Usual
        || !plan.fp8Weights.contains(weight))
        return stored;
    // Rows and columns are cast where they are scaled apart, and where products take one order of the elements alone (Transformer
    // Engine, is_non_tn_fp8_gemm_supported: not before Blackwell); casts are kept from micro-batch to micro-batch. Where the
    // weights are gathered in fp8 they are what is stored beside the optimizer's copy; without one the stored weights are what it
    // updates, and stay.
    const Fp8RecipeFacts& recipe = factsOf(plan.fp8.recipe);
    const int copies = recipe.twoCopies || !plan.fp8AnyOrder ? 2 : 1;
    const std::int64_t casts = copies * castBytes(plan.fp8.recipe, elements);
    if (plan.fp8.gather && plan.held.copiesWeights())
        return casts;
    return stored + (plan.fp8.gather || plan.microBatches > 1 ? casts : 0);
}

std::int64_t fetchedBytes(const Graph& graph, const Plan& plan, const PlannedSegment& segment)
{
    std::int64_t bytes = 0;
    const bool hostSteps = segment.phase == Phase::Update && segment.offload.has(OffloadKind::Optimizer)
        && factsOf(plan.memorySettings.framework).hostSteps;
    if (!segment.offload.has(OffloadKind::Weights) || hostSteps)
        return bytes;
    std::set<TensorId> weights;
    for (const PlannedOp& op : segment.ops)
        for (const OperandUse& use : op.operands)
            if (graph.tensor(use.tensor).role == TensorRole::Weight && weights.insert(use.tensor).second)
                bytes += storedBytes(graph, plan, use.tensor);
    return bytes;
}

void fillHostTransfers(const Graph& graph, Plan& plan, const Hardware& hardware)
{
    if (std::ranges::none_of(plan.segments, [](const PlannedSegment& segment) { return segment.offload.any(); }))
        return;
    const std::vector<SegmentProfile> profiles = segmentProfiles(graph, plan);
    for (std::size_t i = 0; i < plan.segments.size(); ++i) {
        PlannedSegment& segment = plan.segments[i];
        const PlannedSegmentId forward = profiles[i].keptFor.valid() ? profiles[i].keptFor : PlannedSegmentId(i);
        const bool keeps = segment.offload.has(OffloadKind::Activations);
        segment.host = transferOf(graph, plan, segment, keeps ? profiles[forward].keptActivations : 0);
        segment.host.seconds = hostSeconds(segment.host, hardware.device);
    }
}

std::int64_t hostBytes(const Plan& plan)
{
    std::int64_t most = plan.memory.host;
    if (plan.pipeline)
        for (const MemoryByCause& stage : plan.pipeline->memory)
            most = std::max(most, stage.host);
    return most;
}

double hostSeconds(const PlannedSegment::HostTransfer& transfer, const DeviceSpec& device)
{
    return static_cast<double>(transfer.count) * static_cast<double>(std::max(transfer.toHost, transfer.toDevice))
        / hostLinkOf(device).bytesPerSecond;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "model/design/deviceweights.h"

#include "model/plan/memory/stagelayers.h"
#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Of a weight outside the layers: whether something on a stage takes it. Tied to the embedding, that of the head lies on two
/// stages.
bool isTakenOn(const Evaluation& evaluation, const WeightLayout& weight, std::int64_t stage)
{
    const auto takes = [&](const PlannedOp& op) {
        return std::ranges::any_of(op.operands, [&](const OperandUse& use) { return use.tensor == weight.tensor; });
    };
    return std::ranges::any_of(stageParts(evaluation.graph, evaluation.plan, stage), [&](const StagePart& part) {
        const PlannedSegment& planned = evaluation.plan.segment(part.plannedSegment);
        return planned.phase == Phase::Forward && std::ranges::any_of(planned.ops, takes);
    });
}

std::int64_t copiesOnStage(const Evaluation& evaluation, const WeightLayout& weight, std::int64_t stage)
{
    if (weight.tensor == kNoTensor) // of other parts, which come before the first layer
        return stage == 0 ? 1 : 0;
    if (weight.firstLayer < 0)
        return isTakenOn(evaluation, weight, stage) ? 1 : 0;
    return layersOfStage(*evaluation.plan.pipeline, stage, { weight.firstLayer, weight.firstLayer + weight.copies });
}

} // namespace

std::int64_t copiesOn(const Evaluation& evaluation, const WeightLayout& weight, std::int64_t position)
{
    const Plan& plan = evaluation.plan;
    return plan.pipeline ? copiesOnStage(evaluation, weight, plan.mesh.coordinate(position, plan.pipeline->axis)) : weight.copies;
}

std::int64_t mostCopiesOn(const Plan& plan, const WeightLayout& weight)
{
    if (!plan.pipeline || weight.firstLayer < 0)
        return weight.copies;
    std::int64_t most = 0;
    for (std::int64_t stage = 0; stage < plan.pipeline->stages; ++stage)
        most = std::max(most, layersOfStage(*plan.pipeline, stage, { weight.firstLayer, weight.firstLayer + weight.copies }));
    return most;
}

std::vector<std::int64_t> stagesOf(const Evaluation& evaluation, const WeightLayout& weight)
{
    const auto& pipeline = evaluation.plan.pipeline;
    if (pipeline && weight.firstLayer >= 0 && weight.tensor != kNoTensor)
        return stagesOfLayer(*pipeline, weight.firstLayer);
    std::vector<std::int64_t> out;
    for (std::int64_t stage = 0; pipeline && stage < pipeline->stages; ++stage)
        if (copiesOnStage(evaluation, weight, stage) > 0)
            out.push_back(stage);
    return out;
}

std::int64_t replicationOf(const Evaluation& evaluation, const WeightLayout& weight)
{
    const Plan& plan = evaluation.plan;
    if (!plan.pipeline)
        return weight.shards.replication();
    const auto holding = static_cast<std::int64_t>(stagesOf(evaluation, weight).size());
    // A cut over the stages is ignored (findCutsOverStages tells).
    std::int64_t distinct = 1;
    for (const DimCut& cut : weight.shards.cuts())
        for (const AxisRef& ref : cut.axes())
            distinct *= ref.axis == plan.pipeline->axis ? 1 : sizeOf(ref, plan.mesh);
    return plan.mesh.deviceCount() / plan.pipeline->stages * std::max<std::int64_t>(1, holding) / distinct;
}

std::vector<DeviceWeight> weightsOnDevice(const Evaluation& evaluation, std::int64_t position)
{
    std::vector<DeviceWeight> out;
    for (std::size_t i = 0; i < evaluation.weights.size(); ++i) {
        const WeightLayout& weight = evaluation.weights[i];
        if (weight.unknownShape || weight.spec.role != TensorRole::Weight)
            continue;
        DeviceWeight held;
        held.weight = static_cast<int>(i);
        held.copies = copiesOn(evaluation, weight, position);
        if (held.copies > 0) {
            held.shard = weight.shards.shardAt(position);
            held.bytes = storedBytes(weight.spec, held.shard.shape()) * held.copies;
        }
        out.push_back(std::move(held));
    }
    return out;
}

} // namespace shardboard

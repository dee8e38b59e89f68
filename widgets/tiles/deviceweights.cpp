// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/deviceweights.h"

#include "model/plan/memory/stagelayers.h"

#include <algorithm>

namespace shardboard {

namespace {

std::int64_t copiesIn(const std::vector<StagePart>& parts, const Evaluation& evaluation, const WeightLayout& weight)
{
    std::int64_t copies = 0;
    for (const StagePart& part : parts) {
        const PlannedSegment& planned = evaluation.plan.segment(part.plannedSegment);
        if (planned.phase != Phase::Forward || evaluation.graph.segment(planned.segment).name != weight.segment)
            continue;
        if (weight.firstLayer < 0)
            copies = std::max<std::int64_t>(copies, 1);
        else
            copies += std::max<std::int64_t>(0,
                                             std::min(part.firstLayer + part.layers, weight.firstLayer + weight.copies)
                                                 - std::max(part.firstLayer, weight.firstLayer));
    }
    return copies;
}

std::vector<StagePart> partsOn(const Evaluation& evaluation, std::int64_t position)
{
    const auto& pipeline = evaluation.plan.pipeline;
    return stageParts(evaluation.graph, evaluation.plan, evaluation.plan.mesh.coordinate(position, pipeline->axis));
}

} // namespace

std::int64_t copiesOn(const Evaluation& evaluation, const WeightLayout& weight, std::int64_t position)
{
    return evaluation.plan.pipeline ? copiesIn(partsOn(evaluation, position), evaluation, weight) : weight.copies;
}

std::vector<DeviceWeight> weightsOnDevice(const Evaluation& evaluation, std::int64_t position)
{
    std::vector<DeviceWeight> out;
    const bool staged = evaluation.plan.pipeline.has_value();
    const auto parts = staged ? partsOn(evaluation, position) : std::vector<StagePart>();
    for (std::size_t i = 0; i < evaluation.weights.size(); ++i) {
        const WeightLayout& weight = evaluation.weights[i];
        if (weight.unknownShape || weight.spec.role != TensorRole::Weight)
            continue;
        DeviceWeight held;
        held.weight = static_cast<int>(i);
        held.copies = staged ? copiesIn(parts, evaluation, weight) : weight.copies;
        if (held.copies > 0) {
            held.shard = weight.shards.shardAt(position);
            held.bytes = bytesOf(held.shard.elements(), weight.spec.dtype) * held.copies;
        }
        out.push_back(std::move(held));
    }
    return out;
}

} // namespace shardboard

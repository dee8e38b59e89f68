// SPDX-License-Identifier: Apache-2.0
#include "model/design/placedshards.h"

#include "model/plan/memory/stagelayers.h"
#include "model/plan/pipeline.h"

#include <algorithm>

namespace shardboard {

namespace {

/// The same cuts without those over one mesh axis.
ShardMap withoutAxis(const ShardMap& shards, int axis)
{
    std::vector<DimCut> cuts;
    for (const DimCut& cut : shards.cuts()) {
        std::vector<AxisRef> axes = cut.axes();
        std::erase_if(axes, [axis](const AxisRef& ref) { return ref.axis == axis; });
        cuts.emplace_back(std::move(axes), shards.mesh(), cut.rule(), cut.segments());
    }
    return ShardMap(shards.mesh(), shards.shape(), std::move(cuts));
}

} // namespace

bool PlacedShards::isHeldAt(std::int64_t position) const
{
    return stageAxis < 0 || std::ranges::binary_search(stages, shards.mesh().coordinate(position, stageAxis));
}

std::string PlacedShards::opName() const { return op == ReduceOp::Sum ? "sum" : op == ReduceOp::Max ? "max" : "min"; }

std::vector<std::string> PlacedShards::partialAxes() const
{
    std::vector<std::string> out;
    for (const AxisRef& ref : partial)
        out.push_back(shards.mesh().axis(ref.axis).name
                      + (ref.whole() ? "" : ":(" + std::to_string(ref.pre) + ")" + std::to_string(ref.size)));
    return out;
}

ShardPlaces::ShardPlaces(const Evaluation& evaluation)
    : m_evaluation(evaluation)
{
    const Plan& plan = evaluation.plan;
    const Graph& graph = evaluation.graph;
    if (stageCount(plan) < 2)
        return;
    m_stageAxis = plan.pipeline->axis;
    m_ends.resize(graph.tensors.size());
    const std::vector<bool> behind = behindLayers(graph);
    for (std::size_t i = 0; i < graph.segments.size(); ++i) {
        const Segment& segment = graph.segments[i];
        if (segment.isLayer || segment.phase != Phase::Forward)
            continue;
        for (const OpId op : segment.ops)
            for (const TensorId operand : graph.op(op).operands) {
                auto& stages = m_ends[static_cast<std::size_t>(operand)];
                const std::int64_t last = plan.pipeline->stages - 1;
                const std::int64_t stage = behind[i] ? last : 0;
                if (plan.pipeline->isDual())
                    stages = { 0, last };
                else if (stages.empty() || stages.back() != stage)
                    stages.push_back(stage); // segments are in order: the first stage comes first
            }
    }
}

std::vector<std::int64_t> ShardPlaces::stagesOf(const WeightLayout& weight, std::int64_t layer) const
{
    if (m_stageAxis < 0)
        return {};
    if (weight.tensor == kNoTensor) // of other parts, which come before the first layer
        return { 0 };
    return layer >= 0 ? stagesOfLayer(*m_evaluation.plan.pipeline, layer) : m_ends[static_cast<std::size_t>(weight.tensor)];
}

PlacedShards ShardPlaces::of(const WeightLayout& weight, std::int64_t layer) const
{
    std::vector<AxisRef> partial = weight.layout.partial;
    if (m_stageAxis < 0)
        return { weight.shards, -1, {}, std::move(partial), weight.layout.op };
    std::erase_if(partial, [this](const AxisRef& ref) { return ref.axis == m_stageAxis; });
    return { withoutAxis(weight.shards, m_stageAxis), m_stageAxis, stagesOf(weight, layer), std::move(partial), weight.layout.op };
}

} // namespace shardboard

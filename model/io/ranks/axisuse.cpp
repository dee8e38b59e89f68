// SPDX-License-Identifier: Apache-2.0
#include "model/io/ranks/axisuse.h"

#include "model/design/placedshards.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

/// Mesh axes by what they cut.
struct Cut {
    std::set<int> dense, expert, expertInner, batch, sequence;
};

void add(std::set<int>& into, const std::vector<AxisRef>& axes)
{
    for (const AxisRef& ref : axes)
        into.insert(ref.axis);
}

Cut cutOf(const Evaluation& evaluation)
{
    Cut cut;
    for (const WeightLayout& weight : evaluation.weights)
        for (std::size_t dim = 0; dim < weight.layout.dims.size(); ++dim) {
            const std::vector<AxisRef>& axes = weight.layout.dims[dim];
            if (weight.spec.role != TensorRole::Weight)
                add(dim == 0 ? cut.batch : cut.sequence, axes);
            else if (!isExpertWeight(weight.spec))
                add(cut.dense, axes);
            else
                add(isExpertDim(weight.spec, dim) ? cut.expert : cut.expertInner, axes);
        }
    for (const WeightLayout& weight : evaluation.weights)
        add(cut.dense, weight.layout.partial); // no device has all of it
    return cut;
}

} // namespace

bool isExpertDim(const TensorSpec& spec, std::size_t dim)
{
    return dim < spec.logicalNames.size() && spec.logicalNames[dim] == "exp";
}

bool isExpertWeight(const TensorSpec& spec) { return isExpertDim(spec, 0); }

AxisUse axisUse(const Design& design, const Evaluation& evaluation)
{
    const Cut cut = cutOf(evaluation);
    AxisUse use;
    for (int axis = 0; axis < design.mesh.axisCount(); ++axis) {
        if (design.mesh.axis(axis).size == 1)
            continue;
        if (axis == stageAxis(design)) {
            use.stage.push_back(axis);
            continue;
        }
        const bool inner = cut.expertInner.contains(axis);
        const bool weights = cut.dense.contains(axis) || inner;
        const bool inputs = cut.batch.contains(axis);
        if (weights)
            (inputs ? use.sharded : use.tensor).push_back(axis);
        else if (cut.sequence.contains(axis))
            use.context.push_back(axis);
        else
            use.data.push_back(axis);
        if (cut.expert.contains(axis) && !(weights && inputs))
            use.expert.push_back(axis);
        if (inner && !inputs)
            use.expertTensor.push_back(axis);
    }
    return use;
}

void addWholeBatch(std::vector<std::string>& leftOut, const Design& design, const Evaluation& evaluation,
                   const std::string& framework)
{
    const Cut cut = cutOf(evaluation);
    std::vector<int> whole = axisUse(design, evaluation).data;
    std::erase_if(whole, [&](int axis) { return cut.batch.contains(axis); });
    if (!whole.empty() && !evaluation.plan.segments.empty())
        leftOut.push_back("the batch, which is whole over mesh axis '" + axisNames(design.mesh, whole)
                          + "' in the design: " + framework + " gives each of these ranks a part of it");
}

std::string axisNames(const Mesh& mesh, const std::vector<int>& axes)
{
    std::string text;
    for (std::size_t i = 0; i < axes.size(); ++i)
        text += (i == 0 ? "" : i + 1 == axes.size() ? " and " : ", ") + mesh.axis(axes[i]).name;
    return text;
}

std::optional<ExportRefusal> orderRefusal(const Mesh& mesh, const std::string& framework,
                                          const std::vector<std::vector<int>>& slowestFirst)
{
    std::vector<AxisRef> order;
    std::vector<int> axes;
    for (const std::vector<int>& group : slowestFirst)
        for (const int axis : group) {
            order.push_back({ axis });
            axes.push_back(axis);
        }
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        if (mesh.deviceId(position) != partIndexOf(order, mesh, position))
            return ExportRefusal { inputError("mesh",
                                              framework + " numbers its ranks over " + axisNames(mesh, axes)
                                                  + ", the last one fastest, and device ids of this mesh lie in another order",
                                              axes.size() < 2 ? "leave out device_ids"
                                                              : "give the mesh its axes in that order, and no device_ids") };
    return std::nullopt;
}

std::optional<ExportRefusal> fewShardedRefusal(const Design& design, const Evaluation& evaluation, const AxisUse& use,
                                               const std::string& framework)
{
    std::int64_t whole = 0;
    std::int64_t cut = 0;
    std::vector<std::string> names;
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight)
            continue;
        const bool sharded = std::ranges::any_of(weight.layout.dims, [&](const std::vector<AxisRef>& dim) {
            return std::ranges::any_of(dim, [&](const AxisRef& ref) { return std::ranges::count(use.sharded, ref.axis) > 0; });
        });
        (sharded ? cut : whole) += weight.copies;
        if (sharded)
            names.push_back(weight.spec.name);
    }
    if (cut == 0 || cut >= whole)
        return std::nullopt;
    const std::string axes = axisNames(design.mesh, use.sharded);
    return ExportRefusal {
        inputError(names.front(),
                   (names.size() > 1 ? "it and " + std::to_string(names.size() - 1) + " more are" : std::string("it is"))
                       + " cut over mesh axis '" + axes + "', which cuts the batch as well and over which the others are whole: "
                       + framework + " cuts all weights over data-parallel ranks, or none",
                   "cut it over the tensor axis alone, or export to a target that takes a layout for every "
                   "weight"),
        cut
    };
}

std::vector<StageRun> stageRuns(const Design& design, const Evaluation& evaluation)
{
    const ShardPlaces places(evaluation);
    std::vector<StageRun> runs;
    for (std::int64_t layer = 0; layer < design.model.layers; ++layer) {
        const auto weight = std::ranges::find_if(evaluation.weights, [&](const WeightLayout& candidate) {
            return candidate.firstLayer >= 0 && candidate.firstLayer <= layer && layer < candidate.firstLayer + candidate.copies;
        });
        if (weight == evaluation.weights.end())
            continue;
        const std::vector<std::int64_t> stages = places.stagesOf(*weight, layer);
        const std::int64_t stage = stages.empty() ? 0 : stages.front();
        if (runs.empty() || runs.back().stage != stage)
            runs.push_back({ stage, 0 });
        ++runs.back().layers;
    }
    return runs;
}

} // namespace shardboard

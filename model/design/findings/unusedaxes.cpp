// SPDX-License-Identifier: Apache-2.0
// Mesh axes over which neither the batch nor any weight is cut: their devices all do the same.
#include "model/core/numbers.h"
#include "model/core/text.h"
#include "model/design/findings/finder.h"

#include <algorithm>

namespace shardboard {

namespace {

const WeightLayout* inputTokens(const Evaluation& evaluation)
{
    const auto found = std::find_if(evaluation.weights.begin(), evaluation.weights.end(),
                                    [](const WeightLayout& weight) { return weight.spec.role == TensorRole::Input; });
    return found == evaluation.weights.end() ? nullptr : &*found;
}

/// Cuts the input over the axis too, where a dim of it divides; else the largest weight that can be.
std::optional<Repair> useAxis(const FinderInput& input, int axis)
{
    std::vector<const WeightLayout*> candidates;
    for (const WeightLayout& weight : input.evaluation.weights)
        if (weight.spec.role == TensorRole::Weight && !weight.misfit && !weight.unknownShape)
            candidates.push_back(&weight);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const WeightLayout* a, const WeightLayout* b) { return held(*a) > held(*b); });
    if (const WeightLayout* tokens = inputTokens(input.evaluation); tokens && !tokens->misfit)
        candidates.insert(candidates.begin(), tokens);
    for (const WeightLayout* weight : candidates)
        for (std::size_t dim = 0; dim < weight->spec.shape.size(); ++dim) {
            Layout layout = weight->layout;
            layout.dims[dim].push_back({ axis, 1, 0 });
            if (!dividesInGrains(*weight, dim, partsOf(layout.dims[dim], input.mesh())))
                continue;
            if (const auto proposal = propose(input, *weight, layout)) {
                Repair repair = giveStrategy(input, *weight, *proposal);
                repair.text = "Cut " + shortWeightName(weight->spec.name) + " dim " + std::to_string(dim) + " over "
                    + joined({ input.mesh().axis(axis).name });
                return repair;
            }
        }
    return std::nullopt;
}

} // namespace

void findUnusedAxes(const FinderInput& input, FindingList& out)
{
    const Mesh& mesh = input.mesh();
    if (!input.design.model.hasGraph())
        return;
    std::vector<bool> used(static_cast<std::size_t>(mesh.axisCount()), false);
    for (const WeightLayout& weight : input.evaluation.weights)
        for (const auto& dim : weight.layout.dims)
            for (const AxisRef& ref : dim)
                used[static_cast<std::size_t>(ref.axis)] = true;
    if (const int stages = mesh.find(input.design.pipeline.axis); stages >= 0)
        used[static_cast<std::size_t>(stages)] = true;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const MeshAxis& it = mesh.axis(axis);
        if (used[static_cast<std::size_t>(axis)] || it.size == 1)
            continue;
        const std::int64_t weights = input.evaluation.plan.memory.weights;
        out.add({ "unused-axis", Severity::Warning, it.name, weights - weights / it.size,
                  "neither the batch nor any weight is cut over mesh axis '" + it.name + "': its " + countText(it.size)
                      + " devices all hold and compute the same",
                  "cut the batch or a weight over it" },
                useAxis(input, axis));
    }
}

} // namespace shardboard

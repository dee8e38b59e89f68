// SPDX-License-Identifier: Apache-2.0
// Mesh axes over which neither the batch nor any weight is cut: their devices all do the same.
#include "model/design/evaluation.h"
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

bool isInput(const WeightLayout& weight) { return weight.spec.role == TensorRole::Input && !weight.misfit && !weight.unknownShape; }

/// Pins of that label over the axes that cut the inputs there: they would leave the new axis out.
void extendPins(const FinderInput& input, const std::string& label, const std::vector<AxisRef>& axes, int axis, Repair& repair)
{
    std::vector<std::string> now;
    for (const AxisRef& ref : axes)
        now.push_back(input.mesh().axis(ref.axis).name);
    for (std::size_t i = 0; i < input.design.pins.size(); ++i) {
        Pin pin = input.design.pins[i];
        bool extended = false;
        for (Pin::Dim& dim : pin.dims)
            if (dim.label == label && !now.empty() && dim.axes == now) {
                dim.axes.push_back(input.mesh().axis(axis).name);
                extended = true;
            }
        if (extended)
            repair.changes.push_back(ReplacePin { static_cast<int>(i), std::move(pin) });
    }
}

/// Cuts a dim of all inputs over the axis too: the batch, or the sequence.
std::optional<Repair> cutInputs(const FinderInput& input, int axis, std::size_t dim)
{
    Repair repair;
    std::string label;
    for (const WeightLayout& weight : input.evaluation.weights) {
        if (!isInput(weight) || dim >= weight.spec.shape.size())
            continue;
        Layout layout = weight.layout;
        layout.dims[dim].push_back({ axis, 1, 0 });
        if (!dividesInGrains(weight, dim, partsOf(layout.dims[dim], input.mesh())))
            return std::nullopt;
        const auto proposal = propose(input, weight, layout);
        if (!proposal)
            return std::nullopt;
        const Repair one = giveStrategy(input, weight, *proposal);
        repair.changes.insert(repair.changes.end(), one.changes.begin(), one.changes.end());
        if (!label.empty())
            continue;
        label = dim < weight.spec.dimLabels.size() ? weight.spec.dimLabels[dim]
                                                   : "dim " + std::to_string(dim) + " of " + weight.spec.name;
        extendPins(input, label, weight.layout.dims[dim], axis, repair);
    }
    if (repair.changes.empty())
        return std::nullopt;
    repair.text = "Cut the " + label + " over " + input.mesh().axis(axis).name;
    return repair;
}

/// Cuts the largest weight that can be cut over the axis too.
std::optional<Repair> cutWeight(const FinderInput& input, int axis)
{
    std::vector<const WeightLayout*> candidates;
    for (const WeightLayout& weight : input.evaluation.weights)
        if (weight.spec.role == TensorRole::Weight && !weight.misfit && !weight.unknownShape)
            candidates.push_back(&weight);
    std::ranges::stable_sort(candidates,
                             [&](const WeightLayout* a, const WeightLayout* b) { return input.held(*a) > input.held(*b); });
    for (const WeightLayout* weight : candidates)
        for (std::size_t dim = 0; dim < weight->spec.shape.size(); ++dim) {
            Layout layout = weight->layout;
            layout.dims[dim].push_back({ axis, 1, 0 });
            if (!dividesInGrains(*weight, dim, partsOf(layout.dims[dim], input.mesh())))
                continue;
            if (const auto proposal = propose(input, *weight, layout)) {
                Repair repair = giveStrategy(input, *weight, *proposal);
                repair.text = "Cut " + shortWeightName(weight->spec.name) + " dim " + std::to_string(dim) + " over "
                    + input.mesh().axis(axis).name;
                return repair;
            }
        }
    return std::nullopt;
}

struct Use {
    Repair repair;
    std::int64_t saved = 0; ///< of the peak of a device
};

/// The first way to use the axis that saves memory and no time is lost with.
std::optional<Use> useAxis(const FinderInput& input, int axis)
{
    constexpr double kAsLong = 1.001;
    const Plan& plan = input.evaluation.plan;
    for (int way = 0; way < 3; ++way) {
        auto repair = way < 2 ? cutInputs(input, axis, static_cast<std::size_t>(way)) : cutWeight(input, axis);
        if (!repair)
            continue;
        const auto then = planOnly(repaired(input.design, *repair), Misfits::Replicate);
        if (!then.ok() || then.value()->plan.seconds() > plan.seconds() * kAsLong)
            continue;
        if (const std::int64_t saved = plan.memory.peak - then.value()->plan.memory.peak; saved > 0)
            return Use { std::move(*repair), saved };
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
    if (const int stages = stageAxis(input.design); stages >= 0)
        used[static_cast<std::size_t>(stages)] = true;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const MeshAxis& it = mesh.axis(axis);
        if (used[static_cast<std::size_t>(axis)] || it.size == 1)
            continue;
        const auto use = useAxis(input, axis);
        const std::int64_t weights = input.evaluation.plan.memory.weights;
        // Where no way to use it is known: the weights that they all hold, beyond an even share.
        const std::int64_t cost = use ? use->saved : input.withTraining(weights - weights / it.size);
        out.add({ "unused-axis", Severity::Warning, it.name, cost,
                  "neither the batch nor any weight is cut over mesh axis '" + it.name + "': its " + countText(it.size)
                      + " devices all hold and compute the same",
                  "cut the batch or a weight over it" },
                use ? std::optional(use->repair) : std::nullopt);
    }
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Weights sharded over a mesh axis that cuts the batch, where the picker moved the activation instead of gathering the
// weight: a choice by bytes that fully sharded data parallelism never makes (max-sharding 4.3).
#include "model/design/evaluation.h"
#include "model/design/findings/finders.h"
#include "model/plan/planner/pinning.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <optional>

namespace shardboard {

namespace {

/// The mesh axes that cut the batch of the model's input.
std::vector<int> batchAxes(const Evaluation& evaluation)
{
    for (const WeightLayout& weight : evaluation.weights)
        if (weight.spec.role == TensorRole::Input && !weight.layout.dims.empty() && !weight.spec.dimLabels.empty()
            && weight.spec.dimLabels.front() == "batch") {
            std::vector<int> axes;
            for (const AxisRef& ref : weight.layout.dims.front())
                if (ref.whole())
                    axes.push_back(ref.axis);
            return axes;
        }
    return {};
}

struct Moved {
    std::int64_t operations = 0;
    std::int64_t bytes = 0; ///< of activations, a step
    std::string first;
};

/// The bytes that are moved (a step) where an operation left a weight in shards over the axis and took an activation away from its
/// batch there.
std::optional<std::int64_t> movedBytes(const FinderInput& input, const PlannedOp& planned, int axis)
{
    const Graph& graph = input.evaluation.graph;
    bool weight = false;
    bool activation = false;
    std::int64_t moved = 0;
    for (const OperandUse& use : planned.operands) {
        const TensorSpec& spec = graph.tensor(use.tensor);
        const Placement before = placementOn(use.before, axis);
        const Placement now = placementOn(use.layout, axis);
        if (spec.role == TensorRole::Weight) {
            weight = weight || (before.sharded() && now.sharded());
            continue;
        }
        const auto dim = static_cast<std::size_t>(before.dim);
        if (!before.sharded() || now == before || dim >= spec.dimLabels.size() || spec.dimLabels[dim] != "batch")
            continue;
        activation = true;
        for (const CollectiveId index : use.collectives) {
            const Collective& collective = input.evaluation.plan.collective(index);
            if (contains(collective.axes, axis))
                moved += collective.bytes * collective.count;
        }
    }
    return weight && activation ? std::optional(moved) : std::nullopt;
}

/// Whether a step of the repaired design takes no longer.
bool isAsFast(const FinderInput& input, const Repair& repair)
{
    const auto then = planOnly(repaired(input.design, repair), Misfits::Replicate);
    return then.ok() && then.value()->plan.seconds() <= input.evaluation.plan.seconds();
}

} // namespace

void findMovedActivations(const FinderInput& input, FindingList& out)
{
    const Evaluation& evaluation = input.evaluation;
    const std::vector<int> axes = batchAxes(evaluation);
    if (axes.empty() || !input.design.model.hasGraph())
        return;
    const Pinning pinning(evaluation.graph, input.mesh(), input.design.pins, input.design.picker.profile);
    for (const int axis : axes) {
        Moved found;
        for (const PlannedSegment& segment : evaluation.plan.segments)
            for (const PlannedOp& planned : segment.ops) {
                const auto bytes = movedBytes(input, planned, axis);
                if (!bytes)
                    continue;
                const auto pins = pinning.of(planned.op);
                if (std::ranges::any_of(pins, [&](const AxisPin& pin) { return pin.axis == axis; }))
                    continue;
                found.bytes += *bytes;
                if (found.first.empty())
                    found.first = segment.name + "/" + evaluation.graph.op(planned.op).name;
                found.operations += segment.count;
            }
        if (found.bytes == 0)
            continue;
        Pin pin;
        pin.match = "*";
        pin.dims.push_back({ "batch", {} });
        for (const int it : axes)
            pin.dims.front().axes.push_back(input.mesh().axis(it).name);
        const std::string& name = input.mesh().axis(axis).name;
        const bool pinnable = pinning.known();
        Repair repair { "Pin the batch over " + joined(pin.dims.front().axes), { SetPin { pin } } };
        if (pinnable && !isAsFast(input, repair))
            continue; // moving them is the better choice
        out.add({ "greedy-moves-activation", Severity::Note, name, found.bytes,
                  "weights are sharded over " + name + ", which cuts the batch, and the greedy picker moves activations to them ("
                      + bytesText(found.bytes) + " a step, " + countText(found.operations)
                      + (found.operations == 1 ? " operation" : " operations") + ", first " + found.first
                      + ") instead of gathering the weights as fully sharded data parallelism does",
                  pinnable ? "pin the batch as preset fsdp does" : "use profile shardboard, which can pin the batch" },
                pinnable ? std::optional(std::move(repair)) : std::nullopt);
    }
}

} // namespace shardboard

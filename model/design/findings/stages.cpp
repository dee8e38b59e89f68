// SPDX-License-Identifier: Apache-2.0
// Pipelines: what is cut or pinned over the mesh axis of the stages, whose devices hold other layers; and stages that do not
// hold equally many.
#include "model/design/findings/finders.h"
#include "model/plan/pipeline.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Whether it asks for a cut or a row there; that something is whole over it comes true.
bool asksFor(const Pin& pin, const std::string& axis)
{
    return (!pin.row.empty() && pin.axis == axis)
        || std::ranges::any_of(pin.dims, [&](const Pin::Dim& dim) { return contains(dim.axes, axis); });
}

/// `stages 0 to 2 hold 3 layers each, stage 3 holds 2`: the fuller ones are the first.
std::string layersText(const PlannedPipeline& pipeline)
{
    std::vector<std::string> parts;
    for (std::int64_t first = 0; first < pipeline.stages;) {
        const std::int64_t layers = layersOfStage(pipeline, first);
        std::int64_t last = first;
        while (last + 1 < pipeline.stages && layersOfStage(pipeline, last + 1) == layers)
            ++last;
        parts.push_back(first == last ? "stage " + std::to_string(first) + " holds " + std::to_string(layers)
                                      : "stages " + std::to_string(first) + " to " + std::to_string(last) + " hold "
                                + std::to_string(layers) + " each");
        first = last + 1;
    }
    return joined(parts);
}

} // namespace

void findCutsOverStages(const FinderInput& input, FindingList& out)
{
    const int axis = stageAxis(input.design);
    if (axis < 0 || input.mesh().axis(axis).size == 1)
        return;
    const std::string& name = input.mesh().axis(axis).name;
    for (const WeightLayout& weight : input.evaluation.weights) {
        Layout whole = weight.layout;
        bool cut = false;
        for (auto& dim : whole.dims)
            cut = std::erase_if(dim, [&](const AxisRef& ref) { return ref.axis == axis; }) > 0 || cut;
        if (!cut || weight.misfit)
            continue;
        std::optional<Repair> fix = giveStrategy(input, weight, propose(input, weight, whole));
        if (fix)
            fix->text = "Leave " + name + " out of " + shortWeightName(weight.spec.name);
        out.add({ "cut-over-stages", Severity::Warning, weight.spec.name, 0, // the plan is the same without that cut
                  "it is cut over mesh axis '" + name
                      + "', along which the pipeline's stages are arranged, each with its own layers: plan and run ignore that "
                        "cut, and every device of a stage holds it as if the cut were not there",
                  "leave " + name + " out of its strategy" },
                std::move(fix));
    }
    for (std::size_t i = 0; i < input.design.pins.size(); ++i) {
        const Pin& pin = input.design.pins[i];
        if (!asksFor(pin, name))
            continue;
        out.add({ "cut-over-stages", Severity::Warning, pinText(pin), 0,
                  "pin " + std::to_string(i + 1) + " refers to mesh axis '" + name
                      + "', along which the pipeline's stages are arranged: nothing is cut over it, so the pin does nothing there",
                  "leave " + name + " out of the pin" });
    }
}

void findUnevenStages(const FinderInput& input, FindingList& out)
{
    const auto& pipeline = input.evaluation.plan.pipeline;
    if (!pipeline || pipeline->layers % pipeline->stages == 0 || !pipeline->runEnds.empty()
        || pipeline->isDual()) // by hand they are meant so
        return;
    const std::int64_t fullest = layersOfStage(*pipeline, 0);
    const std::int64_t room = fullest * pipeline->stages;
    std::int64_t held = 0; // of layers, by the fullest stage
    for (const WeightLayout& weight : input.evaluation.weights)
        if (weight.firstLayer >= 0)
            held += input.held(weight);
    const std::int64_t more = held / room * (room - pipeline->layers); // beyond an even share
    out.add({ "uneven-stages", Severity::Note, input.design.pipeline.axis, input.withTraining(more),
              countText(pipeline->layers) + " layers do not divide by " + std::to_string(pipeline->stages)
                  + " stages: " + layersText(*pipeline) + "; the others wait for the fullest, "
                  + std::to_string((100 * (room - pipeline->layers) + room / 2) / room)
                  + " % of all time in which layers run, the bubble aside",
              "use a number of stages that divides the layers" });
}

} // namespace shardboard

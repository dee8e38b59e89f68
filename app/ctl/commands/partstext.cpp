// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/commands/partstext.h"

#include "app/ctl/table.h"
#include "app/ctl/visibleoutput.h"
#include "model/plan/time/partcosts.h"
#include "model/text/numbers.h"

#include <nlohmann/json.hpp>

namespace shardboard {

std::string partsText(const Graph& graph, const Plan& plan)
{
    Table table({ "part", "phase", ">layers", ">compute", ">collectives", ">exposed", ">time", ">share", ">of a layer", ">moved",
                  ">kept" });
    const double step = plan.seconds();
    for (const PartCost& part : partCosts(graph, plan)) {
        const double seconds = part.seconds();
        table.add({ part.name, part.plannedSegment.valid() ? phaseName(part.phase) : std::string("all"),
                    std::to_string(part.layers), secondsText(part.compute), secondsText(part.collectives),
                    secondsText(part.exposed), secondsText(seconds),
                    formatted("%.1f %%", step > 0 ? 100 * seconds * part.device / step : 0),
                    secondsText(seconds / static_cast<double>(part.layers)), bytesText(part.moved), bytesText(part.kept) });
    }
    return "Parts of the model in one step (time: compute and exposed collectives"
        + std::string(plan.pipeline ? ", of all stages; share: what a device has of the part, of the step" : "")
        + "; kept: for the backward pass, per device, one micro-batch)\n" + table.text();
}

nlohmann::json partsJson(const Graph& graph, const Plan& plan)
{
    nlohmann::json out = nlohmann::json::array();
    for (const PartCost& part : partCosts(graph, plan)) {
        nlohmann::json operations = nlohmann::json::array();
        for (const OperationCost& operation : part.operations)
            operations.push_back({ { "name", graph.op(operation.op).name },
                                   { "compute_seconds", operation.compute },
                                   { "collective_seconds", operation.collectives },
                                   { "exposed_seconds", operation.exposed } });
        out.push_back({ { "name", part.name },
                        { "phase", part.plannedSegment.valid() ? phaseName(part.phase) : std::string("all") },
                        { "layers", part.layers },
                        { "compute_seconds", part.compute },
                        { "collective_seconds", part.collectives },
                        { "exposed_seconds", part.exposed },
                        { "seconds", part.seconds() },
                        { "device_seconds", part.seconds() * part.device },
                        { "moved_bytes", part.moved },
                        { "kept_bytes", part.kept },
                        { "operations", std::move(operations) } });
    }
    return out;
}

} // namespace shardboard

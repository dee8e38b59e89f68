// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/xlalayouts.h"

#include "model/io/exports/exportrefusals.h"
#include "model/io/exports/leftout.h"
#include "model/io/exports/plannedvalues.h"
#include "model/text/numbers.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardboard {

using nlohmann::json;

namespace {

std::string entryText(const TensorSpec& spec, const std::string& sharding)
{
    return "{\"dtype\": \"" + dtypeName(spec.dtype) + "\", \"shape\": " + json(spec.shape).dump()
        + ", \"sharding\": " + asciiJson(sharding);
}

std::string block(const std::string& key, const std::vector<std::string>& lines, char open, char close)
{
    std::string text = ",\n\"" + key + "\": " + open;
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += (i > 0 ? ",\n" : "\n") + lines[i];
    return text + (lines.empty() ? "" : "\n") + close;
}

} // namespace

bool cutAsXla(const TensorSpec& spec, const Layout& layout, const Mesh& mesh)
{
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        const auto cutting = [&](const Cutting& by) { return canonicalCutting(spec.shape[dim], layout.dims[dim], mesh, by); };
        if (cutting(layout.cuttingOf(dim)) != cutting({ CutRule::CeilFlat, 1 }))
            return false;
    }
    return true;
}

std::string asciiJson(const std::string& text) { return json(text).dump(-1, ' ', true, json::error_handler_t::replace); }

std::string cleanName(const std::string& text) { return json::parse(asciiJson(text)).get<std::string>(); }

Result<std::vector<ExportRefusal>> xlaRefusals(const Design& design, const Evaluation& evaluation, const std::string& framework,
                                               const LayoutText& text, const std::function<bool()>& stopped)
{
    auto out = commonRefusals(design, evaluation,
                              { .framework = framework, .cut = CutRule::CeilFlat, .subAxes = true, .partial = true }, stopped);
    if (!out.ok())
        return out;
    for (const WeightLayout& weight : evaluation.weights)
        if (weight.layout.partial.empty())
            continue;
        else if (const auto said = text(weight.layout); !said.ok())
            out.value().push_back({ inputError(weight.spec.name, said.error().what, said.error().fix), weight.copies });
    const std::vector<std::int64_t>& ids = design.mesh.deviceIds();
    if (ids.empty())
        return out;
    const std::int64_t last = design.mesh.deviceCount() - 1;
    if (const std::int64_t largest = *std::ranges::max_element(ids); largest > last) // each stands there once
        out.value().insert(out.value().begin(),
                           { inputError("mesh",
                                        "has device id " + std::to_string(largest) + ", and " + framework
                                            + " numbers its devices 0 to " + std::to_string(last),
                                        "give the devices these numbers, in any order") });
    return out;
}

std::vector<std::string> xlaLeftOut(const Design& design, const Evaluation& evaluation, const LayoutText& text)
{
    Design pinless = design;
    pinless.pins.clear();
    std::vector<std::string> out = leftOutOf(pinless, "XLA");
    if (const auto rows = std::ranges::count_if(design.pins, [](const Pin& pin) { return !pin.row.empty(); }); rows > 0)
        out.push_back(counted(rows, "pin") + " of how an operation runs: XLA decides that by the layouts of its values");
    if (!design.pins.empty() && design.workload.kind == WorkloadKind::Train)
        out.emplace_back("pins of gradients: only values of the forward pass are listed");
    std::size_t unsaid = 0;
    for (const PlannedValue& value : plannedValues(design, evaluation))
        unsaid += cutAsXla(value.spec, value.layout, design.mesh) && text(value.layout).ok() ? 0U : 1U;
    if (unsaid > 0)
        out.push_back(std::to_string(unsaid) + (unsaid == 1 ? " activation" : " activations")
                      + " with a layout that has no form there (a partial maximum, a dim that is cut elsewhere)");
    return out;
}

std::string xlaLayoutsJson(const Design& design, const Evaluation& evaluation, const LayoutText& text)
{
    const Mesh& mesh = design.mesh;
    json axes = json::array();
    json sizes = json::array();
    for (const MeshAxis& axis : mesh.axes()) {
        axes.push_back(axis.name);
        sizes.push_back(axis.size);
    }
    json ids = mesh.deviceIds();
    std::string out = "{\n\"model\": " + asciiJson(design.model.name) + ",\n\"tensors\": " + std::to_string(weightCount(evaluation))
        + ",\n\"layers\": " + std::to_string(design.model.layers);
    std::vector<std::string> leftOut;
    for (const std::string& line : xlaLeftOut(design, evaluation, text))
        leftOut.push_back(asciiJson(line));
    out += block("left_out", leftOut, '[', ']');
    out += ",\n\"mesh\": {\"axes\": " + axes.dump() + ", \"sizes\": " + sizes.dump()
        + (mesh.deviceIds().empty() ? "" : ", \"device_ids\": " + ids.dump()) + "}";
    std::vector<std::string> weights;
    std::vector<std::string> inputs;
    for (const WeightLayout& weight : evaluation.weights) {
        const std::string entry = entryText(weight.spec, text(weight.layout).value()) + "}";
        if (weight.spec.role != TensorRole::Weight)
            inputs.push_back(asciiJson(weight.spec.name) + ": " + entry);
        else
            for (const std::string& name : namePatterns(weight, design.model.layers))
                weights.push_back(asciiJson(name) + ": " + entry);
    }
    std::vector<std::string> activations;
    for (const PlannedValue& value : plannedValues(design, evaluation)) {
        const auto sharding = text(value.layout);
        if (!sharding.ok() || !cutAsXla(value.spec, value.layout, mesh))
            continue;
        activations.push_back(asciiJson(value.name) + ": " + entryText(value.spec, sharding.value())
                              + ", \"value\": " + asciiJson(value.spec.name) + ", \"layers\": " + std::to_string(value.layers)
                              + ", \"pinned\": " + (value.pinned ? "true" : "false") + "}");
    }
    return out + block("weights", weights, '{', '}') + block("inputs", inputs, '{', '}')
        + block("activations", activations, '{', '}') + "\n}\n";
}

} // namespace shardboard

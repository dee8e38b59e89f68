// SPDX-License-Identifier: Apache-2.0
// Design -> text. Keys sorted, one line per entry; what an older program did not know is put back where it was.
#include "model/io/design/designfile.h"

#include "model/io/design/designmembers.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/json/meshjson.h"
#include "model/text/visibletext.h"

namespace shardboard {

using nlohmann::json;

namespace {

/// Null for what is no JSON, or too deep to be written again.
json parsed(const std::string& text)
{
    auto out = parseJson(text, "");
    return out.ok() ? std::move(out.value()) : json();
}

json looseWeightJson(const ModelSpec::LooseWeight& weight)
{
    json out { { "name", weight.tensor.name }, { "dtype", dtypeName(weight.tensor.dtype) } };
    out["shape"] = weight.unknownShape ? json() : json(weight.tensor.shape);
    if (!weight.tensor.dimLabels.empty())
        out["dims"] = weight.tensor.dimLabels;
    if (const WeightPacking& packing = weight.tensor.packing; packing.present())
        out["packed"] = { packing.bits, packing.outBlock, packing.inBlock, packing.blockBits };
    return out;
}

json modelJson(const ModelSpec& model, const json& unknown)
{
    json out = jsonOf(model);
    const json extras = unknown.is_object() ? unknown.value("weights", json::object()) : json::object();
    for (const ModelSpec::LooseWeight& weight : model.looseWeights) {
        json entry = looseWeightJson(weight);
        addUnknown(entry, extras.value(weight.tensor.name, json()));
        out["weights"].push_back(std::move(entry));
    }
    return out;
}

json strategiesJson(const std::vector<StrategyEntry>& entries, const json& unknown)
{
    json out = json::array();
    for (const StrategyEntry& entry : entries) {
        json item = strategyJson(entry);
        if (unknown.is_object())
            addUnknown(item, unknown.value(compactText(item), json()));
        out.push_back(std::move(item));
    }
    return out;
}

json rulesJson(const DesignRules& rules)
{
    json entries = json::array();
    for (const LogicalRule& rule : rules.rules)
        entries.push_back({ rule.name, rule.axes });
    return { { "entries", std::move(entries) }, { "source", visibleText(rules.source) } };
}

/// The window's state is JSON of its own; a text that is not stays a text.
json viewJson(const std::string& state)
{
    json view = parsed(state);
    return view.is_object() ? view : json(state);
}

std::string indented(int level) { return std::string(static_cast<std::size_t>(level) * 2, ' '); }

/// Objects of the first two levels with a line for each key, lists of objects or lists with a line for each; the rest compact.
std::string prettyText(const json& value, int level)
{
    const bool object = value.is_object() && level <= 1;
    const bool list = value.is_array() && level <= 2 && !value.empty() && value.front().is_structured();
    if ((!object && !list) || value.empty())
        return compactText(value);
    std::string out;
    for (const auto& item : value.items()) {
        out += (out.empty() ? "\n" : ",\n") + indented(level + 1);
        out += object ? compactText(json(item.key())) + ": " + prettyText(item.value(), level + 1) : compactText(item.value());
    }
    return (object ? "{" : "[") + out + "\n" + indented(level) + (object ? "}" : "]");
}

json pinsJson(const std::vector<Pin>& pins, const json& unknown)
{
    json list = json::array();
    for (const Pin& pin : pins) {
        json entry = pinJson(pin);
        if (const auto extra = unknown.find(compactText(entry)); unknown.is_object() && extra != unknown.end())
            addUnknown(entry, *extra);
        list.push_back(std::move(entry));
    }
    return list;
}

} // namespace

std::string attentionBiasName(AttentionBias bias)
{
    if (bias == AttentionBias::None)
        return "none";
    return bias == AttentionBias::Qkv ? "qkv" : "qkvo";
}

json transitionsJson(const TransitionSet& allowed) { return allowed == TransitionSet::all() ? json("ALL") : json(allowed.pairs()); }

json segmentsJson(const Strategy& strategy)
{
    json out = json::array();
    for (const StrategySegment& segment : strategy.segments)
        out.push_back(segment.text());
    return out;
}

json pinDimsJson(const std::vector<Pin::Dim>& dims)
{
    json out = json::object();
    for (const Pin::Dim& dim : dims)
        out[dim.label] = dim.axes;
    return out;
}

json strategyJson(const StrategyEntry& entry) { return jsonOf(entry); }
json pinJson(const Pin& pin) { return jsonOf(pin); }

std::string compactText(const json& value) { return jsonText(value); }

void addUnknown(json& known, const json& unknown)
{
    if (unknown.is_object())
        for (const auto& [key, value] : unknown.items())
            if (!known.contains(key))
                known[key] = value;
}

/// The id of a preset, or all values where the design has some of its own.
json hardwareOfDesign(const Design& design)
{
    if (design.ownHardware && design.ownHardware->id == design.hardware)
        return hardwareJson(*design.ownHardware);
    return design.hardware;
}

std::string designText(const Design& design)
{
    const json stored = parsed(design.unknownKeys);
    const json unknown = stored.is_object() ? stored : json::object();
    const auto unknownOf = [&](const char* key) { return unknown.value(key, json()); };
    json top {
        { "format", "shardboard" },
        { "version", kDesignVersion },
        { "hardware", hardwareOfDesign(design) },
        { "mesh", meshJson(design.mesh) },
        { "model", modelJson(design.model, unknownOf("model")) },
        { "picker", jsonOf(design.picker) },
        { "strategies", strategiesJson(design.strategies, unknownOf("strategies")) },
        { "workload", jsonOf(design.workload) },
    };
    if (design.pipeline.present())
        top["pipeline"] = jsonOf(design.pipeline);
    if (design.memory != MemorySettings {})
        top["memory"] = jsonOf(design.memory);
    if (!design.pins.empty())
        top["pins"] = pinsJson(design.pins, unknownOf("pins"));
    const json unknownOfRules = unknownOf("rules");
    if (!(design.rules == DesignRules {}) || unknownOfRules.is_object()) {
        top["rules"] = rulesJson(design.rules);
        addUnknown(top["rules"], unknownOfRules);
    }
    if (!design.viewState.empty())
        top["view"] = viewJson(design.viewState);
    for (const char* key : { "mesh", "model", "picker", "workload", "pipeline", "memory" })
        if (top.contains(key))
            addUnknown(top[key], unknownOf(key));
    addUnknown(top, unknown);
    return prettyText(top, 0) + "\n";
}

} // namespace shardboard

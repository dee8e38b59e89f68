// SPDX-License-Identifier: Apache-2.0
#include "model/io/maxtext/rulefilelayers.h"

#include "model/io/file/textfile.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace shardboard {

namespace {

constexpr int kMostBases = 8; // configurations that name each other as their base

bool isParallelism(const std::string& key)
{
    return (key.starts_with("ici_") || key.starts_with("dcn_")) && key.ends_with("_parallelism");
}

/// Keys that this program understands.
bool isRead(const std::string& key)
{
    static constexpr std::array<std::string_view, 20> kKeys { "base_config",
                                                              "mesh_axes",
                                                              "logical_axis_rules",
                                                              "override_logical_axis_rules",
                                                              "override_model_config",
                                                              "data_sharding",
                                                              "input_data_sharding_logical_axes",
                                                              "context_sharding",
                                                              "ulysses_context_sharding",
                                                              "custom_mesh_and_rule",
                                                              "shard_optimizer_over_data",
                                                              "use_random_routing",
                                                              "use_ragged_sort",
                                                              "ragged_buffer_factor",
                                                              "use_ring_of_experts",
                                                              "num_moe_emb_chunks",
                                                              "shard_exp_on_fsdp",
                                                              "use_2d_fsdp_sharding",
                                                              "use_batch_split_schedule",
                                                              "custom_mesh_and_rule_for_eval" };
    return isParallelism(key) || contains(kKeys, key);
}

bool sameValue(const YamlValue& a, const YamlValue& b)
{
    if (a.kind != b.kind || a.text != b.text || a.keys != b.keys || a.items.size() != b.items.size())
        return false;
    for (std::size_t i = 0; i < a.items.size(); ++i)
        if (!sameValue(a.items[i], b.items[i]))
            return false;
    return true;
}

std::map<std::string, PlacedValue> readKeys(const PlacedValue& map)
{
    std::map<std::string, PlacedValue> out;
    for (std::size_t i = 0; i < map.value.keys.size(); ++i)
        if (isRead(map.value.keys[i]))
            out[map.value.keys[i]] = { map.value.items[i], map.file };
    return out;
}

/// The base with what it is based on; keys of the outer file win, lists included.
Result<std::map<std::string, PlacedValue>> readBase(const std::string& path, int depth)
{
    const auto map = readYamlMap(path);
    if (!map.ok())
        return map.error();
    auto values = readKeys(map.value());
    const auto parent = values.find("base_config");
    if (parent == values.end())
        return values;
    const auto name = textFromYaml(parent->second);
    if (!name.ok())
        return name.error();
    if (name.value().empty())
        return values;
    if (depth == kMostBases)
        return inputError(parent->second.place(),
                          "more than " + std::to_string(kMostBases) + " configurations name each other as base_config",
                          "check for a circle");
    auto below = readBase((std::filesystem::path(path).parent_path() / name.value()).string(), depth + 1);
    if (!below.ok())
        return below.error();
    values.merge(below.value());
    return values;
}

Result<std::map<std::string, PlacedValue>> readSettings(const std::vector<std::string>& settings, RuleLayers& layers)
{
    std::map<std::string, PlacedValue> out;
    for (const std::string& setting : settings) {
        const auto equals = setting.find('=');
        const std::string key(trimmed(std::string_view(setting).substr(0, equals)));
        if (equals == std::string::npos || key.empty())
            return usageError("--set", "'" + setting + "' sets nothing", "write it as key=value");
        const std::string place = "--set " + key;
        auto value = parseYaml(setting.substr(equals + 1), place);
        if (!value.ok())
            return value.error();
        if (!isRead(key)) {
            layers.warn(place, "nothing here reads this key");
            continue;
        }
        if (!out.emplace(key, PlacedValue { std::move(value).value(), place }).second)
            return usageError(place, "the key is set twice", "set it once");
    }
    return out;
}

void warnOfMoves(RuleLayers& layers, const std::vector<LogicalRule>& newer)
{
    std::vector<std::string> told;
    for (const LogicalRule& rule : newer) {
        const auto older = std::ranges::find_if(layers.rules, [&](const LogicalRule& r) { return r.name == rule.name; });
        if (older == layers.rules.end() || contains(told, rule.name))
            continue;
        told.push_back(rule.name);
        layers.warn(rule.place, "'" + rule.name + "' replaces the rule of " + older->place + " and moves to the end of the order",
                    "rules that stood below it come first now");
    }
}

Status layRulesOver(RuleLayers& layers, const PlacedValue& list, bool replaces)
{
    auto rules = rulesFromYaml(list);
    if (!rules.ok())
        return rules.error();
    if (replaces) {
        layers.rules = std::move(rules).value();
    } else {
        warnOfMoves(layers, rules.value());
        layers.rules = mergedRules(layers.rules, rules.value());
    }
    return done();
}

Status layOver(RuleLayers& layers, const std::map<std::string, PlacedValue>& values, RuleLayer layer)
{
    bool replaces = layer == RuleLayer::Base;
    if (const auto flag = values.find("override_logical_axis_rules"); flag != values.end() && !replaces) {
        const auto set = flagFromYaml(flag->second);
        if (!set.ok())
            return set.error();
        replaces = set.value();
    }
    for (const auto& [key, value] : values) {
        if (key == "logical_axis_rules") {
            if (auto status = layRulesOver(layers, value, replaces); !status.ok())
                return status.error();
            if (layer != RuleLayer::Base)
                layers.rulesPlace = value.place();
        }
        layers.values[key] = { value, layer };
    }
    return done();
}

/// The command line wins over the model's file where override_model_config=true; otherwise MaxText refuses.
Status dropOverridden(std::map<std::string, PlacedValue>& model, const std::map<std::string, PlacedValue>& settings)
{
    bool allowed = false;
    if (const auto flag = settings.find("override_model_config"); flag != settings.end()) {
        const auto set = flagFromYaml(flag->second);
        if (!set.ok())
            return set.error();
        allowed = set.value();
    }
    for (const auto& [key, value] : settings) {
        const auto found = model.find(key);
        if (found == model.end() || sameValue(found->second.value, value.value))
            continue;
        if (!allowed)
            return inputError(value.place(), "'" + key + "' differs from that of the model, at " + found->second.place(),
                              "set override_model_config=true to let it win, as MaxText demands");
        model.erase(found);
    }
    return done();
}

} // namespace

const LayeredValue* RuleLayers::find(const std::string& key) const
{
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
}

void RuleLayers::warn(const std::string& place, const std::string& what, const std::string& fix)
{
    warnings.push_back(inputError(place, what, fix).text());
}

Result<PlacedValue> yamlMapFromText(const std::string& text, const std::string& file)
{
    auto value = parseYaml(text, file);
    if (!value.ok())
        return value.error();
    if (value.value().isNull())
        return inputError(yamlPlace(file, value.value()), "the file holds nothing",
                          "write mesh_axes and logical_axis_rules into it");
    if (!value.value().isMap())
        return inputError(yamlPlace(file, value.value()), value.value().shown() + " stands where keys are expected",
                          "write mesh_axes: [...] and logical_axis_rules: [...]");
    return PlacedValue { std::move(value).value(), file };
}

Result<PlacedValue> readYamlMap(const std::string& path)
{
    const auto text = readTextFile(path, YamlLimits {}.bytes);
    if (!text.ok())
        return text.error();
    return yamlMapFromText(text.value(), path);
}

Result<RuleLayers> layRules(const RuleSources& sources)
{
    RuleLayers layers;
    const auto presets = rulePresetNames();
    const std::string base = sources.base.empty() ? "default" : sources.base;
    if (!contains(presets, base)) {
        const auto values = readBase(base, 1);
        if (!values.ok())
            return values.error();
        for (const char* key : { "mesh_axes", "logical_axis_rules" })
            if (!values.value().contains(key))
                return inputError(base, std::string("the key '") + key + "' is missing, so this is no base configuration",
                                  "give it as model rules or as a custom mesh-and-rule file instead");
        if (auto status = layOver(layers, values.value(), RuleLayer::Base); !status.ok())
            return status.error();
    } else {
        const auto preset = rulePreset(base, "--base");
        if (!preset.ok())
            return preset.error();
        layers.rules = preset.value().rules;
    }
    const auto settings = readSettings(sources.settings, layers);
    if (!settings.ok())
        return settings.error();
    if (!sources.model.empty()) {
        const auto map = readYamlMap(sources.model);
        if (!map.ok())
            return map.error();
        auto values = readKeys(map.value());
        if (auto status = dropOverridden(values, settings.value()); !status.ok())
            return status.error();
        if (auto status = layOver(layers, values, RuleLayer::Model); !status.ok())
            return status.error();
    }
    if (auto status = layOver(layers, settings.value(), RuleLayer::Setting); !status.ok())
        return status.error();
    return layers;
}

} // namespace shardboard

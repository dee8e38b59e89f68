// SPDX-License-Identifier: Apache-2.0
#include "model/io/maxtext/rulefile.h"

#include "model/io/maxtext/rulefilelayers.h"
#include "model/text/contains.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <filesystem>

namespace shardboard {

namespace {

bool isPreset(const std::string& name) { return contains(rulePresetNames(), name); }

/// As people may see it: a file's name can be anything.
std::string fileName(const std::string& path) { return visibleText(std::filesystem::path(path).filename().string()); }

/// Fills what a key gives, when it is there.
template <class Out, class Read>
Status readInto(const RuleLayers& layers, const std::string& key, Out& out, Read read)
{
    const LayeredValue* value = layers.find(key);
    if (!value)
        return done();
    auto result = read(value->placed);
    if (!result.ok())
        return result.error();
    out = std::move(result).value();
    return done();
}

Status readOptions(const RuleLayers& layers, RuleSetup& setup)
{
    for (const auto& [key, value] : layers.values) {
        if (!key.ends_with("_parallelism"))
            continue;
        const auto size = parallelismFromYaml(value.placed);
        if (!size.ok())
            return size.error();
        setup.options[key] = size.value();
    }
    return done();
}

/// What the layers say, before a custom file.
Result<RuleSetup> setupOf(const RuleLayers& layers, const RuleSources& sources)
{
    RuleSetup setup;
    const std::string base = sources.base.empty() ? "default" : sources.base;
    if (isPreset(base)) {
        auto preset = rulePreset(base, "--base");
        if (!preset.ok())
            return preset.error();
        setup = std::move(preset).value();
    }
    setup.name = isPreset(base) ? base : fileName(base);
    setup.rules = layers.rules;
    const auto axes = [](const PlacedValue& value) { return namesFromYaml(value, "mesh axis"); };
    const auto names = [](const PlacedValue& value) { return namesFromYaml(value, "logical name"); };
    const auto data = [](const PlacedValue& value) {
        bool flat = false; // both forms mean the same in a main configuration
        return dataShardingFromYaml(value, flat);
    };
    for (const auto& status :
         { readInto(layers, "mesh_axes", setup.meshAxes, axes), readInto(layers, "data_sharding", setup.dataSharding, data),
           readInto(layers, "input_data_sharding_logical_axes", setup.inputNames, names),
           readInto(layers, "context_sharding", setup.contextAxis, textFromYaml),
           readInto(layers, "shard_optimizer_over_data", setup.optimizerOverData, flagFromYaml), readOptions(layers, setup) })
        if (!status.ok())
            return status.error();
    return setup;
}

/// The model's file and the command line say things that the custom rules throw away.
void warnOfReplaced(const RuleLayers& layers, const std::string& custom, RuleSetup& setup, bool rules, bool mesh, bool data)
{
    const auto tell = [&](const std::string& place, const std::string& what) {
        setup.warnings.push_back(place + ": " + what + " given here are replaced by " + custom);
    };
    if (rules && !layers.rulesPlace.empty())
        tell(layers.rulesPlace, "the logical_axis_rules");
    for (const auto& [key, replaced] : { std::pair { "mesh_axes", mesh }, std::pair { "data_sharding", data } })
        if (const LayeredValue* value = layers.find(key); replaced && value && value->layer != RuleLayer::Base)
            tell(value->placed.place(), "the axes of " + std::string(key));
}

Status applyCustomMap(RuleLayers& layers, const PlacedValue& map, RuleSetup& setup)
{
    bool has[3] = {};
    for (std::size_t i = 0; i < map.value.keys.size(); ++i) {
        const std::string& key = map.value.keys[i];
        const PlacedValue value { map.value.items[i], map.file };
        if (key == "mesh_axes") {
            auto axes = namesFromYaml(value, "mesh axis");
            if (!axes.ok())
                return axes.error();
            setup.meshAxes = std::move(axes).value();
            has[0] = true;
        } else if (key == "logical_axis_rules") {
            auto rules = rulesFromYaml(value);
            if (!rules.ok())
                return rules.error();
            setup.rules = std::move(rules).value();
            has[1] = true;
        } else if (key == "data_sharding") {
            bool flat = false;
            auto data = dataShardingFromYaml(value, flat);
            if (!data.ok())
                return data.error();
            setup.dataSharding = std::move(data).value();
            if (flat)
                setup.warnings.push_back(value.place()
                                         + ": MaxText takes data_sharding of a custom file as it is; write it as a "
                                           "list that holds one list");
            has[2] = true;
        } else {
            setup.warnings.push_back(value.place() + ": the key '" + shortened(visibleText(key), 60)
                                     + "' of a custom mesh-and-rule file is not read"
                                     + (key == "context_sharding" ? "; the axis comes from the rule activation_length" : ""));
        }
    }
    if (!has[0] && !has[1] && !has[2])
        return map.error(map.value, "none of mesh_axes, logical_axis_rules and data_sharding is here",
                         "check that this is the right file");
    warnOfReplaced(layers, map.file, setup, has[1], has[0], has[2]);
    for (std::size_t i = 0; i < map.value.keys.size(); ++i)
        if (map.value.keys[i] == "mesh_axes" || map.value.keys[i] == "data_sharding")
            layers.values[map.value.keys[i]] = { { map.value.items[i], map.file } }; // later complaints name the new place
    setup.name = fileName(map.file);
    return done();
}

Status applyCustomPreset(RuleLayers& layers, const std::string& name, RuleSetup& setup)
{
    const auto preset = rulePreset(name, "--rules");
    if (!preset.ok())
        return preset.error();
    setup.meshAxes = preset.value().meshAxes;
    setup.rules = preset.value().rules;
    setup.dataSharding = preset.value().dataSharding;
    warnOfReplaced(layers, name, setup, true, true, true);
    layers.values.erase("mesh_axes");
    layers.values.erase("data_sharding");
    setup.name = name;
    return done();
}

/// `custom_mesh_and_rule: NAME`, beside the base or built in.
Status applyNamed(RuleLayers& layers, const RuleSources& sources, const PlacedValue& value, RuleSetup& setup)
{
    const auto name = textFromYaml(value);
    if (!name.ok())
        return name.error();
    if (name.value().empty())
        return done();
    if (!sources.custom.empty()) {
        setup.warnings.push_back(value.place() + ": custom_mesh_and_rule '" + name.value() + "' gives way to " + sources.custom);
        return done();
    }
    if (name.value().find('/') != std::string::npos)
        return inputError(value.place(),
                          "'" + name.value() + "' is a path; custom_mesh_and_rule is the name of a file beside the base",
                          "give a file of your own as --rules FILE.yml");
    std::string looked;
    if (!sources.base.empty() && !isPreset(sources.base)) {
        const auto path = std::filesystem::path(sources.base).parent_path() / "custom_mesh_and_rule" / (name.value() + ".yml");
        std::error_code ignored;
        if (std::filesystem::exists(path, ignored)) {
            const auto map = readYamlMap(path.string());
            return map.ok() ? applyCustomMap(layers, map.value(), setup) : Status(map.error());
        }
        looked = " at " + path.string();
    }
    if (!isPreset(name.value()))
        return inputError(value.place(), "there is no custom mesh-and-rule file '" + name.value() + "'" + looked,
                          "built in are " + joined(rulePresetNames()) + "; or give a file as --rules FILE.yml");
    return applyCustomPreset(layers, name.value(), setup);
}

Status applyCustom(RuleLayers& layers, const RuleSources& sources, RuleSetup& setup)
{
    if (const LayeredValue* named = layers.find("custom_mesh_and_rule"))
        if (auto status = applyNamed(layers, sources, named->placed, setup); !status.ok())
            return status.error();
    if (sources.custom.empty())
        return done();
    if (isPreset(sources.custom))
        return applyCustomPreset(layers, sources.custom, setup);
    std::error_code ignored;
    const bool word = sources.custom.find_first_of("/.") == std::string::npos;
    if (word && !std::filesystem::exists(sources.custom, ignored))
        return inputError("--rules", "there is no rule set '" + sources.custom + "'",
                          "built in are " + joined(rulePresetNames()) + "; or name a file");
    const auto map = readYamlMap(sources.custom);
    return map.ok() ? applyCustomMap(layers, map.value(), setup) : Status(map.error());
}

/// What follows once everything is laid over everything.
void finish(const RuleLayers& layers, RuleSetup& setup)
{
    const auto length = std::ranges::find_if(setup.rules, [](const LogicalRule& rule) { return rule.name == "activation_length"; });
    const bool derived = length != setup.rules.end() && !length->axes.empty();
    if (const LayeredValue* asked = layers.find("context_sharding"); asked && derived && setup.contextAxis != length->axes.front()
        && (asked->layer != RuleLayer::Base || setup.contextAxis != "context"))
        setup.warnings.push_back(asked->placed.place() + ": context_sharding '" + setup.contextAxis + "' gives way to '"
                                 + length->axes.front() + "', the first axis of the rule activation_length (" + length->place
                                 + ")");
    if (derived)
        setup.contextAxis = length->axes.front();
    applyPipeline(setup);
    warnOfSilence(layers, setup);
}

} // namespace

Result<RuleSetup> openRules(const RuleSources& sources)
{
    auto layers = layRules(sources);
    if (!layers.ok())
        return layers.error();
    auto setup = setupOf(layers.value(), sources);
    if (!setup.ok())
        return setup.error();
    setup.value().warnings = layers.value().warnings;
    if (auto status = applyCustom(layers.value(), sources, setup.value()); !status.ok())
        return status.error();
    finish(layers.value(), setup.value());
    return setup;
}

Result<RuleSetup> rulesFromText(const std::string& text, const std::string& file)
{
    auto layers = layRules({});
    if (!layers.ok())
        return layers.error();
    auto setup = setupOf(layers.value(), {});
    if (!setup.ok())
        return setup.error();
    const auto map = yamlMapFromText(text, file);
    if (!map.ok())
        return map.error();
    if (auto status = applyCustomMap(layers.value(), map.value(), setup.value()); !status.ok())
        return status.error();
    finish(layers.value(), setup.value());
    return setup;
}

} // namespace shardboard

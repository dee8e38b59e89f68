// SPDX-License-Identifier: Apache-2.0
// What MaxText passes over in silence, or refuses although it can be resolved: said as warnings.
#include "model/io/maxtext/rulefilelayers.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

std::string placeOf(const RuleLayers& layers, const std::string& key, const RuleSetup& setup)
{
    const LayeredValue* value = layers.find(key);
    return value ? value->placed.place() : setup.name;
}

void warnOfAxes(const RuleLayers& layers, RuleSetup& setup)
{
    const auto tell = [&](const std::string& place, const std::string& what) { setup.warnings.push_back(place + ": " + what); };
    for (const std::string& axis : setup.meshAxes)
        if (!isMaxTextAxis(axis))
            tell(placeOf(layers, "mesh_axes", setup),
                 "MaxText knows no mesh axis '" + axis + "' and stops with a KeyError; here it takes its size from "
                     + parallelismOption("ici", axis));
    for (const std::string& axis : setup.dataSharding)
        if (!contains(setup.meshAxes, axis))
            tell(placeOf(layers, "data_sharding", setup), "data_sharding names '" + axis + "', which the mesh lacks");
    const auto length = std::ranges::find_if(
        setup.rules, [](const LogicalRule& rule) { return rule.name == "activation_length" && !rule.axes.empty(); });
    if (setup.contextAxis != "context" && setup.contextAxis != "expert")
        tell(length != setup.rules.end() ? length->place : placeOf(layers, "context_sharding", setup),
             "MaxText takes only context or expert as the axis of context parallelism, here it is '" + setup.contextAxis + "'");
    if (const LayeredValue* ulysses = layers.find("ulysses_context_sharding");
        ulysses && ulysses->placed.value.text != "context_usp_ulysses")
        tell(ulysses->placed.place(),
             "ulysses_context_sharding takes no other value than context_usp_ulysses; it is not read here");
}

void warnOfRules(RuleSetup& setup)
{
    constexpr std::size_t kMostPlaces = 3;
    std::vector<std::pair<std::string, std::vector<std::string>>> missing; // axis, places
    for (const LogicalRule& rule : setup.rules)
        for (std::size_t i = 0; i < rule.axes.size(); ++i) {
            const std::string& axis = rule.axes[i];
            if (std::find(rule.axes.begin(), rule.axes.begin() + static_cast<std::ptrdiff_t>(i), axis)
                != rule.axes.begin() + static_cast<std::ptrdiff_t>(i))
                setup.warnings.push_back(rule.place + ": the rule '" + rule.name + "' names " + axis
                                         + " twice; JAX refuses the spec that comes of it");
            if (contains(setup.meshAxes, axis))
                continue;
            const auto known = std::ranges::find_if(missing, [&](const auto& entry) { return entry.first == axis; });
            auto& places = known == missing.end() ? missing.emplace_back(axis, std::vector<std::string> {}).second : known->second;
            places.push_back(rule.place + " (" + rule.name + ")");
        }
    for (const auto& [axis, places] : missing) {
        std::string others;
        for (std::size_t i = 1; i < std::min(places.size(), kMostPlaces); ++i)
            others += ", " + places[i];
        if (places.size() > kMostPlaces)
            others += " and " + std::to_string(places.size() - kMostPlaces) + " more";
        setup.warnings.push_back(places.front() + ": the mesh has no axis '" + axis + "', which this rule names"
                                 + (others.empty() ? "" : "; so do " + others.substr(2)));
    }
}

/// An option whose axis the mesh lacks changes nothing, without a word.
void warnOfOptions(const RuleLayers& layers, RuleSetup& setup)
{
    for (const auto& [option, size] : setup.options) {
        const std::string_view kind = std::string_view(option).substr(0, 3);
        const bool used = std::ranges::any_of(
            setup.meshAxes, [&, name = option](const std::string& axis) { return parallelismOption(kind, axis) == name; });
        const LayeredValue* value = layers.find(option);
        if (used || !value || size == 1 || (value->layer == RuleLayer::Base && size == defaultParallelism(option)))
            continue;
        setup.warnings.push_back(value->placed.place() + ": " + option + "=" + std::to_string(size)
                                 + " is for no axis of the mesh and changes nothing; its axes are " + joined(setup.meshAxes));
    }
}

/// MaxText wants five options neutral when experts are not spread (expert-parallel rank 1).
void warnOfExperts(const RuleLayers& layers, RuleSetup& setup)
{
    if (const LayeredValue* flag = layers.find("override_logical_axis_rules"); flag && flag->placed.value.boolean().value_or(false))
        return;
    const auto rule = std::ranges::find_if(setup.rules, [](const LogicalRule& r) { return r.name == "exp"; });
    if (rule != setup.rules.end())
        for (const std::string& axis : rule->axes)
            if (parallelism(setup, "ici", axis) != 1 || parallelism(setup, "dcn", axis) != 1) // -1 counts as spread
                return;
    static constexpr std::array<std::pair<const char*, double>, 5> kNeutral { { { "use_random_routing", 0 },
                                                                                { "use_ragged_sort", 0 },
                                                                                { "ragged_buffer_factor", -1 },
                                                                                { "use_ring_of_experts", 0 },
                                                                                { "num_moe_emb_chunks", 0 } } };
    for (const auto& [key, neutral] : kNeutral) {
        const LayeredValue* value = layers.find(key);
        if (!value)
            continue;
        const YamlValue& yaml = value->placed.value;
        const auto number = yaml.boolean() ? std::optional<double>(*yaml.boolean() ? 1 : 0) : yaml.number();
        if (!number || *number != neutral)
            setup.warnings.push_back(value->placed.place() + ": MaxText refuses " + key + " " + yaml.shown()
                                     + " while experts are not spread over devices (the rule 'exp' cuts nothing)");
    }
}

/// Options that act where only the model's code sees them.
void warnOfNames(const RuleLayers& layers, RuleSetup& setup)
{
    for (const char* key : { "shard_exp_on_fsdp", "use_2d_fsdp_sharding", "use_batch_split_schedule" })
        if (const LayeredValue* value = layers.find(key); value && value->placed.value.boolean().value_or(false))
            setup.warnings.push_back(
                value->placed.place() + ": " + key
                + " changes the logical names of expert weights; the names resolved here must be made with it");
    if (const LayeredValue* eval = layers.find("custom_mesh_and_rule_for_eval"); eval && !eval->placed.value.text.empty())
        setup.warnings.push_back(eval->placed.place() + ": rules for evaluation are not read here");
    if (setup.optimizerOverData && !contains(setup.meshAxes, "data"))
        setup.warnings.push_back(placeOf(layers, "shard_optimizer_over_data", setup)
                                 + ": shard_optimizer_over_data needs a mesh axis data, which MaxText demands");
}

} // namespace

void warnOfSilence(const RuleLayers& layers, RuleSetup& setup)
{
    warnOfAxes(layers, setup);
    warnOfRules(setup);
    warnOfOptions(layers, setup);
    warnOfExperts(layers, setup);
    warnOfNames(layers, setup);
}

} // namespace shardboard

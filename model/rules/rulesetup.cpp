// SPDX-License-Identifier: Apache-2.0
#include "model/rules/rulesetup.h"

#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>

namespace shardboard {

bool isMaxTextAxis(const std::string& axis)
{
    static constexpr std::array<std::string_view, 16> kKnown { "diloco",
                                                               "data",
                                                               "stage",
                                                               "fsdp",
                                                               "fsdp_transpose",
                                                               "sequence",
                                                               "context",
                                                               "context_usp_ulysses",
                                                               "context_autoregressive",
                                                               "tensor",
                                                               "tensor_sequence",
                                                               "model",
                                                               "expert",
                                                               "autoregressive",
                                                               "attn_dp",
                                                               "attn_dp_expert" };
    return contains(kKnown, axis);
}

std::vector<std::vector<std::string>> withoutUselessAxes(std::vector<std::vector<std::string>> spec, const Mesh& mesh)
{
    for (auto& axes : spec)
        std::erase_if(axes, [&](const std::string& name) {
            const int axis = mesh.find(name);
            return axis < 0 || mesh.axis(axis).size == 1;
        });
    return spec;
}

Result<Layout> layoutFromSpec(const std::vector<std::vector<std::string>>& spec, const Mesh& mesh, const std::string& where)
{
    Layout layout = Layout::replicated(spec.size());
    for (std::size_t dim = 0; dim < spec.size(); ++dim)
        for (const std::string& name : spec[dim]) {
            const int axis = mesh.find(name);
            if (axis < 0)
                return inputError(where, "dim " + std::to_string(dim) + " is cut over '" + name + "', which the mesh lacks",
                                  "its axes are " + mesh.text());
            layout.dims[dim].push_back({ axis });
        }
    if (auto status = verifyLayout(layout, mesh, spec.size(), where); !status.ok())
        return status.error();
    return layout;
}

std::vector<LogicalRule> mergedRules(const std::vector<LogicalRule>& older, const std::vector<LogicalRule>& newer)
{
    std::vector<LogicalRule> out = older;
    std::erase_if(out, [&](const LogicalRule& rule) {
        return std::ranges::any_of(newer, [&](const LogicalRule& r) { return r.name == rule.name; });
    });
    out.insert(out.end(), newer.begin(), newer.end());
    return out;
}

namespace {

std::string orderText(const std::vector<std::string>& axes) { return joined(axes); }

/// Returns whether anything moved.
bool stageFirst(std::vector<std::string>& axes)
{
    const auto stage = std::ranges::find(axes, "stage");
    if (stage == axes.begin() || stage == axes.end())
        return false;
    std::rotate(axes.begin(), stage, stage + 1);
    return true;
}

} // namespace

void applyPipeline(RuleSetup& setup)
{
    if (parallelism(setup, "ici", "stage") <= 1 && parallelism(setup, "dcn", "stage") <= 1)
        return;
    const auto tell = [&](const std::string& what) { setup.warnings.push_back(setup.name + ": pipeline parallelism " + what); };
    const std::string batch = "activation_embed_and_logits_batch";
    const auto rule = std::ranges::find_if(setup.rules, [&](const LogicalRule& r) { return r.name == batch; });
    if (rule != setup.rules.end()) {
        const std::vector<std::string> fixed { "stage", "data", "fsdp", "fsdp_transpose", "expert" };
        if (rule->axes != fixed)
            tell("changes the rule " + batch + (rule->place.empty() ? "" : " (" + rule->place + ")") + " to " + joined(fixed));
        rule->axes = fixed;
    }
    auto& axes = setup.meshAxes;
    const auto stage = std::ranges::find(axes, "stage");
    const auto data = std::ranges::find(axes, "data");
    if (stage != axes.end() && data == axes.end()) {
        tell("needs a mesh with an axis data in MaxText, which refuses this one");
    } else if (stage != axes.end() && data < stage) {
        std::iter_swap(stage, data);
        tell("changes the mesh axes to the order " + orderText(axes));
    }
    if (stageFirst(setup.dataSharding))
        tell("puts stage first in data_sharding");
    if (stage != axes.end())
        tell("lets layers outside the pipeline use other rules: stage joins data there");
}

std::vector<LogicalRule> rulesOutsidePipeline(std::vector<LogicalRule> rules)
{
    for (LogicalRule& rule : rules) {
        std::erase(rule.axes, "stage");
        if (const auto data = std::ranges::find(rule.axes, "data"); data != rule.axes.end())
            rule.axes.insert(data, "stage");
    }
    return rules;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Axes that rules name and the mesh lacks: they are left out of layouts, but still block other rules. One finding for
// each axis, because a rule set written for another mesh names it in most rules.
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

struct Missing {
    std::vector<int> rules;
    std::int64_t weights = 0; ///< that a rule gives this axis
};

LogicalRule without(const LogicalRule& rule, const std::string& axis)
{
    LogicalRule out = rule;
    std::erase(out.axes, axis);
    return out;
}

std::string someRules(const DesignRules& rules, const std::vector<int>& list)
{
    std::string text = ruleText(rules, list.front()) + " " + rules.rules[static_cast<std::size_t>(list.front())].name;
    if (list.size() > 1)
        text += " and " + countText(static_cast<std::int64_t>(list.size()) - 1) + " more";
    return text;
}

} // namespace

void findRulesOutsideMesh(const FinderInput& input, FindingList& out)
{
    const auto& rules = input.design.rules.rules;
    std::map<std::string, Missing> missing;
    for (std::size_t i = 0; i < rules.size(); ++i)
        for (const std::string& axis : std::set<std::string>(rules[i].axes.begin(), rules[i].axes.end()))
            if (input.mesh().find(axis) < 0)
                missing[axis].rules.push_back(static_cast<int>(i));
    if (missing.empty())
        return;
    for (const WeightLayout& weight : input.evaluation.weights)
        for (std::size_t dim = 0; weight.resolution && dim < weight.resolution->spec.size(); ++dim)
            for (const std::string& axis : weight.resolution->spec[dim])
                if (const auto found = missing.find(axis); found != missing.end())
                    ++found->second.weights;
    for (const auto& [axis, it] : missing) {
        Repair repair { "Take " + axis + " out of " + countText(static_cast<std::int64_t>(it.rules.size())) + " rules", {} };
        for (const int rule : it.rules)
            repair.changes.push_back(ReplaceRule { rule, without(rules[static_cast<std::size_t>(rule)], axis) });
        out.add(
            { "outside-mesh", it.weights > 0 ? Severity::Warning : Severity::Note, axis, 0,
              someRules(input.design.rules, it.rules) + " name mesh axis '" + axis + "', which the mesh lacks: "
                  + (it.weights > 0 ? countText(it.weights) + " tensors get it, where it is left out (MaxText itself may refuse)"
                                    : std::string("it is left out, and still blocks other rules")),
              "take it out of the rules, or add it to the mesh" },
            std::move(repair));
    }
}

} // namespace shardboard

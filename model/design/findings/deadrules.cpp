// SPDX-License-Identifier: Apache-2.0
// Rules that can never apply: a rule above of the same name is empty and always decides, or its axes are all among
// theirs. Where the one above is skipped because an axis is taken, so is this one, and axes once taken stay taken.
#include "model/design/findings/finders.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

bool isSubset(const std::vector<std::string>& part, const std::vector<std::string>& whole)
{
    return std::ranges::all_of(part, [&](const std::string& axis) { return contains(whole, axis); });
}

} // namespace

void findDeadRules(const FinderInput& input, FindingList& out)
{
    constexpr std::size_t kMostOfAName = 64; // compared with each other; nobody writes as many fallbacks
    const auto& rules = input.design.rules.rules;
    std::unordered_map<std::string, std::vector<std::size_t>> alive;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        auto& above = alive[rules[i].name];
        const auto winner =
            std::ranges::find_if(above, [&](std::size_t other) { return isSubset(rules[other].axes, rules[i].axes); });
        if (winner == above.end()) {
            if (above.size() < kMostOfAName)
                above.push_back(i);
            continue;
        }
        const auto& axes = rules[*winner].axes;
        out.add({ "dead-rule", Severity::Note, rules[i].name, 0,
                  ruleText(input.design.rules, static_cast<int>(i)) + " ("
                      + (rules[i].axes.empty() ? "replicated" : joined(rules[i].axes))
                      + ") can never apply: " + ruleText(input.design.rules, static_cast<int>(*winner))
                      + (axes.empty() ? " always decides the name as replicated"
                                      : " wants only " + joined(axes) + ", so it decides first or both are skipped"),
                  "remove it, or move it up" },
                Repair { "Remove rule " + rules[i].name + ": " + (rules[i].axes.empty() ? "replicated" : joined(rules[i].axes)),
                         { RemoveRule { static_cast<int>(i) } } });
    }
}

} // namespace shardboard

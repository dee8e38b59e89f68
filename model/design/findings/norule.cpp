// SPDX-License-Identifier: Apache-2.0
// Logical names that no rule knows: such a dim is replicated without a message (maxtext 3, property 6).
#include "model/design/evaluation.h"
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

/// One letter more, less or another one, or two letters swapped.
bool speltNearly(const std::string& a, const std::string& b)
{
    const std::size_t distance = editDistance(a, b);
    if (distance != 2 || a.size() != b.size())
        return distance == 1;
    const auto [first, second] = std::mismatch(a.begin(), a.end(), b.begin());
    return first + 1 != a.end() && first[0] == second[1] && first[1] == second[0];
}

/// The rule that was most likely meant for `name`: one that no tensor's dim asks for and that is spelt nearly so. -1: none.
int misspeltRule(const std::vector<LogicalRule>& rules, const std::string& name, const std::set<std::string>& asked)
{
    constexpr std::size_t kShortest = 3;
    constexpr std::size_t kLongest = 64;
    if (name.size() < kShortest || name.size() > kLongest)
        return -1;
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (rules[i].name.size() >= kShortest && rules[i].name.size() <= kLongest && !asked.contains(rules[i].name)
            && speltNearly(lowered(rules[i].name), lowered(name)))
            return static_cast<int>(i);
    return -1;
}

/// Bytes of weights that a device holds less in the repaired design.
std::int64_t freedBy(const FinderInput& input, const Repair& repair)
{
    const auto then = planOnly(repaired(input.design, repair), Misfits::Replicate);
    return then.ok() ? std::max<std::int64_t>(0, input.evaluation.plan.memory.weights - then.value()->plan.memory.weights) : 0;
}

} // namespace

void findNoRule(const FinderInput& input, FindingList& out)
{
    if (input.design.rules.rules.empty())
        return;
    std::set<std::string> known;
    for (const LogicalRule& rule : input.design.rules.rules)
        known.insert(rule.name);
    struct Use {
        std::int64_t tensors = 0;
        std::int64_t bytes = 0; ///< beyond an even share
        std::string first;
    };
    std::map<std::string, Use> unknown;
    std::set<std::string> asked;
    for (const WeightLayout& weight : input.evaluation.weights)
        for (std::size_t dim = 0; weight.resolution && dim < weight.spec.logicalNames.size(); ++dim) {
            const std::string& name = weight.spec.logicalNames[dim];
            asked.insert(name);
            if (name.empty() || known.contains(name))
                continue;
            Use& use = unknown[name];
            if (use.tensors++ == 0)
                use.first = weight.spec.name;
            if (weight.layout.isReplicated() && weight.spec.role == TensorRole::Weight)
                use.bytes += input.cost(weight, weight.bytesPerDevice - weight.bytesPerDevice / input.mesh().deviceCount());
        }
    constexpr std::int64_t kLarge = std::int64_t { 1 } << 20;
    const int end = static_cast<int>(input.design.rules.rules.size());
    for (const auto& [name, use] : unknown) {
        std::string fix = "add a rule for it; an empty one means that it is meant to be replicated";
        std::int64_t cost = use.bytes;
        Repair repair { "Add rule " + name + ": replicated", { InsertRule { end, { name, {}, {} } } } };
        if (const int rule = misspeltRule(input.design.rules.rules, name, asked); rule >= 0) {
            LogicalRule renamed = input.design.rules.rules[static_cast<std::size_t>(rule)];
            fix = ruleText(input.design.rules, rule) + " is for '" + renamed.name + "', which no tensor asks for: was '" + name
                + "' meant?";
            repair.text = "Rename rule " + renamed.name + " to " + name;
            renamed.name = name;
            repair.changes = { ReplaceRule { rule, std::move(renamed) } };
            cost = input.withTraining(freedBy(input, repair));
        }
        out.add({ "no-rule", use.bytes >= kLarge ? Severity::Warning : Severity::Note, name, cost,
                  "no rule knows the logical name '" + name + "' of " + use.first
                      + (use.tensors > 1 ? " and " + countText(use.tensors - 1) + " more" : std::string())
                      + ", so that dim is replicated",
                  fix },
                std::move(repair));
    }
}

} // namespace shardboard

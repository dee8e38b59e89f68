// SPDX-License-Identifier: Apache-2.0
// A rule that names a mesh axis twice: resolution does not notice, but JAX refuses the spec (maxtext 3, property 10).
#include "model/core/checked.h"
#include "model/design/finder/mendedstrategy.h"
#include "model/design/findings/finders.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <set>

namespace shardboard {

namespace {

/// On a device, where each axis is used once.
std::int64_t mendedBytes(const FinderInput& input, const WeightLayout& weight)
{
    for (const Mended& mended : mendedFor(input, weight))
        if (const auto proposal = propose(input, weight, mended.strategy, mended.cut))
            return proposal->bytesPerDevice;
    return weight.bytesPerDevice;
}

} // namespace

void findRuleAxisTwice(const FinderInput& input, FindingList& out)
{
    const auto& rules = input.design.rules.rules;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        std::set<std::string> seen;
        std::vector<std::string> once;
        for (const std::string& axis : rules[i].axes)
            if (seen.insert(axis).second)
                once.push_back(axis);
        if (once.size() == rules[i].axes.size())
            continue;
        std::int64_t weights = 0;
        std::int64_t cost = 0;
        for (const WeightLayout& weight : input.evaluation.weights) {
            if (!weight.resolution || !weight.misfit || !contains(weight.resolution->decidedBy, static_cast<int>(i)))
                continue;
            ++weights;
            const std::int64_t left = mendedBytes(input, weight);
            cost = checkedAdd(cost, input.cost(weight, weight.bytesPerDevice - left)).value_or(cost);
        }
        const int index = static_cast<int>(i);
        out.add(
            { "axis-twice", Severity::Error, rules[i].name, cost,
              ruleText(input.design.rules, index) + " names a mesh axis twice: " + joined(rules[i].axes)
                  + (weights > 0 ? "; " + countText(weights) + " weights are replicated for it" : std::string()),
              "an axis can cut one dim of a tensor once" },
            Repair { "Make rule " + rules[i].name + ": " + joined(once), { ReplaceRule { index, { rules[i].name, once, {} } } } });
    }
}

} // namespace shardboard

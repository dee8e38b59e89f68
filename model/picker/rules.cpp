// SPDX-License-Identifier: Apache-2.0
#include "model/picker/rules.h"

#include "model/ops/opdefinition.h"
#include "model/ops/rows/shardingrule.h"

namespace shardboard {

namespace {

/// The rules of all kinds, read once.
const ShardingRule& ruleOf(OpKind kind)
{
    static const std::vector<ShardingRule> rules = [] {
        std::vector<ShardingRule> out;
        for (const OpDefinition* definition : allDefinitions()) {
            auto rule = ShardingRule::parse(definition->rule);
            out.push_back(rule.ok() ? std::move(rule).value() : ShardingRule {});
        }
        return out;
    }();
    return rules[static_cast<std::size_t>(kind)];
}

} // namespace

std::vector<Row> rowsFor(OpKind kind, const std::vector<Shape>& operands, const Shape& result, PickerProfile profile)
{
    return ruleOf(kind).rows(operands, result, profile);
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Logical names that no rule knows: such a dim is replicated without a message (maxtext 3, property 6).
#include "model/core/numbers.h"
#include "model/design/findings/finder.h"

#include <set>

namespace shardboard {

void findNoRule(const FinderInput& input, FindingList& out)
{
    if (input.design.rules.rules.empty())
        return;
    std::set<std::string> known;
    for (const LogicalRule& rule : input.design.rules.rules)
        known.insert(rule.name);
    struct Use {
        std::int64_t tensors = 0;
        std::int64_t bytes = 0;
        std::string first;
    };
    std::map<std::string, Use> unknown;
    for (const WeightLayout& weight : input.evaluation.weights)
        for (std::size_t dim = 0; weight.resolution && dim < weight.spec.logicalNames.size(); ++dim) {
            const std::string& name = weight.spec.logicalNames[dim];
            if (name.empty() || known.contains(name))
                continue;
            Use& use = unknown[name];
            if (use.tensors++ == 0)
                use.first = weight.spec.name;
            use.bytes += weight.layout.isReplicated() && weight.spec.role == TensorRole::Weight ? held(weight) : 0;
        }
    constexpr std::int64_t kLarge = std::int64_t { 1 } << 20;
    const int end = static_cast<int>(input.design.rules.rules.size());
    for (const auto& [name, use] : unknown)
        out.add({ "no-rule", use.bytes >= kLarge ? Severity::Warning : Severity::Note, name, use.bytes,
                  "no rule knows the logical name '" + name + "' of " + use.first
                      + (use.tensors > 1 ? " and " + countText(use.tensors - 1) + " more" : std::string())
                      + ", so that dim is replicated",
                  "add a rule for it; an empty one says that replicated is meant" },
                Repair { "Add rule " + name + ": replicated", { InsertRule { end, { name, {}, {} } } } });
}

} // namespace shardboard

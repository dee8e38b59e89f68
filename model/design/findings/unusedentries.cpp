// SPDX-License-Identifier: Apache-2.0
// Strategy entries whose pattern matches no tensor of the model. One that later entries override everywhere still
// matches something and is no finding.
#include "model/design/entryindex.h"
#include "model/design/findings/finder.h"

#include <optional>

namespace shardboard {

namespace {

NameIndex namesOf(const Evaluation& evaluation)
{
    std::vector<std::string> names;
    for (const WeightLayout& weight : evaluation.weights) {
        names.push_back(weight.spec.name);
        for (std::int64_t i = 0; weight.firstLayer >= 0 && i < weight.copies; ++i)
            names.push_back(concreteName(weight.spec.name, weight.firstLayer + i));
    }
    return NameIndex(std::move(names));
}

} // namespace

void findUnusedEntries(const FinderInput& input, FindingList& out)
{
    std::optional<NameIndex> names; // many designs have no entry that decides nothing
    for (std::size_t i = 0; i < input.design.strategies.size(); ++i) {
        const StrategyEntry& entry = input.design.strategies[i];
        if (!input.decidedBy(static_cast<int>(i)).empty())
            continue;
        if (!names)
            names = namesOf(input.evaluation);
        if (names->matchesAny(entry.match))
            continue;
        out.add({ "unused-entry", Severity::Note, entry.match, 0, "the pattern matches no tensor of the model",
                  "mend the pattern or remove the entry" },
                Repair { "Remove the entry for " + entry.match, { RemoveStrategy { static_cast<int>(i) } } });
    }
}

} // namespace shardboard

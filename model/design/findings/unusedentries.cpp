// SPDX-License-Identifier: Apache-2.0
// Strategy entries whose pattern matches no tensor of the model. One that later entries override everywhere still
// matches something and is no finding.
#include "model/design/entryindex.h"
#include "model/design/findings/finders.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Of all layers, or of each layer's weights once.
std::vector<std::string> namesOf(const Evaluation& evaluation, bool eachLayer)
{
    std::vector<std::string> names;
    for (const WeightLayout& weight : evaluation.weights) {
        names.push_back(weight.spec.name);
        for (std::int64_t i = 0; eachLayer && weight.firstLayer >= 0 && i < weight.copies; ++i)
            names.push_back(concreteName(weight.spec.name, weight.firstLayer + i));
    }
    return names;
}

} // namespace

void findUnusedEntries(const FinderInput& input, FindingList& out)
{
    const auto& entries = input.design.strategies;
    std::vector<int> idle; // decide nothing; many designs have none
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (input.decidedBy(static_cast<int>(i)).empty())
            idle.push_back(static_cast<int>(i));
    if (idle.empty())
        return;
    const EntryIndex index(entries);
    std::vector<bool> matching = index.matchingAny(namesOf(input.evaluation, false));
    if (!std::ranges::all_of(idle, [&](int entry) { return matching[static_cast<std::size_t>(entry)]; })) // which is rare
        matching = index.matchingAny(namesOf(input.evaluation, true));
    for (const int at : idle) {
        const StrategyEntry& entry = entries[static_cast<std::size_t>(at)];
        if (!matching[static_cast<std::size_t>(at)])
            out.add({ "unused-entry", Severity::Note, entry.match, 0, "the pattern matches no tensor of the model",
                      "correct the pattern or remove the entry" },
                    Repair { "Remove the entry for " + entry.match, { RemoveStrategy { at } } });
    }
}

} // namespace shardboard

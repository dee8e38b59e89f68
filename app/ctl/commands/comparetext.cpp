// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/commands/comparetext.h"

#include "app/ctl/table.h"
#include "model/text/text.h"

namespace shardboard {

namespace {

std::string namesText(const std::vector<std::string>& names)
{
    constexpr std::size_t kMost = 4;
    if (names.size() <= kMost)
        return joined(names);
    return joined({ names.begin(), names.begin() + kMost - 1 }) + " and " + std::to_string(names.size() - kMost + 1) + " more";
}

std::string orNothing(const std::string& text) { return text.empty() ? "-" : text; }

} // namespace

std::string comparisonText(const DesignComparison& comparison, const std::string& before, const std::string& after)
{
    std::string out;
    if (comparison.same()) {
        out = "Both designs are the same.\n\n";
    } else {
        Table changes({ "what differs", "", before, after });
        for (const DesignDifference& change : comparison.changes) {
            const std::string part = changePartName(change.part);
            const std::string names = namesText(change.names);
            changes.add({ part, names == part ? std::string() : names, orNothing(change.before), orNothing(change.after) });
        }
        out = changes.text(0) + "\n";
    }
    for (const std::string& note : comparison.notes)
        out += "note: " + note + "\n";
    if (!comparison.notes.empty())
        out += "\n";
    Table costs({ "what it costs", ">" + before, ">" + after, ">difference", ">", "" });
    for (const CostLine& line : comparison.costs) {
        const CostLine::Verdict verdict = line.verdict();
        const bool same = verdict == CostLine::Verdict::Same;
        const bool judged = verdict == CostLine::Verdict::Better || verdict == CostLine::Verdict::Worse;
        costs.add({ (line.part ? "  " : "") + line.name, costText(line.unit, line.before), costText(line.unit, line.after),
                    same ? "same" : costDifferenceText(line.unit, line.difference()),
                    same || line.unit == CostLine::Unit::Share ? std::string() : changeText(line.change()),
                    judged ? verdictName(verdict) : std::string() });
    }
    return out + costs.text(0);
}

} // namespace shardboard

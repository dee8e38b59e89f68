// SPDX-License-Identifier: Apache-2.0
// shardctl check: what is wrong with a design, what it costs and the smallest repair; --repair makes it.
#include "app/ctl/commands.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/evaluate/fitadvice.h"
#include "model/design/findings/findings.h"
#include "model/io/design/designfile.h"
#include "model/io/json/jsonwriter.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <set>

namespace shardboard {

namespace {

nlohmann::json findingsJson(const std::vector<DesignFinding>& findings)
{
    nlohmann::json list = nlohmann::json::array();
    for (const DesignFinding& finding : findings) {
        nlohmann::json item { { "kind", finding.kind },
                              { "severity", severityName(finding.severity) },
                              { "where", finding.where },
                              { "cost_bytes", finding.costBytes },
                              { "cost_kind", costKindName(costKind(finding.kind)) },
                              { "message", finding.message },
                              { "repair", finding.repair },
                              { "repairable", finding.fix.has_value() } };
        if (finding.fix)
            item["repair_edit"] = finding.fix->text;
        list.push_back(std::move(item));
    }
    return list;
}

/// `3. warning: lm_head.weight: what is wrong; costs 1 GiB of memory on each device` and below it what to do.
void printNumbered(const std::vector<DesignFinding>& findings)
{
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const DesignFinding& finding = findings[i];
        std::cout << i + 1 << ". " << severityName(finding.severity) << ": "
                  << inputError(finding.where, finding.kind + ": " + finding.message, costText(finding)).text() << "\n   "
                  << inputError({},
                                finding.repair
                                    + (finding.fix ? " [--repair " + std::to_string(i + 1) + ": " + finding.fix->text + "]" : ""))
                         .text()
                  << "\n";
    }
    if (findings.empty())
        std::cout << "nothing found\n";
}

/// Which list of the design a change is of, and its index there, so that two repairs of one round do not meet.
std::optional<std::pair<int, int>> placeOf(const DesignChange& change)
{
    return std::visit(
        [](const auto& c) -> std::optional<std::pair<int, int>> {
        using Change = std::decay_t<decltype(c)>;
        if constexpr (requires { c.index; })
            return std::pair { requires { c.pin; } || std::is_same_v<Change, RemovePin> ? 2 : requires {
        c.rule; } || std::is_same_v<Change, RemoveRule> ? 1 : 0,
                                   c.index
};
else return std::nullopt;
},
        change);
}

/// The repairs of all findings that can be made together, as one; `made` gets their texts.
Repair together(const std::vector<DesignFinding>& findings, std::vector<std::string>& made)
{
    Repair all;
    std::set<std::string> texts;
    std::set<std::pair<int, int>> places;
    for (const DesignFinding& finding : findings) {
        if (!isRepairedWithAll(finding) || !texts.insert(finding.fix->text).second)
            continue;
        std::set<std::pair<int, int>> own;
        for (const DesignChange& change : finding.fix->changes)
            if (const auto place = placeOf(change))
                own.insert(*place);
        if (std::ranges::any_of(own, [&](const auto& place) { return places.contains(place); }))
            continue;
        places.insert(own.begin(), own.end());
        all.changes.insert(all.changes.end(), finding.fix->changes.begin(), finding.fix->changes.end());
        made.push_back(finding.fix->text);
    }
    return all;
}

/// Repairs round after round: a repair can bring to light what another one can mend.
Status repairAll(OpenDesign& open, std::vector<std::string>& made)
{
    constexpr int kMostRounds = 64;
    for (int round = 0; round < kMostRounds; ++round) {
        const Repair repair = together(open.evaluation->findings, made);
        if (repair.changes.empty())
            break;
        open.design = repaired(std::move(open.design), repair);
        auto evaluation = evaluate(open.design, Misfits::Replicate);
        if (!evaluation.ok())
            return evaluation.error();
        open.evaluation = std::move(evaluation).value();
    }
    return done();
}

Status repairOne(OpenDesign& open, const std::string& number, std::vector<std::string>& made)
{
    const auto& findings = open.evaluation->findings;
    const auto index = parseInteger(number);
    if (!index || *index < 1 || *index > static_cast<std::int64_t>(findings.size()))
        return usageError("--repair", "there is no finding " + number,
                          findings.empty() ? "leave it out: nothing was found"
                                           : "use 1 to " + std::to_string(findings.size()) + ", or all");
    const DesignFinding& finding = findings[static_cast<std::size_t>(*index - 1)];
    if (!finding.fix)
        return inputError("--repair " + number, "there is no edit that repairs this", finding.repair);
    made.push_back(finding.fix->text);
    open.design = repaired(std::move(open.design), *finding.fix);
    auto evaluation = evaluate(open.design, Misfits::Replicate);
    if (!evaluation.ok())
        return evaluation.error();
    open.evaluation = std::move(evaluation).value();
    return done();
}

/// Notes alone are no reason to fail a script.
int exitCode(const std::vector<DesignFinding>& findings) { return std::ranges::any_of(findings, isDefect) ? kFindings : kDone; }

/// What does not fit gets the repair that planning changed designs has found.
void adviseFit(OpenDesign& open)
{
    auto advised = std::make_shared<Evaluation>(*open.evaluation);
    addFitRepair(open.design, advised->findings);
    open.evaluation = std::move(advised);
}

} // namespace

int checkCommand(const Arguments& arguments)
{
    if (arguments.has("--repair") != arguments.has("-o"))
        return report(usageError("shardctl check", arguments.has("-o") ? "-o without --repair" : "--repair without -o",
                                 "give both: --repair N -o FILE"));
    auto opened = openDesign(arguments.positional().front(), Misfits::Replicate);
    if (!opened.ok())
        return report(opened.error());
    std::vector<std::string> made;
    adviseFit(opened.value());
    if (arguments.has("--repair")) {
        const std::string what = arguments.text("--repair");
        const auto status = what == "all" ? repairAll(opened.value(), made) : repairOne(opened.value(), what, made);
        if (!status.ok())
            return report(status.error());
        if (const auto written = writeDesign(arguments.text("-o"), opened.value().design); !written.ok())
            return report(written.error());
        adviseFit(opened.value());
    }
    const auto& findings = opened.value().evaluation->findings;
    if (arguments.has("--json")) {
        nlohmann::json document { { "findings", findingsJson(findings) } };
        if (arguments.has("--repair"))
            document["repaired"] = made;
        std::cout << jsonText(document, 1) << "\n";
        return exitCode(findings);
    }
    for (const std::string& text : made)
        std::cout << "repaired: " << inputError({}, text).text() << "\n";
    if (arguments.has("--repair"))
        std::cout << arguments.text("-o") << " is written; what is left:\n";
    printNumbered(findings);
    return exitCode(findings);
}

} // namespace shardboard

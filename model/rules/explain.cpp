// SPDX-License-Identifier: Apache-2.0
#include "model/rules/logicalrules.h"
#include "model/text/text.h"

namespace shardboard {

namespace {

/// `rule 43 (base.yml:606)`, counted from 1 as a reader of the file would; the file without its folders.
std::string ruleText(const std::vector<LogicalRule>& rules, int index)
{
    std::string place = rules[static_cast<std::size_t>(index)].place;
    place.erase(0, place.rfind('/') + 1);
    return "rule " + std::to_string(index + 1) + (place.empty() ? "" : " (" + place + ")");
}

/// `fsdp=16, context=1, tensor (not in the mesh)`
std::string axesText(const std::vector<std::string>& axes, const Mesh& mesh)
{
    std::vector<std::string> parts;
    for (const std::string& name : axes) {
        const int axis = mesh.find(name);
        parts.push_back(axis < 0 ? name + " (not in the mesh)" : name + "=" + std::to_string(mesh.axis(axis).size));
    }
    return joined(parts);
}

std::string skippedText(const RuleTrial& trial, const std::vector<LogicalRule>& rules, const Mesh& mesh)
{
    const int axis = mesh.find(trial.axis);
    const std::string idle = axis < 0 ? ", which the mesh lacks," : mesh.axis(axis).size == 1 ? ", of size 1," : "";
    return "skipped " + ruleText(rules, trial.rule) + " " + joined(rules[static_cast<std::size_t>(trial.rule)].axes) + ": "
        + trial.axis + idle + " already cuts dim " + std::to_string(trial.takenByDim) + " by " + ruleText(rules, trial.takenByRule);
}

std::string verdictText(const std::string& name, int rule, bool tried, const std::vector<LogicalRule>& rules, const Mesh& mesh)
{
    if (name.empty())
        return "replicated, it has no name";
    if (rule < 0)
        return tried ? "replicated, no rule for the name fits" : "replicated, no rule is for this name";
    const auto& axes = rules[static_cast<std::size_t>(rule)].axes;
    return ruleText(rules, rule) + (axes.empty() ? " replicates it" : " " + axesText(axes, mesh));
}

} // namespace

std::vector<std::string> explainResolution(const std::vector<std::string>& names, const std::vector<LogicalRule>& rules,
                                           const Resolution& resolution, const Mesh& mesh)
{
    std::vector<std::string> out;
    for (std::size_t dim = 0; dim < names.size(); ++dim) {
        std::string skipped;
        bool tried = false;
        for (const RuleTrial& trial : resolution.trials) {
            if (trial.dim != static_cast<int>(dim))
                continue;
            tried = true;
            if (trial.outcome == RuleOutcome::AxisTaken)
                skipped += "; " + skippedText(trial, rules, mesh);
        }
        out.push_back("dim " + std::to_string(dim) + " (" + (names[dim].empty() ? "unnamed" : names[dim])
                      + "): " + verdictText(names[dim], resolution.decidedBy[dim], tried, rules, mesh) + skipped);
    }
    return out;
}

} // namespace shardboard

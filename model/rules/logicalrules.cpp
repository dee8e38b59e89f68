// SPDX-License-Identifier: Apache-2.0
#include "model/rules/logicalrules.h"

#include "model/text/contains.h"

#include <algorithm>

namespace shardboard {

namespace {

Status checkNames(const std::vector<std::string>& names, const std::string& where)
{
    for (std::size_t i = 0; i < names.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (!names[i].empty() && names[i] == names[j])
                return inputError(where,
                                  "dims " + std::to_string(j) + " and " + std::to_string(i) + " are both named '" + names[i] + "'",
                                  "give each dim of a tensor its own logical name, or null");
    return done();
}

/// The trial that blocks a rule: its first axis that another dim holds.
RuleTrial trialOf(const LogicalRule& rule, int index, int dim, const Resolution& so_far)
{
    RuleTrial trial;
    trial.rule = index;
    trial.dim = dim;
    if (so_far.decidedBy[static_cast<std::size_t>(dim)] >= 0) {
        trial.outcome = RuleOutcome::DimDecided;
        return trial;
    }
    for (const std::string& axis : rule.axes)
        for (std::size_t other = 0; other < so_far.spec.size(); ++other) {
            const auto& axes = so_far.spec[other];
            if (!contains(axes, axis))
                continue;
            trial.outcome = RuleOutcome::AxisTaken;
            trial.axis = axis;
            trial.takenByDim = static_cast<int>(other);
            trial.takenByRule = so_far.decidedBy[other];
            return trial;
        }
    return trial;
}

} // namespace

Result<Resolution> resolveNames(const std::vector<std::string>& names, const std::vector<LogicalRule>& rules,
                                const std::string& where)
{
    if (auto status = checkNames(names, where); !status.ok())
        return status.error();
    Resolution out;
    out.spec.resize(names.size());
    out.decidedBy.assign(names.size(), -1);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (rules[i].name.empty())
            continue; // an unnamed dim is not called anything
        const auto found = std::ranges::find(names, rules[i].name);
        if (found == names.end())
            continue;
        const auto dim = static_cast<std::size_t>(found - names.begin());
        out.trials.push_back(trialOf(rules[i], static_cast<int>(i), static_cast<int>(dim), out));
        if (out.trials.back().outcome == RuleOutcome::Decided) {
            out.spec[dim] = rules[i].axes;
            out.decidedBy[dim] = static_cast<int>(i);
        }
    }
    return out;
}

std::vector<std::string> lostAxes(const Resolution& resolution, const std::vector<LogicalRule>& rules, int dim)
{
    std::vector<std::string> out;
    const auto used = [&](const std::string& axis) {
        for (const auto& axes : resolution.spec)
            if (contains(axes, axis))
                return true;
        return contains(out, axis);
    };
    for (const RuleTrial& trial : resolution.trials)
        if (trial.dim == dim && trial.outcome == RuleOutcome::AxisTaken)
            for (const std::string& axis : rules[static_cast<std::size_t>(trial.rule)].axes)
                if (!used(axis))
                    out.push_back(axis);
    return out;
}

} // namespace shardboard

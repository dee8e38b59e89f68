// SPDX-License-Identifier: Apache-2.0
// Axes that a logical axis rule asks for on a dim and that cut nothing in the end, because another dim held one axis of
// the rule: then the whole rule is skipped, also where the axis held has one device and does nothing (maxtext 3, 6.4).
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

/// What one dim lost by its first skipped rule that lost something.
struct Loss {
    int dim = 0;
    const RuleTrial* trial = nullptr;
    std::vector<std::string> axes; ///< of more than one device, in the order of the rules
};

/// Per dim the axes of skipped rules that end up on no dim of the tensor; an axis is counted for the first dim only.
std::vector<Loss> lossesOf(const Resolution& resolution, const DesignRules& rules, const Mesh& mesh)
{
    std::set<std::string> used;
    for (const auto& axes : resolution.spec)
        used.insert(axes.begin(), axes.end());
    std::vector<Loss> losses;
    for (const RuleTrial& trial : resolution.trials) {
        if (trial.outcome != RuleOutcome::AxisTaken)
            continue;
        std::vector<std::string> lost;
        for (const std::string& name : rules.rules[static_cast<std::size_t>(trial.rule)].axes)
            if (const int axis = mesh.find(name); axis >= 0 && mesh.axis(axis).size > 1 && used.insert(name).second)
                lost.push_back(name);
        if (lost.empty())
            continue;
        auto known = std::ranges::find_if(losses, [&](const Loss& loss) { return loss.dim == trial.dim; });
        if (known == losses.end())
            losses.push_back({ trial.dim, &trial, std::move(lost) });
        else
            known->axes.insert(known->axes.end(), lost.begin(), lost.end());
    }
    return losses;
}

std::string lossText(const Loss& loss, const WeightLayout& weight, const DesignRules& rules, const Mesh& mesh)
{
    const RuleTrial& trial = *loss.trial;
    const int taken = mesh.find(trial.axis);
    const std::int64_t size = taken < 0 ? 0 : mesh.axis(taken).size;
    return "dim " + std::to_string(loss.dim) + " (" + weight.spec.logicalNames[static_cast<std::size_t>(loss.dim)] + ") asks for "
        + joined(loss.axes) + " by " + ruleText(rules, trial.rule) + " and does not get it, because "
        + ruleText(rules, trial.takenByRule) + " has given " + trial.axis + " to dim " + std::to_string(trial.takenByDim)
        + (size > 1        ? ""
               : size == 1 ? ", although that mesh axis has one device"
                           : ", although the mesh has no such axis");
}

/// The rules with the lost axes in a rule of their own behind the one that was skipped, as base.yml does for `embed`.
Repair fallbackRules(const std::vector<Loss>& losses, const WeightLayout& weight, const DesignRules& rules)
{
    Repair repair;
    for (const Loss& loss : losses) {
        LogicalRule rule { weight.spec.logicalNames[static_cast<std::size_t>(loss.dim)], loss.axes, {} };
        const auto& now = weight.resolution->spec[static_cast<std::size_t>(loss.dim)];
        rule.axes.insert(rule.axes.end(), now.begin(), now.end());
        repair.text += (repair.text.empty() ? "Add rule " : ", ") + rule.name + ": " + joined(rule.axes);
        repair.changes.push_back(InsertRule { loss.trial->rule + 1, std::move(rule) });
    }
    repair.text += " behind " + ruleText(rules, losses.front().trial->rule);
    return repair;
}

std::vector<AxisRef> axesInMesh(const std::vector<std::string>& names, const Mesh& mesh)
{
    std::vector<AxisRef> out;
    for (const std::string& name : names)
        if (const int axis = mesh.find(name); axis >= 0)
            out.push_back({ axis, 1, 0 });
    return out;
}

/// Whether other rules leave this weight without losses, and no weight with a dim that divided before and does not now.
bool rulesSuit(const FinderInput& input, const WeightLayout& lost, const DesignRules& rules)
{
    std::set<std::pair<std::vector<std::string>, Shape>> tried;
    for (const WeightLayout& weight : input.evaluation.weights) {
        if (!weight.resolution || !tried.emplace(weight.spec.logicalNames, weight.spec.shape).second)
            continue;
        const auto resolution = resolveNames(weight.spec.logicalNames, rules.rules, {});
        if (!resolution.ok())
            return false;
        for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
            const auto axes = axesInMesh(resolution.value().spec[dim], input.mesh());
            if (axes != weight.layout.dims[dim] && weight.spec.shape[dim] % partsOf(axes, input.mesh()) != 0)
                return false;
        }
        if (weight.spec.logicalNames == lost.spec.logicalNames && !lossesOf(resolution.value(), rules, input.mesh()).empty())
            return false;
    }
    return true;
}

/// The weight with the lost axes that divide their dims; nothing where none does.
std::optional<Proposal> withLostAxes(const FinderInput& input, const WeightLayout& weight, const std::vector<Loss>& losses)
{
    Layout layout = weight.layout;
    for (const Loss& loss : losses) {
        const auto dim = static_cast<std::size_t>(loss.dim);
        auto axes = layout.dims[dim];
        const auto more = axesInMesh(loss.axes, input.mesh());
        axes.insert(axes.end(), more.begin(), more.end());
        layout.dims[dim] = dividingAxes(weight, dim, axes, input.mesh());
    }
    return propose(input, weight, layout);
}

Repair repairOf(const FinderInput& input, const WeightLayout& weight, const std::vector<Loss>& losses,
                const std::optional<Proposal>& proposal)
{
    Repair repair = fallbackRules(losses, weight, input.design.rules);
    Design changed; // of the design only the rules count here
    changed.rules = input.design.rules;
    if (rulesSuit(input, weight, repaired(std::move(changed), repair).rules))
        return repair;
    // Where nothing divides, saying what it is now makes it meant.
    return giveStrategy(input, weight, proposal.value_or(Proposal {}));
}

} // namespace

void findLostAxes(const FinderInput& input, FindingList& out)
{
    for (const WeightLayout& weight : input.evaluation.weights) {
        if (!weight.resolution || weight.misfit)
            continue;
        const std::vector<Loss> losses = lossesOf(*weight.resolution, input.design.rules, input.mesh());
        if (losses.empty())
            continue;
        std::string message;
        std::int64_t parts = 1;
        for (const Loss& loss : losses) {
            message += (message.empty() ? "" : "; ") + lossText(loss, weight, input.design.rules, input.mesh());
            parts *= partsOf(axesInMesh(loss.axes, input.mesh()), input.mesh());
        }
        const auto proposal = withLostAxes(input, weight, losses);
        // Where no lost axis divides its dim: beyond an even share.
        const bool divides = proposal && proposal->bytesPerDevice < weight.bytesPerDevice;
        const std::int64_t left = divides ? proposal->bytesPerDevice : weight.bytesPerDevice / parts;
        Finding finding { "silently-replicated",
                          Severity::Warning,
                          weight.spec.name,
                          input.cost(weight, weight.bytesPerDevice - left),
                          message,
                          "add a rule without the axis that is taken, or give the weight a strategy" };
        const bool told = !out.full(finding.kind);
        out.add(std::move(finding), told ? std::optional(repairOf(input, weight, losses, proposal)) : std::nullopt);
    }
}

} // namespace shardboard

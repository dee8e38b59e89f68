// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/ruletrace.h"

#include "widgets/edits/ruleedits.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QObject>

#include <algorithm>
#include <map>

namespace shardboard {

namespace {

const LogicalRule& ruleAt(const Design& design, int index) { return design.rules.rules[static_cast<std::size_t>(index)]; }

bool contains(const std::vector<std::string>& all, const std::string& one)
{
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// A rule of the same name above whose axes are all among this rule's: where it does not fit, this one does not either.
int shadowOf(const std::vector<LogicalRule>& rules, std::size_t index)
{
    for (std::size_t above = 0; above < index; ++above) {
        if (rules[above].name != rules[index].name)
            continue;
        const auto& axes = rules[above].axes;
        if (std::all_of(axes.begin(), axes.end(), [&](const auto& axis) { return contains(rules[index].axes, axis); }))
            return static_cast<int>(above);
    }
    return -1;
}

QString storyOf(const RuleUse& use, const LogicalRule& rule, const Mesh& mesh)
{
    QStringList parts;
    if (use.shadowedBy >= 0)
        parts << QObject::tr("can never apply: rule %1 above is for %2 too and fits whenever this one would")
                     .arg(use.shadowedBy + 1)
                     .arg(qstr(rule.name));
    else if (use.dims == 0)
        parts << QObject::tr("no dim of this model is called %1").arg(qstr(rule.name));
    else
        parts << QObject::tr("decides %1 of %2 called %3")
                     .arg(countText(use.decided), counted(use.dims, QObject::tr("dim"), QObject::tr("dims")), qstr(rule.name));
    if (use.lost > 0)
        parts << QObject::tr("skipped on %1, where one of its axes is taken")
                     .arg(counted(use.lost, QObject::tr("dim"), QObject::tr("dims")));
    QStringList missing;
    for (const std::string& axis : rule.axes)
        if (mesh.find(axis) < 0)
            missing << qstr(axis);
    if (!missing.isEmpty())
        parts << QObject::tr("not in the mesh, so left out: %1").arg(missing.join(QStringLiteral(", ")));
    return parts.join(QStringLiteral("; "));
}

/// `fsdp_transpose`, with what it is worth where that is nothing.
QString axisText(const std::string& name, const Mesh& mesh)
{
    const int axis = mesh.find(name);
    if (axis < 0)
        return QObject::tr("%1 (not in the mesh)").arg(qstr(name));
    return mesh.axis(axis).size == 1 ? QObject::tr("%1 (size 1, does nothing)").arg(qstr(name)) : qstr(name);
}

QString trialText(const Design& design, const RuleTrial& trial, int decidedBy)
{
    const LogicalRule& rule = ruleAt(design, trial.rule);
    const QString axes = rule.axes.empty() ? QObject::tr("replicated") : shownText(axesToText(rule.axes));
    const QString head = QObject::tr("rule %1 → %2").arg(QString::number(trial.rule + 1), axes);
    switch (trial.outcome) {
    case RuleOutcome::Decided:
        return QObject::tr("%1: decides").arg(head);
    case RuleOutcome::DimDecided:
        return QObject::tr("%1: not asked, rule %2 had decided").arg(head).arg(decidedBy + 1);
    case RuleOutcome::AxisTaken:
        break;
    }
    return QObject::tr("%1: skipped, %2 already cuts dim %3 by rule %4")
        .arg(head, axisText(trial.axis, design.mesh), QString::number(trial.takenByDim), QString::number(trial.takenByRule + 1));
}

QString verdictText(const Design& design, const std::string& name, int decidedBy, bool tried)
{
    if (name.empty())
        return QObject::tr("replicated: the dim has no name");
    if (decidedBy < 0)
        return tried ? QObject::tr("replicated: no rule fits") : QObject::tr("replicated: no rule for the name");
    const auto& asked = ruleAt(design, decidedBy).axes;
    QStringList cutting;
    for (const std::string& one : asked)
        if (const int axis = design.mesh.find(one); axis >= 0 && design.mesh.axis(axis).size > 1)
            cutting << qstr(one);
    if (!cutting.isEmpty())
        return cutting.join(QStringLiteral(", "));
    return asked.empty() ? QObject::tr("replicated by rule %1").arg(decidedBy + 1)
                         : QObject::tr("whole: no axis of rule %1 has several devices").arg(decidedBy + 1);
}

/// Whether an axis of several devices that a skipped rule asked for cuts no dim of the tensor in the end.
bool losesAxis(const Design& design, const Resolution& resolution, const RuleTrial& trial)
{
    if (trial.outcome != RuleOutcome::AxisTaken)
        return false;
    for (const std::string& name : ruleAt(design, trial.rule).axes) {
        const int axis = design.mesh.find(name);
        const bool used =
            std::any_of(resolution.spec.begin(), resolution.spec.end(), [&](const auto& dim) { return contains(dim, name); });
        if (axis >= 0 && design.mesh.axis(axis).size > 1 && !used)
            return true;
    }
    return false;
}

} // namespace

std::vector<RuleUse> ruleUses(const Design& design, const Evaluation& evaluation)
{
    const auto& rules = design.rules.rules;
    std::vector<RuleUse> out(rules.size());
    std::map<std::string, int> dims;
    for (const WeightLayout& weight : evaluation.weights) {
        for (const std::string& name : weight.spec.logicalNames)
            ++dims[name];
        if (!weight.resolution)
            continue;
        for (const RuleTrial& trial : weight.resolution->trials) {
            if (trial.rule < 0 || static_cast<std::size_t>(trial.rule) >= out.size())
                continue;
            RuleUse& use = out[static_cast<std::size_t>(trial.rule)];
            use.decided += trial.outcome == RuleOutcome::Decided ? 1 : 0;
            use.lost += trial.outcome == RuleOutcome::AxisTaken ? 1 : 0;
        }
    }
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto found = dims.find(rules[i].name);
        out[i].dims = found == dims.end() ? 0 : found->second;
        out[i].shadowedBy = shadowOf(rules, i);
        out[i].story = storyOf(out[i], rules[i], design.mesh);
    }
    return out;
}

WeightTrace traceOf(const Design& design, const WeightLayout& weight)
{
    WeightTrace out;
    const auto& names = weight.spec.logicalNames;
    if (weight.entry >= 0 && static_cast<std::size_t>(weight.entry) < design.strategies.size())
        out.hidden = QObject::tr("Strategy “%1” decides this tensor and hides the rules. Without it they would say:")
                         .arg(qstr(design.strategies[static_cast<std::size_t>(weight.entry)].match));
    if (names.empty() || design.rules.rules.empty())
        return out;
    Result<Resolution> resolved =
        weight.resolution ? Result<Resolution>(*weight.resolution) : resolveNames(names, design.rules.rules, weight.spec.name);
    if (!resolved.ok()) {
        out.problem = errorText(resolved.error());
        return out;
    }
    const Resolution& resolution = resolved.value();
    for (std::size_t dim = 0; dim < names.size(); ++dim) {
        TraceDim traced;
        traced.decidedBy = resolution.decidedBy[dim];
        traced.title =
            QObject::tr("dim %1 · %2").arg(QString::number(dim), names[dim].empty() ? QObject::tr("no name") : qstr(names[dim]));
        for (const RuleTrial& trial : resolution.trials) {
            if (trial.dim != static_cast<int>(dim))
                continue;
            traced.lost = traced.lost || losesAxis(design, resolution, trial);
            traced.rules.push_back({ trial.rule, trial.outcome, trialText(design, trial, traced.decidedBy) });
        }
        traced.verdict = verdictText(design, names[dim], traced.decidedBy, !traced.rules.empty());
        out.dims.push_back(std::move(traced));
    }
    return out;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/ruleedits.h"

#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QObject>
#include <QRegularExpression>

#include <algorithm>

namespace shardboard {

namespace {

int countOf(const Design& design) { return static_cast<int>(design.rules.rules.size()); }

/// Without doubles and rows that are not there, in order.
std::vector<int> usable(std::vector<int> rows, int count)
{
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    rows.erase(std::remove_if(rows.begin(), rows.end(), [count](int row) { return row < 0 || row >= count; }), rows.end());
    return rows;
}

/// `rule embed`, or `3 rules`.
QString rulesText(const Design& design, const std::vector<int>& rows)
{
    if (rows.size() != 1)
        return QObject::tr("%1 rules").arg(rows.size());
    return QObject::tr("rule %1").arg(qstr(design.rules.rules[static_cast<std::size_t>(rows.front())].name));
}

/// Rules that were changed are no longer quite those of their source.
void markEdited(DesignRules& rules)
{
    static const std::string kEdited = ", edited";
    const std::string& source = rules.source;
    const bool marked =
        source.size() >= kEdited.size() && source.compare(source.size() - kEdited.size(), kEdited.size(), kEdited) == 0;
    if (!source.empty() && !marked)
        rules.source += kEdited;
    if (rules.rules.empty())
        rules.source.clear();
}

} // namespace

RuleEdit movedRules(const Design& design, std::vector<int> rows, int before)
{
    const int count = countOf(design);
    rows = usable(std::move(rows), count);
    before = std::clamp(before, 0, count);
    RuleEdit out { design, QObject::tr("Move %1").arg(rulesText(design, rows)), {} };
    const auto& old = design.rules.rules;
    std::vector<LogicalRule> rules;
    for (int row = 0; row <= count; ++row) {
        if (row == before) {
            for (const int moved : rows) {
                out.rows.push_back(static_cast<int>(rules.size()));
                rules.push_back(old[static_cast<std::size_t>(moved)]);
            }
        }
        if (row < count && !std::binary_search(rows.begin(), rows.end(), row))
            rules.push_back(old[static_cast<std::size_t>(row)]);
    }
    if (rules != old) {
        out.design.rules.rules = std::move(rules);
        markEdited(out.design.rules);
    }
    return out;
}

RuleEdit shiftedRules(const Design& design, std::vector<int> rows, int by)
{
    rows = usable(std::move(rows), countOf(design));
    if (rows.empty() || by == 0)
        return { design, {}, rows };
    const int before = by < 0 ? rows.front() - 1 : rows.back() + 2;
    if (before < 0 || before > countOf(design))
        return { design, {}, rows };
    return movedRules(design, rows, before);
}

RuleEdit insertedRule(const Design& design, int before, const LogicalRule& rule)
{
    RuleEdit out { design, QObject::tr("Add rule %1").arg(qstr(rule.name)), {} };
    before = std::clamp(before, 0, countOf(design));
    out.design.rules.rules.insert(out.design.rules.rules.begin() + before, rule);
    markEdited(out.design.rules);
    out.rows = { before };
    return out;
}

RuleEdit duplicatedRules(const Design& design, std::vector<int> rows)
{
    rows = usable(std::move(rows), countOf(design));
    RuleEdit out { design, QObject::tr("Duplicate %1").arg(rulesText(design, rows)), {} };
    if (rows.empty())
        return out;
    std::vector<LogicalRule> copies;
    for (const int row : rows) {
        copies.push_back(design.rules.rules[static_cast<std::size_t>(row)]);
        copies.back().place.clear(); // nobody wrote the copy there
    }
    const int at = rows.back() + 1;
    out.design.rules.rules.insert(out.design.rules.rules.begin() + at, copies.begin(), copies.end());
    for (std::size_t i = 0; i < copies.size(); ++i)
        out.rows.push_back(at + static_cast<int>(i));
    markEdited(out.design.rules);
    return out;
}

RuleEdit removedRules(const Design& design, std::vector<int> rows)
{
    rows = usable(std::move(rows), countOf(design));
    RuleEdit out { design, QObject::tr("Remove %1").arg(rulesText(design, rows)), {} };
    if (rows.empty())
        return out;
    auto& rules = out.design.rules.rules;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row)
        rules.erase(rules.begin() + *row);
    if (!rules.empty())
        out.rows = { std::min(rows.front(), countOf(out.design) - 1) };
    markEdited(out.design.rules);
    return out;
}

RuleEdit changedRule(const Design& design, int row, const LogicalRule& rule)
{
    RuleEdit out { design, {}, { row } };
    if (row < 0 || row >= countOf(design))
        return out;
    LogicalRule& old = out.design.rules.rules[static_cast<std::size_t>(row)];
    if (old == rule)
        return out;
    out.text = old.name != rule.name
        ? QObject::tr("Rename rule %1 to %2").arg(qstr(old.name), qstr(rule.name))
        : QObject::tr("Set rule %1 to %2")
              .arg(qstr(rule.name), rule.axes.empty() ? QObject::tr("replicated") : shownText(axesToText(rule.axes)));
    old = rule;
    markEdited(out.design.rules);
    return out;
}

RuleEdit takenRules(const Design& design, const RuleSetup& setup, const std::string& source)
{
    RuleEdit out { design, QObject::tr("Use the rules of %1").arg(qstr(source)), {} };
    out.design.rules = { source, setup.rules };
    return out;
}

RuleEdit withoutRules(const Design& design)
{
    RuleEdit out { design, QObject::tr("Remove all rules"), {} };
    out.design.rules = {};
    return out;
}

std::vector<std::string> missingAxes(const DesignRules& rules, const Mesh& mesh)
{
    std::vector<std::string> out;
    for (const LogicalRule& rule : rules.rules)
        for (const std::string& axis : rule.axes)
            if (mesh.find(axis) < 0 && std::find(out.begin(), out.end(), axis) == out.end())
                out.push_back(axis);
    return out;
}

QString axesToText(const std::vector<std::string>& axes)
{
    QStringList parts;
    for (const std::string& axis : axes)
        parts << verbatim(axis);
    return parts.join(QStringLiteral(", "));
}

std::vector<std::string> axesFromText(const QString& text)
{
    static const QRegularExpression between(QStringLiteral("[\\s,;\\[\\]()'\"]+"));
    std::vector<std::string> out;
    for (const QString& part : text.split(between, Qt::SkipEmptyParts))
        out.push_back(part.toStdString());
    return out;
}

} // namespace shardboard

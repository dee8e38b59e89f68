// SPDX-License-Identifier: Apache-2.0
// Edits of a design's logical axis rules as designs and undo texts, and the text form of a rule's mesh axes. Pure.
#pragma once

#include "model/design/design.h"
#include "model/rules/rulesetup.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

namespace shardboard {

/// A design to go to, the name of the step that leads there, and the rules that should be selected afterwards.
struct RuleEdit {
    Design design;
    QString text;
    std::vector<int> rows;
};

/// Moves the rules at `rows` together to the place before rule `before` (their number: to the end), in their order.
RuleEdit movedRules(const Design& design, std::vector<int> rows, int before);
/// One place up (-1) or down (+1); nothing changes at the ends.
RuleEdit shiftedRules(const Design& design, std::vector<int> rows, int by);
RuleEdit insertedRule(const Design& design, int before, const LogicalRule& rule);
RuleEdit duplicatedRules(const Design& design, std::vector<int> rows);
RuleEdit removedRules(const Design& design, std::vector<int> rows);
RuleEdit changedRule(const Design& design, int row, const LogicalRule& rule);
/// The rules of a rule set in place of all others; the mesh stays.
RuleEdit takenRules(const Design& design, const RuleSetup& setup, const std::string& source);
RuleEdit withoutRules(const Design& design);

/// Mesh axes that the rules name and the mesh lacks, each once, in the order of the rules.
std::vector<std::string> missingAxes(const DesignRules& rules, const Mesh& mesh);

/// `fsdp, context`; empty for a rule that replicates.
QString axesToText(const std::vector<std::string>& axes);
/// The mesh axes of `fsdp, context`, of `['fsdp', 'context']` or of `[]`, as people type or paste them.
std::vector<std::string> axesFromText(const QString& text);

} // namespace shardboard

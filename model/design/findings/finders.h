// SPDX-License-Identifier: Apache-2.0
// The finders. Each looks for one kind of thing in an evaluated design, in a file of its own; findings.cpp has the list.
#pragma once

#include "model/design/finder/finder.h"

namespace shardboard {

/// Whether a pin does nothing at all (findDeadPins tells why).
bool isDeadPin(const FinderInput& input, const Pin& pin);

void findNotUnderstood(const FinderInput& input, FindingList& out);
void findMisfits(const FinderInput& input, FindingList& out);
void findOverMemory(const FinderInput& input, FindingList& out);
void findHostMemory(const FinderInput& input, FindingList& out);
void findSilentlyReplicated(const FinderInput& input, FindingList& out);
void findReplicated(const FinderInput& input, FindingList& out);
void findLostAxes(const FinderInput& input, FindingList& out);
void findIndivisible(const FinderInput& input, FindingList& out);
void findHeadsSplit(const FinderInput& input, FindingList& out);
void findQueryGroupsSplit(const FinderInput& input, FindingList& out);
void findQuantBlocksSplit(const FinderInput& input, FindingList& out);
void findDeadRules(const FinderInput& input, FindingList& out);
void findRulesOutsideMesh(const FinderInput& input, FindingList& out);
void findNoRule(const FinderInput& input, FindingList& out);
void findRuleAxisTwice(const FinderInput& input, FindingList& out);
void findUnusedAxes(const FinderInput& input, FindingList& out);
void findUnusedEntries(const FinderInput& input, FindingList& out);
void findCutsOverStages(const FinderInput& input, FindingList& out);
void findUnevenStages(const FinderInput& input, FindingList& out);
void findDeadPins(const FinderInput& input, FindingList& out);
void findUnmetPins(const FinderInput& input, FindingList& out);
void findMovedActivations(const FinderInput& input, FindingList& out);
void findMaxDefects(const FinderInput& input, FindingList& out);
void findPickerRefusals(const FinderInput& input, FindingList& out);
void findReshards(const FinderInput& input, FindingList& out);
void findIdleSettings(const FinderInput& input, FindingList& out);
void findUnknownPins(const FinderInput& input, FindingList& out);

} // namespace shardboard

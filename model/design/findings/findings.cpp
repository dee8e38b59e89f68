// SPDX-License-Identifier: Apache-2.0
#include "model/design/findings/findings.h"

#include "model/design/findings/finders.h"

namespace shardboard {

std::vector<DesignFinding> designFindings(const Design& design, const Evaluation& evaluation, const Hardware& hardware)
{
    const FinderInput input(design, evaluation, hardware);
    FindingList out;
    for (const auto find : { findNotUnderstood,    findMisfits,          findOverMemory,     findSilentlyReplicated,
                             findReplicated,       findLostAxes,         findIndivisible,    findHeadsSplit,
                             findQueryGroupsSplit, findQuantBlocksSplit, findRuleAxisTwice,  findDeadRules,
                             findRulesOutsideMesh, findNoRule,           findUnusedAxes,     findCutsOverStages,
                             findUnevenStages,     findUnusedEntries,    findDeadPins,       findUnmetPins,
                             findMovedActivations, findMaxDefects,       findPickerRefusals, findReshards,
                             findUnknownPins,      findIdleSettings,     findHostMemory })
        find(input, out);
    return out.sorted();
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Repairs of findings as edits of the document, one undo step each. Shared by the list of findings and the inspector.
#pragma once

#include "model/session/document.h"

#include <QString>

#include <functional>

namespace shardboard {

/// Applies the repair of a finding; an error when it is refused, and then nothing changes.
Status applyRepair(Document& document, const Repair& repair);

struct RepairedAll {
    Design design;
    int made = 0; ///< repairs that were made
};

/// All repairs one after the other, worst finding first, each found anew in what the ones before left; a repair that is
/// refused is left out. Ends when nothing new is offered, or when `enough`, which is told before each how many
/// were tried, says so.
RepairedAll repairedAll(const Design& design, const Evaluation& evaluation, const std::function<bool(int)>& enough);

/// What a repair does to the step, `−81 % step time`; empty where it is refused, changes nothing, or there is no plan. Evaluates
/// the repaired design and knows no document, so that it can run anywhere.
QString repairEffect(const Design& design, const Evaluation& evaluation, const Repair& repair);

} // namespace shardboard

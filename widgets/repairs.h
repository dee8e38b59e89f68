// SPDX-License-Identifier: Apache-2.0
// Repairs of findings as edits of the document, one undo step each. Shared by the list of findings and the inspector.
#pragma once

#include "model/session/document.h"

#include <QString>

namespace shardboard {

/// Applies the repair of a finding; an error when it is refused, and then nothing changes.
Status applyRepair(Document& document, const Repair& repair);

struct RepairedAll {
    Design design;
    int made = 0; ///< repairs that were made
};

/// All repairs one after the other, worst finding first, each found anew in what the ones before left; a repair that is
/// refused is left out. Stops when nothing new is offered, or after `seconds`.
RepairedAll repairedAll(const Design& design, const Evaluation& evaluation, double seconds);

/// What a repair does to the step, `−81 % step time`; empty where it is refused, has no plan, or takes too long to tell.
QString repairEffect(const Document& document, const Repair& repair);

} // namespace shardboard

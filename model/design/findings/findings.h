// SPDX-License-Identifier: Apache-2.0
// What a user should know about an evaluated design.
#pragma once

#include "model/core/finding.h"
#include "model/design/evaluation.h"
#include "model/hardware/hardware.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// What a finding's bytes are, on the device that has the most of them.
enum class CostKind {
    None, ///< it has no bytes by nature: something does nothing, or is not as it was meant
    Held, ///< of memory: weights that the plan holds for it, in training with their f32 copy, optimizer states and gradients
    Moved, ///< of collectives: what the plan moves for it in a step
};

/// Of a kind of finding. Where there is a plan, a warning or note of what is held or moved is only made where that is more than
/// none, but for no-rule, which may be of a dim alone, and reshard, which tells what MAX would.
///   Held   the errors of entries and rules that cannot be applied (unknown-axis, axis-twice, dim-out-of-range, indivisible,
///   overflow,
///          structure, partial, not-planned, unreadable: bytes that the mended entry would save), over-memory and tight-memory
///          (what is missing), silently-replicated (an axis was asked for and lost, or nothing says anything about a large weight:
///          bytes that the repair saves), replicated (an entry for it leaves a large weight whole: the same), indivisible and
///          overflow of a rule's cut, which JAX refuses, and uneven (beyond an even share), no-rule (a logical name that no rule
///          knows: what the rule that was meant frees, else beyond an even share), unused-axis (of the peak what its repair saves,
///          without one the weights beyond an even share), uneven-stages (layers of the fullest stage beyond an even share)
///   Moved  heads-split (heads on two devices), greedy-moves-activation, reshard (by MAX's on_reshard)
///   None   idle-setting (of the workload, that changes nothing), not-understood, quant-block-split, dead-rule, outside-mesh (axes
///   of rules that the mesh lacks), unused-entry, dead-pin,
///          pin-unmet, unknown-pins (a profile of MAX with pins), cut-over-stages, refused-pick (the picker cannot run an
///          operation), max-defect (MAX itself would do something else without a word)
CostKind costKind(std::string_view kind);
std::string costKindName(CostKind kind); ///< none, held, moved
/// `costs 1 GiB of memory on each device`, `moves 1 GiB on each device in a step`; empty where it has no bytes.
std::string costText(const Finding& finding);

/// Whether a finding is more than a note: then `shardctl check` exits with 1.
bool isDefect(const Finding& finding);

/// Whether a repair is made where all are asked for: not of a weight that somebody replicated, and that nothing else asks to cut.
bool isRepairedWithAll(const DesignFinding& finding);

/// Worst first: errors, warnings, notes, and among them by bytes. Errors are entries and rules that cannot be applied, so that the
/// weight is replicated against what the design says; over-memory; refused-pick; and reshard where on_reshard is raise (a note
/// where it is warn). Of what is planned, a repair takes nothing back: with it a device holds less, or moves less and holds no more
/// than it saves moving. That of a rule's cut may hold more, because JAX refuses the one that is there.
std::vector<DesignFinding> designFindings(const Design& design, const Evaluation& evaluation, const Hardware& hardware);

} // namespace shardboard

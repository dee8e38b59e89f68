// SPDX-License-Identifier: Apache-2.0
// What a user should know about an evaluated design.
#pragma once

#include "model/core/finding.h"
#include "model/hardware/hardware.h"
#include "model/design/evaluate.h"

#include <vector>

namespace shardboard {

/// Worst first. Kinds that are errors, because the weight is replicated against what the design says: unknown-axis,
/// axis-twice, dim-out-of-range, indivisible, overflow, structure, partial, not-planned, unreadable; over-memory; refused-pick
/// (the picker cannot run an operation), and reshard where on_reshard is raise (a note where it is warn).
/// Others: not-understood, silently-replicated (an axis was asked for and lost, or nothing says anything about a large
/// weight), indivisible (a rule's cut, which JAX refuses), overflow (more devices than a dim has elements), heads-split,
/// quant-block-split, dead-rule, outside-mesh (axes of rules that the mesh lacks), no-rule (a logical name that no rule
/// knows), uneven, unused-axis, unused-entry, unknown-pins (a profile of MAX with pins), max-defect (MAX itself would do something else without a word).
std::vector<DesignFinding> designFindings(const Design& design, const Evaluation& evaluation, const Hardware& hardware);

} // namespace shardboard

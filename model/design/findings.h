// SPDX-License-Identifier: Apache-2.0
// What a user should know about an evaluated design.
#pragma once

#include "model/core/finding.h"
#include "model/cost/hardware.h"
#include "model/design/evaluate.h"

#include <vector>

namespace shardboard {

/// Kinds: not-understood, silently-replicated (no entry says anything about a large weight), unused-entry (a pattern that
/// matches nothing), uneven, heads-split (a projection is gathered because heads do not divide), unused-axis
/// (neither batch nor weights are cut over it), over-memory. Worst first.
std::vector<DesignFinding> designFindings(const Design& design, const Evaluation& evaluation, const Hardware& hardware);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// The pickers that decide mesh axes one after the other; pickRows (picktask.h) calls them by their kind.
#pragma once

#include "model/picker/picktask.h"

namespace shardboard {

/// Of G2 and G3: only transitions that the policy allows.
Picked autoReshard(const PickTask& task, PickTrace* trace);

/// Greedy in our own profile: mesh axes in turn, each given what the earlier ones committed; staying put wins among equals.
Picked pickInTurn(const PickTask& task, PickTrace* trace);

} // namespace shardboard

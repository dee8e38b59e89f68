// SPDX-License-Identifier: Apache-2.0
// The pickers that there are; pickerOf (picktask.h) gives one by its kind.
#pragma once

#include "model/picker/picktask.h"

namespace shardboard {

const PlacementPicker& autoReshardPicker();

/// Greedy in our own profile: mesh axes in turn, each given what the earlier ones committed; staying put wins among equals.
std::variant<PickAction, Refusal> pickInTurn(const PickTask& task, PickTrace* trace);

} // namespace shardboard

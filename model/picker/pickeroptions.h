// SPDX-License-Identifier: Apache-2.0
// Which picker chooses the rows of a plan's operations, with whose prices, and under which policy.
#pragma once

#include "model/ops/rows/pickerprofile.h"
#include "model/picker/menu/reshardpolicy.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

std::optional<PickerProfile> profileFromName(std::string_view name);

enum class PlanPicker : std::uint8_t {
    Greedy, ///< the cheapest row: GreedyReshard in G0 and G1, auto_reshard in G2 and G3, in profile shardboard with pins
    PartialsOnly, ///< nothing but partial values that are reduced to whole ones
    None, ///< nothing moves
};
std::string planPickerName(PlanPicker picker); ///< greedy, partials-only, none
std::optional<PlanPicker> planPickerFromName(std::string_view name);

struct PickerOptions {
    PickerProfile profile = PickerProfile::Shardboard;
    bool allowPartialToSharded = false; ///< of greedy in G0, G1 and shardboard
    PlanPicker picker = PlanPicker::Greedy;
    OnReshard onReshard = OnReshard::Silent;
    TransitionSet allowedTransitions = TransitionSet::defaults(); ///< of greedy in G2 and G3
    std::int64_t budgetBytesPerDevice = 0; ///< of greedy in G0: for the operands of one operation; 0: none
    friend bool operator==(const PickerOptions&, const PickerOptions&) = default;
};

} // namespace shardboard

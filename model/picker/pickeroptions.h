// SPDX-License-Identifier: Apache-2.0
// Which picker chooses the rows of operations, with whose prices, and under which policy.
#pragma once

#include "model/ops/rows/pickerprofile.h"
#include "model/picker/menu/reshardpolicy.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

std::optional<PickerProfile> profileFromName(std::string_view name);

/// A plan has the first three: which of MAX's greedy pickers it is follows from its profile.
enum class PickerKind : std::uint8_t {
    Greedy, ///< the cheapest row: GreedyReshard, auto_reshard where the profile has it alone, in profile shardboard with pins
    PartialsOnly, ///< nothing but partial values that are reduced to whole ones
    None, ///< nothing moves
    AutoReshard, ///< auto_reshard where the profile has another one beside it
};
std::string pickerName(PickerKind picker); ///< in designs: greedy, partials-only, none
std::optional<PickerKind> pickerFromName(std::string_view name);
/// As MAX calls them.
inline constexpr std::array<const char*, 4> kPickerNames { "GreedyReshard", "PartialsOnly", "NoReshard", "auto_reshard" };

/// Of the operations of a plan, or of one operation that is asked about.
struct PickerOptions {
    PickerProfile profile = PickerProfile::Shardboard;
    bool allowPartialToSharded = false; ///< of greedy in G0, G1 and shardboard
    PickerKind picker = PickerKind::Greedy;
    OnReshard onReshard = OnReshard::Silent; ///< auto_reshard calls it mode
    TransitionSet allowedTransitions = TransitionSet::defaults(); ///< of auto_reshard
    std::optional<double> budgetBytesPerDevice {}; ///< of greedy in G0: for the operands of one operation
    friend bool operator==(const PickerOptions&, const PickerOptions&) = default;

    /// As designs and forms have it: 0 where there is none.
    std::int64_t budgetBytes() const { return static_cast<std::int64_t>(budgetBytesPerDevice.value_or(0)); }
    void setBudgetBytes(std::int64_t bytes)
    {
        budgetBytesPerDevice = bytes > 0 ? std::optional(static_cast<double>(bytes)) : std::nullopt;
    }
};

} // namespace shardboard

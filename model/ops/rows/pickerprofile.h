// SPDX-License-Identifier: Apache-2.0
// Whose rows and prices a picker has: those of one of the four generations of MAX's sharding package as they are documented
// (max-sharding 0), those of a released MAX, which answer as that release does, or our own (sound rows, pins). All rows of the
// graph's operations are sound. Upstream has no rules for attention, experts, latent attention, the loss and gradients: the rows
// that our tables have for these are used in every profile, without those that are marked as ours alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

enum class PickerProfile : std::uint8_t {
    G0,
    G1,
    G2,
    G3,
    Max266, ///< G1 as MAX 26.6 has it
    Max267, ///< G3 as MAX 26.7 has it
    Shardboard
};

inline constexpr std::array<std::string_view, 7> kProfileNames { "G0", "G1", "G2", "G3", "max-26.6", "max-26.7", "shardboard" };

/// shardboard, G0, …
inline std::string profileName(PickerProfile profile) { return std::string(kProfileNames[static_cast<std::size_t>(profile)]); }

/// For messages.
inline constexpr const char* kProfileList = "shardboard, G0, G1, G2, G3, max-26.6 or max-26.7";

/// G0, G1, G2 and MAX 26.6, which share rows and prices.
constexpr bool isEarly(PickerProfile profile) { return profile <= PickerProfile::G2 || profile == PickerProfile::Max266; }
/// G3 and MAX 26.7.
constexpr bool isLate(PickerProfile profile) { return profile == PickerProfile::G3 || profile == PickerProfile::Max267; }
constexpr bool isReleased(PickerProfile profile) { return profile == PickerProfile::Max266 || profile == PickerProfile::Max267; }
/// Whether its picker is auto_reshard, which decides one mesh axis after the other.
constexpr bool hasRegions(PickerProfile profile) { return profile == PickerProfile::G2 || isLate(profile); }

/// A set of profiles, for rules.
struct ProfileSet {
    std::uint8_t bits = 0;
    constexpr bool has(PickerProfile profile) const { return (bits >> static_cast<unsigned>(profile) & 1U) != 0; }
};

inline constexpr ProfileSet kEarly { 0b0010111 };
inline constexpr ProfileSet kLate { 0b0101000 };
inline constexpr ProfileSet kMax267 { 0b0100000 };
inline constexpr ProfileSet kMax { 0b0111111 }; ///< all of MAX
inline constexpr ProfileSet kOurs { 0b1000000 };
inline constexpr ProfileSet kEvery { 0b1111111 };

} // namespace shardboard

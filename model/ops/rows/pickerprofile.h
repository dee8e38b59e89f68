// SPDX-License-Identifier: Apache-2.0
// Whose rows and prices a picker has: those of one of the four generations of MAX's sharding package, or our own (sound rows,
// pins). All rows of the graph's operations are sound. Upstream has no rules for attention, experts, latent attention, the loss
// and gradients: the rows that our tables have for these are used in every profile, without those that are marked as ours alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

enum class PickerProfile : std::uint8_t { G0, G1, G2, G3, Shardboard };

inline constexpr std::array<std::string_view, 5> kProfileNames { "G0", "G1", "G2", "G3", "shardboard" };

/// shardboard, G0, …
inline std::string profileName(PickerProfile profile) { return std::string(kProfileNames[static_cast<std::size_t>(profile)]); }

/// Whether it is G0, G1 or G2, which share rows and prices.
constexpr bool isEarly(PickerProfile profile) { return profile <= PickerProfile::G2; }

/// A set of profiles, for rules.
struct ProfileSet {
    std::uint8_t bits = 0;
    constexpr bool has(PickerProfile profile) const { return (bits >> static_cast<unsigned>(profile) & 1U) != 0; }
};

inline constexpr ProfileSet kEarly { 0b00111 }; ///< G0, G1, G2
inline constexpr ProfileSet kMax { 0b01111 }; ///< all of MAX
inline constexpr ProfileSet kG3 { 0b01000 };
inline constexpr ProfileSet kOurs { 0b10000 };
inline constexpr ProfileSet kEvery { 0b11111 };

} // namespace shardboard

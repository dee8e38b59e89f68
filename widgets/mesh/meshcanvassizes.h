// SPDX-License-Identifier: Apache-2.0
// Sizes in the picture of a mesh, in pixels, that both its layout and its painting go by.
#pragma once

namespace shardboard::meshcanvas {

inline constexpr double kLargestCell = 92;
inline constexpr double kCardCell = 50; ///< from here a cell is a card with memory
inline constexpr double kShardCell = 68; ///< from here a card says which of many shards it has
inline constexpr double kLabelCell = 18; ///< from here a cell has its id
inline constexpr double kSolidCell = 14; ///< below, cells are pixels of an image, and a click takes a unit of them
inline constexpr double kHatchedCell = 6; ///< the same where hatching tells them apart
inline constexpr double kFooter = 26;
inline constexpr double kScale = 38; ///< two lines above the footer: what the colours of memory say
inline constexpr double kWords = 40; ///< two lines above the footer about what moves

} // namespace shardboard::meshcanvas

// SPDX-License-Identifier: Apache-2.0
// XLA's tile assignment: which device holds which block of a tensor, as HloSharding V1 and V2 spell it.
#pragma once

#include "model/core/layout.h"
#include "model/notation/iota.h"
#include "model/notation/scanner.h"

#include <string_view>
#include <vector>

namespace shardboard {

/// What the devices of one group (a dim after those of the tensor) are to each other.
enum class HloGroup { Replicated, Manual, Unreduced, Unknown, Maximal };

struct HloTiles {
    std::vector<std::int64_t> dims; ///< parts per tensor dim, then the sizes of the groups
    std::vector<HloGroup> groups;
    std::vector<std::int64_t> ids; ///< of the devices, row-major over dims
};

/// Parses `devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate` for a mesh of `devices` devices, up to the closing
/// brace. Errors: wrong grammar, another number of devices, an id twice.
Result<HloTiles> parseHloTiles(Scanner& scanner, std::int64_t devices);
/// Parses `[2,4]T(1,0)` (the opening bracket not taken yet), whose product must be `devices`, and gives the list.
Result<std::vector<std::int64_t>> parseIota(Scanner& scanner, std::int64_t devices);
/// Parses `2,4` up to the closing text, which is taken.
Result<std::vector<std::int64_t>> parseIntegers(Scanner& scanner, std::string_view close);

/// The mesh axes that make this tile assignment. Order inside groups has no meaning and is ignored. Errors: other
/// devices than the mesh's, another rank, groups whose values are not known, no mesh axes that make it.
Result<Layout> layoutOfTiles(const HloTiles& tiles, const Mesh& mesh, std::size_t rank, const std::string& where);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Lists of placements, one per mesh axis, as torch DTensor and MAX write them: `R, S(0)`, `[Shard(dim=0),
// Replicate()]`.
#pragma once

#include "model/core/layout.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// A placement as it was written: its word, and its arguments with their names (empty where there is none).
struct PlacementCall {
    struct Argument {
        std::string name;
        std::string value; ///< without quotes
    };
    std::string word;
    std::vector<Argument> arguments;
};

/// Reads the placements. A comma may be missing between short codes, `S(0)R`. Errors: grammar; not one per mesh axis.
Result<std::vector<PlacementCall>> readPlacements(std::string_view text, const Mesh& mesh, const std::string& where,
                                                  const std::string& form);

/// The tensor dim that an argument names. Errors: no number, a dim that the tensor does not have. Negative dims count
/// from the end only where `fromEnd`.
Result<int> placementDim(const PlacementCall& call, std::size_t rank, bool fromEnd, const std::string& where);

/// The error of a placement that is not understood.
Error placementError(const PlacementCall& call, const std::string& what, const std::string& where, const std::string& fix);
/// `Shard(dim=0)`
std::string placementText(const PlacementCall& call);
/// The placements joined by commas, `[]` for a mesh without axes.
std::string placementListText(const std::vector<std::string>& placements);

} // namespace shardboard

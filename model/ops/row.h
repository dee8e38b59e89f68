// SPDX-License-Identifier: Apache-2.0
// A row: placements of operands and result with which an operation can run, on one mesh axis, independent of the others
// (max-sharding 2).
#pragma once

#include "model/core/placement.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// A condition on a row: `units` (heads, say) of an operand's dim must divide over all axes that cut the dim; or, where
/// `unitElements` is set, the dim is cut in whole units of so many elements, at least one for each part.
struct WholeUnits {
    int operand = 0;
    int dim = 0;
    std::int64_t units = 1;
    std::string what; ///< `32 heads`
    std::int64_t unitElements = 0; ///< 0: the units must divide
};

/// A dim that a row cuts and that is made of whole units, of so many elements each: its parts are whole units.
struct FusedDim {
    int operand = 0; ///< -1: the result
    int dim = 0;
    std::int64_t unitElements = 1;
};

struct Row {
    std::vector<Placement> operands;
    Placement result;
    std::vector<WholeUnits> conditions;
    std::vector<FusedDim> fused;
    std::vector<int> ring {}; ///< operands that travel around the ring of devices while the operation runs
};

} // namespace shardboard

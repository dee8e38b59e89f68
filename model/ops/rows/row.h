// SPDX-License-Identifier: Apache-2.0
// A row: placements of operands and result with which an operation can run, on one mesh axis, independent of the others
// (max-sharding 2). Where rows are listed, order matters, because ties go to the earlier one.
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
    std::string what {}; ///< `32 heads`
    std::int64_t unitElements = 0; ///< 0: the units must divide
    bool fits(std::int64_t parts) const { return units % parts == 0 || (unitElements > 0 && units >= parts); }
};

/// A dim that a row cuts and that is made of whole units, of so many elements each: its parts are whole units.
struct FusedDim {
    int operand = 0; ///< -1: the result
    int dim = 0;
    std::int64_t unitElements = 1;
};

struct Row {
    std::vector<Placement> operands {};
    Placement result {};
    std::vector<WholeUnits> conditions {};
    std::vector<FusedDim> fused {};
    std::vector<int> ring {}; ///< operands that travel around the ring of devices while the operation runs
    std::uint32_t kept = 0; ///< bits: operands that keep whatever they have, which then count for nothing
    int resultOf = -1; ///< the result has the placement of this operand
    bool stay = false; ///< only where nothing moves
    bool fallback = false; ///< the all-replicated row that G0 to G2 append
    bool dropped = false; ///< feasible on no mesh axis as the operands arrive, so that G0 to G2 never offer it
    const char* unsound = nullptr; ///< why the result is not the unsharded one cut up; null for sound rows
    bool soundIfWhole = false; ///< it is where `conditions` hold; MAX takes the row even where they do not

    bool keeps(std::size_t operand) const { return (kept >> operand & 1U) != 0; }
};

inline constexpr std::size_t kMostOperands = 32; ///< bits of Row::kept

/// `S1 R R -> S1`
std::string rowText(const Row& row);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// What a picker chooses from: rows of placements with which one operation can run, each valid on one mesh axis,
// independent of the others (max-sharding 2). Order matters, because ties go to the earlier row.
#pragma once

#include "model/core/placement.h"
#include "model/core/tensor.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace shardboard {

/// A size that the devices of all mesh axes on a dim must divide, so that parts of two tensors lie side by side.
struct EvenSize {
    int operand = 0; ///< whose dim is cut
    int dim = 0;
    std::int64_t size = 1;
};

struct MenuRow {
    Placement output;
    std::uint32_t kept = 0; ///< bits: operands that keep whatever they have, which then count for nothing
    int outputOf = -1; ///< the output has the placement of this operand
    bool stay = false; ///< only where nothing moves
    bool fallback = false; ///< the all-replicated row that G0 to G2 append
    bool dropped = false; ///< feasible on no mesh axis as the operands arrive, so that G0 to G2 never offer it
    const char* unsound = nullptr; ///< why the result is not the unsharded one cut up; none for sound rows
    const char* unsoundUnlessEven = nullptr; ///< the same where a size of `even` does not divide
    std::vector<EvenSize> even {};
    bool wholeParts = false; ///< `even` must divide over the mesh axis in every profile, else the row cannot be used

    bool keeps(std::size_t operand) const { return (kept >> operand & 1U) != 0; }
};

/// What MAX checks of a target shape before it lets an output be cut there (G0 to G2, reshape).
enum class OutputLimit : std::uint8_t { Open, Never, Sized };

struct Menu {
    std::size_t operands = 0;
    std::vector<MenuRow> rows;
    std::vector<Placement> needs; ///< row by row, a placement per operand
    bool soundKnown = true; ///< false for rows that the request brings along
    /// Per target dim; empty when there is no target shape to check.
    struct Limit {
        OutputLimit kind = OutputLimit::Open;
        std::int64_t size = 0;
    };
    std::vector<Limit> outputLimits {};
    /// Target dims that are bare names: they cannot be cut, since no names are made up for the parts.
    std::vector<int> bareNames {};

    void add(MenuRow row, std::span<const Placement> placements)
    {
        rows.push_back(std::move(row));
        needs.insert(needs.end(), placements.begin(), placements.end());
    }
    const Placement& need(std::size_t row, std::size_t operand) const { return needs[row * operands + operand]; }
    std::span<const Placement> needsOf(std::size_t row) const { return { needs.data() + row * operands, operands }; }
};

inline constexpr std::size_t kMostOperands = 32; ///< bits of MenuRow::kept

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// What a picker chooses from: the rows of an operation and the operands as they arrive.
#pragma once

#include "model/core/layout.h"
#include "model/ops/rows/row.h"

namespace shardboard {

/// What MAX checks of a target shape before it lets a result be cut there (G0 to G2, reshape).
enum class OutputLimit : std::uint8_t { Open, Never, Sized };

struct Menu {
    std::vector<Row> rows {};
    bool soundKnown = true; ///< false for rows that the request brings along
    /// Per target dim; empty when there is no target shape to check.
    struct Limit {
        OutputLimit kind = OutputLimit::Open;
        std::int64_t size = 0;
    };
    std::vector<Limit> outputLimits {};
    /// Target dims that are bare names: they cannot be cut, since no names are made up for the parts.
    std::vector<int> bareNames {};
};

/// An operand as it arrives.
struct PickOperand {
    Shape shape {}; ///< global
    DType dtype = DType::F32;
    std::vector<Placement> placements {}; ///< one per mesh axis
    Layout layout {}; ///< in a plan: also the order of the mesh axes on a dim, and parts of other sizes
    double density = 1; ///< share of it that holds data
    std::string name {}; ///< for reports
    friend bool operator==(const PickOperand&, const PickOperand&) = default;
};

/// What a layout is over one mesh axis.
Placement placementOn(const Layout& layout, int axis);
/// The same over each of them.
std::vector<Placement> placementsOf(const Layout& layout, const Mesh& mesh);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// What can be decided about the layouts of a graph. A decision is an operation of the forward pass with those of its gradients:
// over each mesh axis the same factor is cut in all of them, so that the gradient of a value that is cut is cut alike, and that of
// a value that is whole or partial is whole. Operations of the same name in layers of the same name decide together.
#pragma once

#include "model/core/result.h"
#include "model/design/optimize/layoutprices.h"
#include "model/hardware/hardware.h"
#include "model/ops/rows/row.h"
#include "model/plan/pin.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// A mesh axis that something can be cut over.
using ActiveAxes = std::vector<int>;

struct LayoutDecision {
    /// An operation, in every layer segment that has it, and the rows it may take.
    struct Member {
        std::vector<OpId> ops; ///< one a copy
        std::vector<Row> rows;
        std::vector<std::vector<int>> operands; ///< by operand and strategy: its layout
        std::vector<int> result; ///< by strategy
    };
    std::string segment;
    std::string name; ///< of the first operation
    std::vector<Member> members; ///< the forward operation first; one that only reads what was kept is alone
    std::vector<std::vector<std::vector<int>>> options; ///< by active axis and option: the row of every member
    std::vector<std::vector<int>> strategies; ///< by strategy and active axis: the option
    /// By strategy: how the gradient of the result has to arrive. Empty where there is none.
    std::vector<int> upstream;

    std::size_t count() const { return strategies.size(); }
    const Row& row(std::size_t member, std::size_t strategy, std::size_t axis) const
    {
        const int option = strategies[strategy][axis];
        return members[member].rows[static_cast<std::size_t>(options[axis][static_cast<std::size_t>(option)][member])];
    }
};

struct LayoutSpace {
    ActiveAxes axes;
    std::vector<LayoutDecision> decisions;
    std::vector<int> ofOp; ///< by OpId: the decision, or -1 (sums of gradients, what the update does)
    std::vector<int> memberOf; ///< by OpId
    std::vector<int> groups; ///< as in LayoutLimits
    bool alike(std::size_t a, std::size_t b) const ///< active axes
    {
        return !groups.empty() && groups[static_cast<std::size_t>(axes[a])] == groups[static_cast<std::size_t>(axes[b])];
    }
};

/// What restricts it.
struct LayoutLimits {
    std::vector<Pin> pins; ///< that count
    /// Patterns of names and a mesh axis: `mlp*@model`; no dim of these activations is cut over it.
    std::vector<std::pair<std::string, int>> forbidden;
    /// By mesh axis: axes of one group take the same rows, so that many axes are no more choices than few. Empty: each for itself.
    std::vector<int> groups;
};

/// At most so many groups: axes are put together, neighbors with the fewest devices first.
inline constexpr std::size_t kMostAxisGroups = 3;
inline constexpr std::size_t kMostActiveAxes = 6; ///< of more, not even groups are looked at
std::vector<int> axisGroups(const Mesh& mesh);

/// Errors: an operation that cannot run in any way over some axis.
Result<LayoutSpace> layoutSpace(const Graph& graph, const Mesh& mesh, const LayoutLimits& limits, LayoutNumbers& layouts);

/// The layout over the active axes, in mesh order; `rows` of units are cut as the picker cuts them.
Layout layoutOf(const std::vector<Placement>& placements, const ActiveAxes& axes, std::size_t rank);

/// What the gradient of a value so placed is.
Placement dualOf(const Placement& placement);

} // namespace shardboard

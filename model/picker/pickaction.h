// SPDX-License-Identifier: Apache-2.0
// What all pickers share: the operands as they are, and an action put together from one row per mesh axis.
#pragma once

#include "model/picker/feasible.h"

namespace shardboard {

/// Why a row that does it is refused.
inline constexpr const char* kNoScatter = "a partial value may not be reduced to shards (allow_partial_to_sharded is off)";

/// Operand by operand, one placement per mesh axis.
inline std::vector<Placement> placementsNow(const PickTask& task)
{
    std::vector<Placement> out;
    out.reserve(task.operands.size() * static_cast<std::size_t>(task.mesh->axisCount()));
    for (const PickOperand& operand : task.operands)
        out.insert(out.end(), operand.placements.begin(), operand.placements.end());
    return out;
}

/// The action of these rows. Costs are added operand by operand, and for each mesh axis by mesh axis.
PickAction actionOf(const PickTask& task, std::span<const Placement> now, std::vector<int> rows);

/// Whether an axis of a trace belongs to a row, and notes it.
void judge(PickTrace* trace, std::size_t axis, std::size_t row, RowVerdict verdict);
void startTrace(PickTrace* trace, const PickTask& task);
/// Marks the rows of the action as picked.
void markPicked(PickTrace* trace, const PickAction& action);

} // namespace shardboard

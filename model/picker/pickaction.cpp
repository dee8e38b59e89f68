// SPDX-License-Identifier: Apache-2.0
#include "model/picker/pickaction.h"

namespace shardboard {

PickAction actionOf(const PickTask& task, std::span<const Placement> now, std::vector<int> rows)
{
    PickAction action;
    const std::size_t axes = rows.size();
    action.inputs.assign(now.begin(), now.end());
    action.output.resize(axes);
    for (std::size_t i = 0; i < task.operands.size(); ++i)
        for (std::size_t axis = 0; axis < axes; ++axis) {
            if (rows[axis] == PickAction::kNoRow)
                continue;
            const RowUse use { task, now, static_cast<std::size_t>(rows[axis]), axis };
            const Placement& to = use.to(i);
            action.inputs[i * axes + axis] = to;
            action.moved = action.moved || to != use.from(i);
            action.cost += transitionPrice(task.prices(), use.from(i), to, task.bytes[i], use.devices());
        }
    for (std::size_t axis = 0; axis < axes; ++axis)
        action.output[axis] = rows[axis] == PickAction::kNoRow
            ? unknownPlacement()
            : RowUse { task, now, static_cast<std::size_t>(rows[axis]), axis }.result();
    action.rows = std::move(rows);
    return action;
}

void startTrace(PickTrace* trace, const PickTask& task)
{
    if (trace == nullptr)
        return;
    const auto axes = static_cast<std::size_t>(task.mesh->axisCount());
    trace->axes.assign(axes, std::vector<RowVerdict>(task.menu->rows.size()));
    trace->before.clear();
    for (std::size_t axis = 0; axis < axes; ++axis) {
        trace->before.emplace_back();
        for (const PickOperand& operand : task.operands)
            trace->before.back().push_back(operand.placements[axis]);
    }
}

void judge(PickTrace* trace, std::size_t axis, std::size_t row, RowVerdict verdict)
{
    if (trace != nullptr)
        trace->axes[axis][row] = std::move(verdict);
}

void markPicked(PickTrace* trace, const PickAction& action)
{
    if (trace == nullptr)
        return;
    for (std::size_t axis = 0; axis < action.rows.size(); ++axis)
        if (action.rows[axis] != PickAction::kNoRow)
            trace->axes[axis][static_cast<std::size_t>(action.rows[axis])].status = RowVerdict::Status::Picked;
}

} // namespace shardboard

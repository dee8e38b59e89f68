// SPDX-License-Identifier: Apache-2.0
// Whether a row can be used on a mesh axis (max-sharding 3.2).
#pragma once

#include "model/picker/picktask.h"

namespace shardboard {

/// A row on a mesh axis, and what the operands are at that moment (operand by operand, one per mesh axis).
struct RowUse {
    const PickTask& task;
    std::span<const Placement> now;
    std::size_t row = 0;
    std::size_t axis = 0;

    const Row& wanted() const { return task.menu->rows[row]; }
    std::size_t axes() const { return static_cast<std::size_t>(task.mesh->axisCount()); }
    std::int64_t devices() const { return task.mesh->axis(static_cast<int>(axis)).size; }
    const Placement& from(std::size_t operand) const { return now[operand * axes() + axis]; }
    /// What the row asks of an operand; what it has where the row keeps it.
    const Placement& to(std::size_t operand) const { return wanted().keeps(operand) ? from(operand) : wanted().operands[operand]; }
    std::span<const Placement> placements(std::size_t operand) const { return now.subspan(operand * axes(), axes()); }
    Placement result() const
    {
        return wanted().resultOf >= 0 ? from(static_cast<std::size_t>(wanted().resultOf)) : wanted().result;
    }
    bool moves() const;
    double cost() const; ///< may be infinite
    /// Whether the result of the row is the unsharded one cut up: none when it is, else why not.
    const char* unsound() const;
};

/// `why` is filled when it is not.
bool feasible(const RowUse& use, Refusal* why = nullptr);

/// The menu that G0 to G2 offer: rows that are feasible on no mesh axis as the operands arrive are dropped (marked, so that they
/// can be told of), even where what earlier mesh axes decide would make them feasible; the all-replicated row stands behind the
/// others unless it is the last of them already.
Menu withFallback(const PickTask& task);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// What MAX can say of a layout: one placement per mesh axis (DeviceMapping), a ShardingStrategy over one mesh axis, or both.
#pragma once

#include "model/design/evaluation.h"
#include "model/ops/rows/pickerprofile.h"

#include <optional>
#include <string>

namespace shardboard {

/// Placements as code, `(Replicated(), Sharded(0))`. Errors: a sub-axis, axes on a dim that are not in mesh order, a partial
/// maximum.
Result<std::string> placementsCode(const Layout& layout, const Mesh& mesh);

struct MaxStrategy {
    std::string axis; ///< the mesh axis over which it cuts; empty: replicated over all
    std::string code; ///< `ShardingStrategy.rowwise(4)`
    std::string meaning; ///< `dim 0, column-parallel elsewhere`
};

/// A weight in both forms; `refused` when it has neither.
struct MaxForms {
    std::string placements; ///< empty: no DeviceMapping has these shards
    std::optional<MaxStrategy> strategy;
    std::optional<Error> refused;
};
MaxForms maxFormsOf(const WeightLayout& weight, const Mesh& mesh, PickerProfile profile);

/// Whether the parts of all dims are those of a DeviceMapping; else the reason.
std::optional<Error> otherMaxParts(const std::string& name, const Shape& shape, const Layout& layout, const Mesh& mesh,
                                   PickerProfile profile);

} // namespace shardboard

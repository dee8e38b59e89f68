// SPDX-License-Identifier: Apache-2.0
// What each mesh axis is for, by the names that people give them.
#pragma once

#include "model/core/mesh.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

enum class AxisRole { Data, Fsdp, Tensor, Expert, Context, Stage, Unknown };

/// data, dp, batch, replica, dcn, pod; fsdp, zero; model, tp, tensor, mp; expert, ep; context, cp, sequence, sp, seq;
/// stage, pp, pipe, pipeline.
AxisRole axisRole(std::string_view name);
/// Names that mean a role, for messages: `model, tp or tensor`.
std::string roleNames(AxisRole role);

/// The mesh axes of each role, in mesh order.
struct AxisRoles {
    std::vector<int> data, fsdp, tensor, expert, context, stage, unknown;
};
AxisRoles axisRoles(const Mesh& mesh);

} // namespace shardboard

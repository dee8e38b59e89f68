// SPDX-License-Identifier: Apache-2.0
// From one placement to another on one mesh axis: the collective that MAX's planner names, and its price in bytes
// (max-sharding 4.1).
#pragma once

#include "model/core/mesh.h"
#include "model/core/placement.h"
#include "model/picker/menu/ruleprofile.h"
#include "model/picker/menu/symbols.h"

#include <limits>
#include <span>

namespace shardboard {

inline constexpr double kInfiniteCost = std::numeric_limits<double>::infinity();

/// Price of moving a tensor of `bytes` global bytes on a mesh axis of n devices; infinite when there is no collective.
double transitionPrice(RuleProfile profile, const Placement& from, const Placement& to, double bytes, std::int64_t n);

/// Upstream's name: noop, local_slice, keep_one_copy, allgather, all_to_all, allreduce, reduce_scatter, infeasible.
const char* transitionName(RuleProfile profile, const Placement& from, const Placement& to);

/// Bytes of the whole tensor as a profile counts them (4.2): names count as 1; G0 to G2 estimate a dim that is cut as its
/// first part times the number of parts.
double countedBytes(RuleProfile profile, const Shape& shape, DType dtype, std::span<const Placement> placements, const Mesh& mesh);

/// Devices of the mesh axes that cut a dim.
std::int64_t partsOver(std::span<const Placement> placements, int dim, const Mesh& mesh);

} // namespace shardboard

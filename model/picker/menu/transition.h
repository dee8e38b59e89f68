// SPDX-License-Identifier: Apache-2.0
// From one placement to another on one mesh axis: the collective that MAX's planner names, and its price in bytes
// (max-sharding 4.1).
#pragma once

#include "model/ops/rows/pickerprofile.h"
#include "model/ops/rows/symbols.h"
#include "model/picker/menu/menu.h"

#include <limits>
#include <span>

namespace shardboard {

inline constexpr double kInfiniteCost = std::numeric_limits<double>::infinity();

/// What counts as a price.
struct PriceRules {
    bool copies = false; ///< a slice, and keeping one copy of a value, count a little; else a slice is free and no copy is kept
    bool extrema = false; ///< minima and maxima are reduced like sums; MAX has nothing that does it
};
constexpr PriceRules priceRulesOf(PickerProfile profile) { return { !isEarly(profile), profile == PickerProfile::Shardboard }; }
/// Of a plan, whose operations make maxima in every profile.
constexpr PriceRules planPriceRules(PickerProfile profile) { return { isLate(profile), true }; }

/// Price of moving a tensor of `bytes` global bytes on a mesh axis of n devices; infinite when there is no collective.
double transitionPrice(PriceRules rules, const Placement& from, const Placement& to, double bytes, std::int64_t n);

/// Upstream's name: noop, local_slice, keep_one_copy, allgather, all_to_all, allreduce, reduce_scatter, infeasible.
const char* transitionName(PickerProfile profile, const Placement& from, const Placement& to);

/// Bytes of the whole tensor as a profile counts them (4.2): names count as 1; G0 to G2 estimate a dim that is cut as its
/// first part times the number of parts. Where a share of it holds data, only that counts.
double countedBytes(PickerProfile profile, const PickOperand& operand, const Mesh& mesh);

/// Devices of the mesh axes that cut a dim.
std::int64_t partsOver(std::span<const Placement> placements, int dim, const Mesh& mesh);

} // namespace shardboard

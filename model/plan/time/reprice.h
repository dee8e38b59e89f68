// SPDX-License-Identifier: Apache-2.0
// Pricing apart from planning: the same operations and collectives on other hardware.
#pragma once

#include "model/cost/collectiveprices.h"
#include "model/plan/plan.h"

namespace shardboard {

/// Sends one after the other that one occurrence of a planned collective consists of, of its bytes by as many each: around a ring
/// all its hops, else 1.
std::int64_t hopsOf(const Plan& plan, const Collective& collective);

/// What the driver of this hardware's devices keeps takes the place of what the plan has counted.
void setReserved(Plan& plan, const Hardware& hardware);

/// Prices all operations and collectives of a plan again, and what follows: totals, pipeline, what the driver keeps, performance
/// (but for the peak that utilization is measured by: `dtype` is that of the workload). What was picked and how values go from
/// layout to layout stays, though a new plan for this hardware may do otherwise.
void reprice(const Graph& graph, Plan& plan, const Hardware& hardware, DType dtype);

} // namespace shardboard

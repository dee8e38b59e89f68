// SPDX-License-Identifier: Apache-2.0
// Pricing apart from planning: the same operations and collectives on other hardware.
#pragma once

#include "model/cost/collectiveprices.h"
#include "model/plan/plan.h"

namespace shardboard {

/// Seconds of one occurrence of a planned collective: around a ring all its hops; between stages as sendSeconds has it.
double occurrenceSeconds(const Plan& plan, const Collective& collective, CollectivePrices& prices);

/// Prices all operations and collectives of a plan again, and what follows: totals, pipeline, performance (but for the peak that
/// utilization is measured by: `dtype` is that of the workload). What was picked and how values go from layout to layout stays, though
/// a new plan for this hardware may do otherwise.
void reprice(const Graph& graph, Plan& plan, const Hardware& hardware, DType dtype);

} // namespace shardboard

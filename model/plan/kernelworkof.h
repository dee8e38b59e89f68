// SPDX-License-Identifier: Apache-2.0
// From a planned operation to what its kernel does on one device.
#pragma once

#include "model/cost/kernelwork.h"
#include "model/plan/plan.h"

namespace shardboard {

/// FLOPs and bytes of the largest shards (uneven cuts: the device that has the most). Activations of experts count by the share
/// of their rows that hold data. The optimizer's step reads and writes the states of mixed-precision Adam
/// (model/cost/closedforms/adambytes.h); gradients that are added up over micro-batches are f32.
/// `planned` needs its operands' layouts and its result's.
KernelWork kernelWorkOf(const Graph& graph, const Mesh& mesh, const PlannedOp& planned, std::int64_t microBatches);

} // namespace shardboard

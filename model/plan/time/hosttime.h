// SPDX-License-Identifier: Apache-2.0
// Steps in which devices wait for the host: of many small kernels each takes longer to start than to run. The host runs ahead
// while long kernels work, and while the device waits for collectives; it cannot where it waits for a result itself.
#pragma once

#include "model/hardware/hardware.h"
#include "model/plan/plan.h"

#include <span>
#include <vector>

namespace shardboard {

/// Training is started from Python, step by step; what serves has recorded its graphs.
bool startsFromHost(const Plan& plan, const Hardware& hardware);

/// An operation or collective of a layer, in the order in which the host starts them. Seconds of one layer and micro-batch.
struct HostStep {
    double host = 0;
    double device = 0;
    bool readsBack = false; ///< the host goes on when the device is done with it
};
/// By how much later each starts since the host comes to it so late, where layer follows layer: without what is read back the host
/// is ahead but for what all of it takes longer than the device, and that is shared by the host's time; else step after step.
/// False, and nothing in `waits`: no step does.
bool hostWaits(std::span<const HostStep> steps, std::vector<double>& waits);

/// Collectives that the device waits for before the operation: of its operands, and not beside anything.
std::vector<CollectiveId> waitedFor(const Graph& graph, const Plan& plan, const PlannedOp& op);
/// How often a part's layers pass in a step of the workload.
double passesOf(const PlannedSegment& segment, std::int64_t microBatches);

/// Makes the operations of every part of a training step take as long as they wait for the host, too. Collectives have their
/// seconds already.
void waitForHost(const Graph& graph, Plan& plan, const Hardware& hardware);

} // namespace shardboard

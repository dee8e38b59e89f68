// SPDX-License-Identifier: Apache-2.0
// What a training step moves between devices and the memory of their hosts, where something is offloaded.
#pragma once

#include "model/hardware/hardware.h"
#include "model/plan/plan.h"

#include <cstdint>

namespace shardboard {

/// Bytes of a weight as the device that has the most of it stores it, with the casts that are kept beside it.
std::int64_t storedBytes(const Graph& graph, const Plan& plan, TensorId weight);
/// Of one layer's weights, what a part of the step needs that lies in the host's memory.
std::int64_t fetchedBytes(const Graph& graph, const Plan& plan, const PlannedSegment& segment);

/// Fills PlannedSegment::host from PlannedSegment::offload. A layer's weights come in before its forward and before its backward
/// pass; what it keeps goes out after the one and comes back before the other; for the step that the host makes gradients go out
/// and weights come back, and where the device makes it the states come and go.
void fillHostTransfers(const Graph& graph, Plan& plan, const Hardware& hardware);
/// What a device has in the memory of its host, where something is offloaded: of a pipeline one of the stage that has the most.
std::int64_t hostBytes(const Plan& plan);
/// Seconds of all its occurrences: both ways are used at the same time.
double hostSeconds(const PlannedSegment::HostTransfer& transfer, const DeviceSpec& device);

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// What one device holds of every weight: the reverse of looking at one weight on all devices. Pure functions.
#pragma once

#include "model/design/evaluation.h"

#include <cstdint>
#include <vector>

namespace shardboard {

struct DeviceWeight {
    int weight = -1; ///< index into Evaluation::weights
    std::int64_t copies = 0; ///< in so many layers; of a pipeline those of the device's stage; 0: nothing of it
    Shard shard; ///< of one copy; empty ranges where the device has no part
    std::int64_t bytes = 0; ///< of all copies
};

/// In the order of Evaluation::weights, without inputs and weights of unknown shape. `position` is one of the mesh.
std::vector<DeviceWeight> weightsOnDevice(const Evaluation& evaluation, std::int64_t position);
/// Layers of a weight that lie on a device; copies without a pipeline.
std::int64_t copiesOn(const Evaluation& evaluation, const WeightLayout& weight, std::int64_t position);
/// The same on the device that has the most of them.
std::int64_t mostCopiesOn(const Plan& plan, const WeightLayout& weight);
/// Stages of a pipeline on which one copy of it lies: of a weight in layers that of the first one, of a shared table two. Empty
/// without a pipeline.
std::vector<std::int64_t> stagesOf(const Evaluation& evaluation, const WeightLayout& weight);
/// Devices that hold the same shard of one copy: of a pipeline those of the stages that have it.
std::int64_t replicationOf(const Evaluation& evaluation, const WeightLayout& weight);

} // namespace shardboard

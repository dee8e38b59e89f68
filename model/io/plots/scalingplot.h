// SPDX-License-Identifier: Apache-2.0
// How long a step takes on smaller and larger meshes: the design as it is, with one axis after the other cut into fewer or more.
#pragma once

#include "model/design/design.h"
#include "model/plots/plot.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// A run on a mesh, beside the predictions.
struct ScaledRun {
    std::int64_t devices = 0;
    double seconds = 0; ///< of a step
    std::string what; ///< its name and mesh
};

/// Seconds of a step over the number of devices: for each axis a line of the meshes on which it is a quarter up to four times as
/// long and that can be planned, with the present one among them; those that do not fit into the devices' memory apart; the ideal,
/// in which twice the devices take half the time. Takes as long as planning each of them; `stop` ends it early.
Plot scalingPlot(const Design& design, const std::vector<ScaledRun>& runs = {}, const std::atomic<bool>* stop = nullptr);

} // namespace shardboard

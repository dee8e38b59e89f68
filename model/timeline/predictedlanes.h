// SPDX-License-Identifier: Apache-2.0
// The predicted timeline of a step (model/plan/time/steptimeline.h) as lanes: of every stage, or of every device where there are no
// stages, what it computes and waits for, and what each of its links carries.
#pragma once

#include "model/timeline/lanes.h"

#include "model/hardware/hardware.h"

#include <atomic>
#include <cstddef>

namespace shardboard {

struct PredictedLanesOptions {
    /// A longer timeline is told coarser: a layer of a micro-batch is one interval, and no operation is.
    std::size_t mostIntervals = 1'500'000;
    const std::atomic<bool>* stop = nullptr; ///< what is there by then is thrown away
};

/// The lane `compute` of a stage holds collectives while the device waits for them, and idle time with its cause: what it holds
/// adds up to the step.
Timeline predictedLanes(const Graph& graph, const Plan& plan, const Hardware& hardware, const PredictedLanesOptions& options = {});

} // namespace shardboard

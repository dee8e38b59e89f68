// SPDX-License-Identifier: Apache-2.0
// Hardware of the cost model from what a calibration measured: a pure function of its points.
//
// A logical device is one worker thread, and all of them share one memory (fabric shared-memory). Its peak is the best rate of
// products that was seen, its bandwidth the best rate of a copy or of a kernel that memory bounds (from the caches it is
// higher than that of the memory itself, and operations of small tensors do run from them); kernels then are
//   launch + max(flops / (gemmEfficiency peak), bytes / (memoryEfficiency bandwidth))     products and memory-bound kernels
//   launch + max(flops / (attentionEfficiency peak), …)                                    attention
// and collectives alpha + (bytes read and written, of all devices) / rate, by least squares on the relative error
// (model/cost/calibration.h). The engine computes in float32 whatever a design's dtype; so there is no other peak.
#pragma once

#include "model/cost/calibration.h"
#include "model/hardware/hardware.h"
#include "model/protocol/calibration.h"

#include <string>
#include <vector>

namespace shardboard {

/// One law, and how far its points lie from it.
struct FitReport {
    std::string name; ///< `kernels`, `gemm`, `attention`, `collectives`, `all-reduce`, …
    std::int64_t points = 0;
    Residual residual;
};

struct MachineFit {
    Hardware hardware;
    std::vector<FitReport> fits;
    std::int64_t unsettled = 0; ///< points whose samples did not settle
};

/// Errors: too few points of a law, or points that do not tell its constants apart.
Result<MachineFit> fitMachine(const Calibration& calibration);

/// The share of the peak for which launch + flops / (share peak) comes nearest to the points. 0 when none tells.
double efficiencyFor(const std::vector<KernelPoint>& points, double peakFlops, double launchSeconds);

/// What a hardware file says of where it comes from, under the key `calibration`: {"machine":…,"backend":…,"workers":n,
/// "quick":false,"fits":[{"name":…,"points":n,"mean":x,"worst":x}],"unsettled":n,"limits":{…},"points":[…]}; residuals are parts.
nlohmann::json calibrationRecord(const Calibration& calibration, const MachineFit& fit);

} // namespace shardboard

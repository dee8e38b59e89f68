// SPDX-License-Identifier: Apache-2.0
// Hardware of the cost model from what a calibration measured: a pure function of its points.
//
// A logical device is one worker thread, measured while the others do the same, and all of them share one memory (fabric
// shared-memory). Its peak is the best rate of products that was seen; all else is by least squares on the relative error
// (model/cost/calibration.h). Two laws are tried for each kind of point, the plain one, and the one of a processor with caches,
// which is taken where it comes much nearer:
//   memory-bound   launch + bytes / (memoryEfficiency bandwidth)            launch + min(bytes, C) / Rc + max(0, bytes - C) / R
//   products       launch + max(flops / (gemmEfficiency peak), bytes / …)        Packing (model/hardware/devicespec.h)
//   attention      launch + max(flops / (attentionEfficiency peak), bytes / …)   Packing; backward with an efficiency of its own
//   collectives    alpha + bytes / rate                                      pieces piece + min(bytes, C) / Rc + max(0, bytes - C)
//   / R
// Bytes of collectives are those read and written of all devices; pieces as of LinkSpec::messageSeconds. A GPU gets the plain ones.
// The engine computes in float32 whatever a design's dtype; so there is no other peak.
#pragma once

#include "model/cost/calibration.h"
#include "model/hardware/hardware.h"
#include "model/io/wire/calibration.h"

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

/// What the hardware that was fitted to a calibration says of one of its points; 0: no law was fitted to such points.
double fittedSeconds(const CalibrationPoint& point, const Calibration& calibration, const Hardware& hardware);

/// The share of the peak for which launch + flops / (share peak) comes nearest to the points. 0 when none tells.
double efficiencyFor(const std::vector<KernelPoint>& points, double peakFlops, double launchSeconds);

/// What a hardware file says of where it comes from, under the key `calibration`: {"machine":…,"backend":…,"workers":n,
/// "quick":false,"fits":[{"name":…,"points":n,"mean":x,"worst":x}],"unsettled":n,"limits":{…},"points":[…]}; residuals are parts.
nlohmann::json calibrationRecord(const Calibration& calibration, const MachineFit& fit);

} // namespace shardboard

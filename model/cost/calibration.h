// SPDX-License-Identifier: Apache-2.0
// Constants of the cost model from measured times, by least squares on the relative error, so that small and large points
// count alike.
#pragma once

#include "model/core/result.h"
#include "model/core/tensor.h"
#include "model/hardware/devicespec.h"

#include <vector>

namespace shardboard {

/// How far a model is off its points: |model - measured| / measured.
struct Residual {
    double mean = 0;
    double worst = 0;
};

/// One measured transfer of `steps` steps that carries `bytes` over the link: a ring all-gather over n devices is n - 1
/// steps of S (n-1)/n bytes.
struct LinkPoint {
    double bytes = 0;
    double seconds = 0;
    double steps = 1;
};

struct LinkFit {
    double alphaSeconds = 0; ///< at least 0
    double bytesPerSecond = 0;
    Residual residual;
};

/// seconds = steps alpha + bytes / rate. Errors: fewer than three points, points of one size alone, a value that is no
/// positive number, times that do not grow with the bytes.
Result<LinkFit> fitLink(const std::vector<LinkPoint>& points, const std::string& where = "calibration");

/// One measured kernel on one device.
struct KernelPoint {
    double flops = 0;
    double bytes = 0;
    double seconds = 0;
    DType dtype = DType::BF16; ///< of the operands
};

struct KernelFit {
    KernelConstants constants; ///< an efficiency that no point depends on stays as it was
    Residual residual;
    int computeBound = 0; ///< points
    int memoryBound = 0;
};

/// launch + max(flops / (gemmEfficiency peak), bytes / (memoryEfficiency bandwidth))
double roofline(const KernelPoint& point, const DeviceSpec& device, const KernelConstants& constants);

/// The constants of `roofline` for a device, of which peaks and bandwidth are taken as they are. Errors as of fitLink.
Result<KernelFit> fitKernels(const std::vector<KernelPoint>& points, const DeviceSpec& device, const std::string& where = "calibration");

} // namespace shardboard

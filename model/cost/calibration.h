// SPDX-License-Identifier: Apache-2.0
// Constants of the cost model from measured times, by least squares on the relative error, so that small and large points
// count alike.
#pragma once

#include "model/core/result.h"
#include "model/core/tensor.h"
#include "model/hardware/devicespec.h"

#include <optional>
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

struct CachedFit {
    double stepSeconds = 0; ///< at least 0
    CacheRate cache;
    double bytesPerSecond = 0; ///< of the memory behind the cache, not above the cache's
    Residual residual;
};

/// seconds = steps stepSeconds + min(bytes, C) / Rc + max(0, bytes - C) / R. C is searched over the sizes of the points, in steps
/// of a tenth; for each the other three are least squares. Nothing where the points show no cache: too few on either side, or no
/// faster rate for the small ones. Points as fitLink takes them.
std::optional<CachedFit> fitCached(const std::vector<LinkPoint>& points);

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
Result<KernelFit> fitKernels(const std::vector<KernelPoint>& points, const DeviceSpec& device,
                             const std::string& where = "calibration");

struct PackingFit {
    double efficiency = 0; ///< of the peak; may be above 1
    Packing packing;
    Residual residual;
};

/// The constants of a kernel that packs its operands (Packing) on a device whose memory, cache and launch are known. What is free
/// is searched over the sizes of the points, and which points are unpacked over their FLOPs per byte; the rest are least squares.
/// Without `mayBeFree` nothing is free and all are packed. Nothing where no such law has positive constants.
std::optional<PackingFit> fitPacking(const std::vector<KernelPoint>& points, const DeviceSpec& device, bool mayBeFree);

} // namespace shardboard

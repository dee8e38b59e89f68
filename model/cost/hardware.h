// SPDX-License-Identifier: Apache-2.0
// What a device and its links can do. Rates are decimal (bytes/s, FLOP/s with a multiply-add as 2), times seconds.
#pragma once

#include "model/core/result.h"
#include "model/core/tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

struct Link {
    double alphaSeconds = 0; ///< one algorithm step
    double bytesPerSecond = 0; ///< effective, per direction and device
};

struct Hardware {
    std::string id; ///< `dgx-h100`
    std::string name; ///< `8 x NVIDIA H100 SXM, NVLink 4`
    std::string source; ///< where the numbers come from
    double flopsBf16 = 0; ///< dense peak
    double flopsF32 = 0;
    double memoryBytes = 0; ///< per device
    double memoryBytesPerSecond = 0;
    std::int64_t devicesPerNode = 1; ///< devices joined by `intra`
    Link intra;
    Link inter; ///< between nodes

    double peakFlops(DType type) const { return bitsOf(type) <= 16 ? flopsBf16 : flopsF32; }
};

/// All built-in presets, in the order shown to people.
const std::vector<Hardware>& hardwarePresets();
/// Errors list the known ids.
Result<Hardware> findHardware(const std::string& id, const std::string& where = "--hardware");

} // namespace shardboard

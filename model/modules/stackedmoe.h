// SPDX-License-Identifier: Apache-2.0
// StackedMoE: the experts' weights stacked in one tensor each. gate_up [experts, hidden, 2 moeDim], down [experts,
// moeDim, hidden]; packed as MXFP4 (two values a byte, a scale for each 32) gate_up [experts, 2 moeDim, hidden/2], down
// [experts, hidden, moeDim/2].
#pragma once

#include "model/modules/module.h"

#include <optional>

namespace shardboard {

struct StackedMoeParameters {
    std::int64_t experts = 0;
    std::int64_t hidden = 0;
    std::int64_t moeDim = 0;
    bool interleaved = false; ///< gate and up take turns along their dim, instead of one after the other
    bool hasBias = false;
    bool packedMxfp4 = false;
    ModuleStrategy strategy; ///< tensor-parallel
};

struct StackedMoeAnswer {
    DeviceShapes gateUp;
    DeviceShapes down;
    Strategy gateUpStrategy;
    Strategy downStrategy;
    std::optional<DeviceShapes> gateUpScales; ///< packed only
    std::optional<DeviceShapes> downScales;
    std::optional<DeviceShapes> gateUpBias; ///< [experts, 2 moeDim]
    std::optional<DeviceShapes> downBias; ///< [experts, hidden], replicated: every device adds a share of it
    std::vector<Finding> findings;
};

/// Errors: any other strategy; a concatenated gate_up with a bias (MAX cuts the bias along a dim that it does not
/// have).
Result<StackedMoeAnswer> shardStackedMoe(const StackedMoeParameters& parameters, const std::string& where);

} // namespace shardboard

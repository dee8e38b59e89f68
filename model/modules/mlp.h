// SPDX-License-Identifier: Apache-2.0
// MLP: y = down(act(gate(x)) * up(x)).
#pragma once

#include "model/modules/module.h"

namespace shardboard {

struct MlpParameters {
    std::int64_t hidden = 0;
    std::int64_t feedForward = 0; ///< inner width
    ModuleStrategy strategy; ///< replicate or tensor-parallel
};

/// gate and up are [feedForward, hidden], down is [hidden, feedForward].
struct MlpAnswer {
    DeviceShapes gate;
    DeviceShapes up;
    DeviceShapes down;
    std::vector<Finding> findings;
};

/// Tensor-parallel: gate and up rowwise (dim 0), down columnwise (dim 1), so that one all-reduce follows. Errors: any
/// other strategy.
Result<MlpAnswer> shardMlp(const MlpParameters& parameters, const std::string& where);

} // namespace shardboard

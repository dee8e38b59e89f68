// SPDX-License-Identifier: Apache-2.0
// ColumnParallelLinear: a Linear whose weight [out, in] and bias are cut rowwise (dim 0; everyone else's
// column-parallel) over all devices. Each device computes y_i = x W_it + b_i, then an all-gather of the last dim gives
// every device all of y.
#pragma once

#include "model/modules/module.h"

#include <optional>

namespace shardboard {

struct ColumnParallelParameters {
    std::int64_t inDim = 0;
    std::int64_t outDim = 0;
    std::int64_t devices = 1;
    bool hasBias = false;
    bool tiedWeight = false; ///< the weight is that of another layer, such as an embedding table
    bool scaledQuantization = false; ///< values with scales (fp8, NVFP4)
    DType dtype = DType::BF16; ///< of values, weight and bias
    Shape inputShape; ///< [..., in]; empty: one vector, [in]
};

struct ColumnParallelAnswer {
    DeviceShapes weights;
    std::optional<DeviceShapes> biases; ///< none without a bias
    DeviceShapes localOutputs; ///< y_i
    DeviceShapes outputs; ///< after the all-gather: the same everywhere
    std::vector<Finding> findings;
};

/// What MAX refuses: no devices; a tied weight together with a bias or with scales. Any out_dim is allowed, even or
/// not. Checked alone, so that a model of this module has the same rules.
Status checkColumnParallel(const ColumnParallelParameters& parameters, const std::string& where);

Result<ColumnParallelAnswer> shardColumnParallel(const ColumnParallelParameters& parameters, const std::string& where);

} // namespace shardboard

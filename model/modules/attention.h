// SPDX-License-Identifier: Apache-2.0
// Attention: the projections of Q, K and V, stacked in one weight or apart, and the output projection.
#pragma once

#include "model/modules/module.h"

namespace shardboard {

struct AttentionParameters {
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t kvHeads = 0;
    std::int64_t headDim = 0;
    bool stackedQkv = false; ///< one weight [(heads + 2 kvHeads) headDim, hidden]; MAX can cut it only when kvHeads = heads
    ModuleStrategy strategy; ///< replicate or tensor-parallel
};

struct AttentionAnswer {
    std::vector<std::int64_t> heads; ///< query heads that a device's part of the output projection takes
    DeviceShapes qkv; ///< stacked
    DeviceShapes q, k, v; ///< apart
    DeviceShapes output; ///< [hidden, heads headDim]
    std::string qkvStrategy; ///< stacked_qkv, rowwise or replicate
    std::string outputStrategy; ///< head_aware_columnwise or replicate
    std::vector<Finding> findings;
};

/// Tensor-parallel: a stacked weight as stacked-qkv, apart rowwise (dim 0); output head-aware columnwise (dim 1).
/// Errors: any other strategy; a stacked weight whose K and V have fewer heads.
Result<AttentionAnswer> shardAttention(const AttentionParameters& parameters, const std::string& where);

} // namespace shardboard

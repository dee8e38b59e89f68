// SPDX-License-Identifier: Apache-2.0
// Quantisation blocks of weights that are only known by name and shape: a tensor of scales beside a weight tells them.
#pragma once

#include "model/families/modelspec.h"

#include <cstddef>
#include <vector>

namespace shardboard {

/// A weight with its scales, as indices into ModelSpec::looseWeights.
struct ScaledWeight {
    std::size_t weight = 0;
    std::size_t scales = 0;
    std::vector<std::int64_t> block; ///< elements of each dim that share a scale; 1 where each has its own
};

/// Pairs `x.weight` (or `x.weight_packed`) with `x.weight_scale` or `x.weight_scale_inv`, `x_blocks` with `x_scales`, and
/// `x.qweight` with `x.scales`, where both shapes are known and have as many dims. Blocks are of stored numbers,
/// which may hold several elements each. The block of a dim of n elements and s scales is the b with ceil(n / b) = s: n / s where
/// that is whole, else a power of two that fits. A dim with one scale, or with one for each element, has no block.
std::vector<ScaledWeight> scaledWeights(const ModelSpec& model);

} // namespace shardboard

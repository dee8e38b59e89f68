// SPDX-License-Identifier: Apache-2.0
// The values that a design's forward pass computes, as exports list them: a name, a layout, and whether a pin asked for it.
#pragma once

#include "model/design/evaluation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

struct PlannedValue {
    std::string name; ///< `block/self_attn.o_proj`: the part of the model and the operation that makes it, unique in a design
    TensorSpec spec; ///< its name is the value's: `attention out`
    Layout layout; ///< where the operation leaves it; terms of a sum that is still to be made are partial
    bool pinned = false; ///< some pin lays it out, and all terms are summed; other values follow from these and the weights
    std::int64_t layers = 1; ///< that have it alike
};

/// In program order. Nothing of a model without operations.
std::vector<PlannedValue> plannedValues(const Design& design, const Evaluation& evaluation);

} // namespace shardboard

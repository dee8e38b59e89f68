// SPDX-License-Identifier: Apache-2.0
// Whether the shapes of an operation fit together: a plan comes from another program, so nothing is taken for granted.
#pragma once

#include "model/ops/graph.h"

#include <vector>

namespace shardboard::engine {

/// For experts, parts of the last dim, latent attention, and attention: an empty text when they fit, else what is wrong. Other
/// kinds always fit here.
std::string shapeErrorOfParts(const Op& op, const std::vector<Shape>& operands, const Shape& result);

} // namespace shardboard::engine

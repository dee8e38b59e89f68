// SPDX-License-Identifier: Apache-2.0
// Whether the shapes and attributes of an operation of the backward pass are ones that can be executed.
#pragma once

#include "model/ops/graph.h"

#include <string>
#include <vector>

namespace shardboard::engine {

/// For gradients of attention, layer norms, activations with limits, parts of the last dim and experts: an empty text when they
/// fit, else what is wrong. Other kinds always fit here.
std::string shapeErrorOfGradients(const Op& op, const std::vector<Shape>& operands, const Shape& result);

} // namespace shardboard::engine

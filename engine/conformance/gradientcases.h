// SPDX-License-Identifier: Apache-2.0
// Operations of the backward pass with the operation whose gradient they make, as the definitions of operations say.
#pragma once

#include "model/ops/graph.h"

#include <string>
#include <vector>

namespace shardboard::conformance {

inline constexpr int kGradient = -1; ///< the gradient of the result, as an operand

struct GradientCase {
    std::string name;
    OpKind gradient = OpKind::Add;
    OpKind forward = OpKind::Add;
    int of = 0; ///< operand of the forward operation
    std::vector<Shape> operands; ///< of the forward operation
    Shape result;
    std::vector<int> gradientOperands; ///< kGradient, or an operand of the forward operation
    OpAttributes attributes; ///< of both
    int gates = -1; ///< operand of the forward operation that is 0 for most experts
    int ofExperts = -1; ///< operand [E,B,S,n] of which most rows are zeros, and the same rows of the gradient where that has them
};

/// Two for every operation that only makes a gradient, but for those that take tokens.
const std::vector<GradientCase>& gradientCases();

} // namespace shardboard::conformance

// SPDX-License-Identifier: Apache-2.0
// Shapes and attributes for any operation, made up by its rule: what has a definition is tried without a case of its own.
#pragma once

#include "model/ops/graph.h"

#include <optional>
#include <vector>

namespace shardboard::conformance {

struct OpSample {
    std::vector<Shape> operands;
    Shape result;
    OpAttributes attributes;
};

/// No tensor has more than `most` elements; on two devices the operation can be cut by every row of its rule. Always the same.
/// Nothing for kinds with operands that are not any numbers: tokens, sums that a logarithm is taken of.
std::optional<OpSample> sampleOf(OpKind kind, std::int64_t most);

} // namespace shardboard::conformance

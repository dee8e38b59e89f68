// SPDX-License-Identifier: Apache-2.0
// The independent answer of every operation: straight from its definition (model/ops), in double, on the whole
// tensor, without anything of the engine. Gradients of what is not linear are slopes by central differences.
#pragma once

#include "model/ops/graph.h"

#include <vector>

namespace shardboard::conformance {

/// A whole tensor, row-major.
struct Value {
    Shape shape;
    std::vector<double> data;
};

/// What some operations need beside their operands.
struct ReferenceInputs {
    const Value* cached = nullptr; ///< of the result's shape: the tokens that were there before a KvAppend
    const Value* chosenBy = nullptr; ///< logits that choose a token's experts where they are not those that make its gates
};

/// The result of the operation. Throws std::logic_error for a kind that has no reference.
Value reference(OpKind kind, const OpAttributes& attributes, const std::vector<const Value*>& operands, const Shape& result,
                const ReferenceInputs& inputs = {});

} // namespace shardboard::conformance

// SPDX-License-Identifier: Apache-2.0
// Arguments of an operation that are not tensors: what a family takes, and values of one question.
#pragma once

#include "model/ops/rows/symbols.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

enum class AttributeKind : std::uint8_t {
    Axis, ///< a tensor dim; negative counts from the end
    Axes, ///< a list of them
    Integer,
    Integers,
    Sizes, ///< a list of sizes, which may be names
    Choice, ///< one of some words; its value is the place in the list
    Number, ///< 0 when it is zero, else 1: no rule asks for more
    Dims, ///< a target shape
};

struct AttributeSpec {
    const char* name = "";
    AttributeKind kind = AttributeKind::Integer;
    /// The value when it is not given, as in a request (`-1`, `NHWC`, `none`); null: it must be given.
    const char* fallback = nullptr;
    /// Of Axis and Axes: how many dims there are to choose from, an expression.
    const char* extent = "r";
    std::vector<const char*> choices {};
};

/// A dim of a target shape: a size of Shape, or a product of dims of the first operand (`x.shape[0]` in MAX, which is a dim
/// per device where the operand is cut) and a factor.
struct TargetDim {
    std::int64_t size = 1;
    std::vector<int> sourceDims {}; ///< when not empty, `size` is the factor
};

struct AttributeValue {
    bool none = false; ///< null was given, or is the fallback
    std::int64_t number = 0;
    std::vector<std::int64_t> list {};
    std::vector<TargetDim> dims {};
};

} // namespace shardboard

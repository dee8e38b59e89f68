// SPDX-License-Identifier: Apache-2.0
// Operations that work element by element (max-sharding 2.2).
#include "model/picker/max/registry.h"

namespace shardboard {

namespace {

constexpr const char* kOneSided = "one operand is cut and the others are whole, so that their shapes do not line up";

} // namespace

std::span<const OpFamily> elementwiseFamilies()
{
    static const std::vector<CheckText> shapes {
        { "broadcast(0)", UpstreamError::ValueError, "inputs",
          "the operands do not broadcast: aligned at the right, two sizes differ and neither is 1",
          "give sizes that are the same or 1" }
    };
    static const std::vector<OpFamily> table {
        { .name = "unary",
          .aliases = { "relu", "abs", "exp", "log", "log1p", "sqrt",  "rsqrt", "sigmoid", "silu",   "gelu",   "tanh",       "atanh",
                       "acos", "cos", "sin", "erf", "ceil",  "floor", "round", "trunc",   "is_inf", "is_nan", "logical_not" },
          .rule = "... -> ..." },
        { .name = "linear_unary", .aliases = { "negate", "neg", "dequantize" }, .rule = "... -> ... ; P -> P" },
        // `same_dtype` 1: the type does not change
        { .name = "cast",
          .attributes = { { "same_dtype", AttributeKind::Number, "0" } },
          .rule = "... -> ... ; P -> P late ours if same_dtype == 1" },
        { .name = "binary",
          .aliases = { "floor_div", "pow", "mod", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal",
                       "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "elementwise_max", "elementwise_min",
                       "complex_mul" },
          .fewest = 2,
          .most = 2,
          .checks = shapes,
          .rule = "R* -> R ; B(o,w)* -> S(o) for o in 0..rmax for w in -1..sides unsound if w >= 0",
          .reasons = { kOneSided } },
        { .name = "linear_binary",
          .aliases = { "add", "sub" },
          .fewest = 2,
          .most = 2,
          .checks = shapes,
          .rule = "R* -> R ; B(o,w)* -> S(o) for o in 0..rmax for w in -1..sides unsound if w >= 0 ; "
                  "P P -> P",
          .reasons = { kOneSided } },
        { .name = "mul",
          .fewest = 2,
          .most = 2,
          .checks = shapes,
          .rule = "R* -> R ; B(o,w)* -> S(o) for o in 0..rmax for w in -1..sides unsound if w >= 0 ; "
                  "P R -> P late ours ; R P -> P late ours",
          .reasons = { kOneSided } },
        { .name = "div",
          .fewest = 2,
          .most = 2,
          .checks = shapes,
          .rule = "R* -> R ; B(o,w)* -> S(o) for o in 0..rmax for w in -1..sides unsound if w >= 0 ; "
                  "P R -> P late ours",
          .reasons = { kOneSided } },
        { .name = "ternary",
          .aliases = { "where", "select" },
          .fewest = 3,
          .most = 3,
          .checks = shapes,
          .rule = "R* -> R ; B(o,w)* -> S(o) for o in 0..rmax for w in -1..sides unsound if w >= 0",
          .reasons = { kOneSided } },
    };
    return table;
}

} // namespace shardboard

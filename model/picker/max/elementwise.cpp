// SPDX-License-Identifier: Apache-2.0
// Operations that work element by element (max-sharding 2.2).
#include "model/picker/max/registry.h"

namespace shardboard {

std::span<const OpFamily> elementwiseFamilies()
{
    static const std::vector<RowText> unary { { kEvery, "R -> R" }, { kEvery, "S(k) -> S(k) for k in 0..r" } };
    static const std::vector<RowText> linearUnary { { kEvery, "R -> R" },
                                                    { kEvery, "S(k) -> S(k) for k in 0..r" },
                                                    { kEvery, "P -> P" } };
    static const std::vector<CheckText> shapes {
        { "broadcast(0)", UpstreamError::ValueError, "inputs",
          "the operands do not broadcast: aligned at the right, two sizes differ and neither is 1",
          "give sizes that are the same or 1" }
    };
    static const std::vector<RowText> broadcast { { kEvery, "R* -> R" }, { kEvery, "B(o)* -> S(o) for o in 0..rmax" } };
    static const auto broadcastAnd = [](std::initializer_list<RowText> more) {
        std::vector<RowText> out = broadcast;
        out.insert(out.end(), more);
        return out;
    };
    static const std::vector<OpFamily> table {
        { .name = "unary",
          .aliases = { "relu", "abs", "exp", "log", "log1p", "sqrt",  "rsqrt", "sigmoid", "silu",   "gelu",   "tanh",       "atanh",
                       "acos", "cos", "sin", "erf", "ceil",  "floor", "round", "trunc",   "is_inf", "is_nan", "logical_not" },
          .rows = unary },
        { .name = "linear_unary", .aliases = { "negate", "neg", "dequantize" }, .rows = linearUnary },
        // `same_dtype` 1: the type does not change
        { .name = "cast",
          .attributes = { { "same_dtype", AttributeKind::Number, "0" } },
          .rows = { { kEvery, "R -> R" }, { kEvery, "S(k) -> S(k) for k in 0..r" }, { kG3AndOurs, "P -> P if same_dtype == 1" } } },
        { .name = "binary",
          .aliases = { "floor_div", "pow", "mod", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal",
                       "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "elementwise_max", "elementwise_min",
                       "complex_mul" },
          .fewest = 2,
          .most = 2,
          .checks = shapes,
          .rows = broadcast },
        { .name = "linear_binary",
          .aliases = { "add", "sub" },
          .fewest = 2,
          .most = 2,
          .checks = shapes,
          .rows = broadcastAnd({ { kEvery, "P, P -> P" } }) },
        { .name = "mul",
          .fewest = 2,
          .most = 2,
          .checks = shapes,
          .rows = broadcastAnd({ { kG3AndOurs, "P, R -> P" }, { kG3AndOurs, "R, P -> P" } }) },
        { .name = "div", .fewest = 2, .most = 2, .checks = shapes, .rows = broadcastAnd({ { kG3AndOurs, "P, R -> P" } }) },
        { .name = "ternary", .aliases = { "where", "select" }, .fewest = 3, .most = 3, .checks = shapes, .rows = broadcast },
    };
    return table;
}

} // namespace shardboard

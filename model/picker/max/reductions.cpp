// SPDX-License-Identifier: Apache-2.0
// Reductions and what works along one dim (max-sharding 2.3).
#include "model/picker/max/registry.h"

namespace shardboard {

namespace {

constexpr const char* kRunningSum =
    "a running sum over a part does not know the parts before it, and adding the parts does not line them up";
constexpr const char* kAverage = "an average is executed as a sum, and uneven parts would weigh the same";

const AttributeSpec kAxis { "axis", AttributeKind::Axis, "-1" };

} // namespace

std::span<const OpFamily> reductionFamilies()
{
    constexpr const char* kWhole = "R -> R ; S(d) -> S(d) for d in 0..r if d != axis";
    static const std::vector<OpFamily> table {
        { .name = "reduce",
          .aliases = { "prod", "max", "min", "argmax", "argmin", "reduce_max", "reduce_min" },
          .attributes = { kAxis },
          .rule = kWhole,
          .flattens = true },
        { .name = "softmax",
          .aliases = { "logsoftmax", "log_softmax" },
          .attributes = { kAxis },
          .rule = kWhole,
          .flattens = true },
        { .name = "linear_reduce",
          .aliases = { "sum", "reduce_sum" },
          .attributes = { kAxis },
          .rule = "R -> R ; S(d) -> S(d) for d in 0..r if d != axis ; S(axis) -> P ; P -> P",
          .flattens = true },
        { .name = "cumsum",
          .attributes = { kAxis, { "exclusive", AttributeKind::Number, "0" }, { "reverse", AttributeKind::Number, "0" } },
          .rule = "R -> R ; S(d) -> S(d) for d in 0..r if d != axis ; S(axis) -> P early unsound ; P -> P early ours ; "
                  "P -> P max267 if integral(0)",
          .reasons = { kRunningSum },
          .flattens = true },
        { .name = "mean",
          .aliases = { "reduce_mean" },
          .attributes = { kAxis },
          .rule = "R -> R ; "
                  "S(d) -> S(d) for d in 0..r if d != axis ; "
                  "S(axis) -> Pavg early unsound ; "
                  "Pavg -> Pavg early ; "
                  "P -> P ours",
          .reasons = { kAverage },
          .flattens = true },
        { .name = "top_k",
          .aliases = { "bottom_k" },
          .attributes = { kAxis, { "k", AttributeKind::Integer, "1" } },
          .checks = { { "k >= 0", UpstreamError::ValueError, "attrs.k", "cannot be negative", "give 1 or more" },
                      { "size(0,axis) < 0 || k <= size(0,axis)", UpstreamError::ValueError, "attrs.k",
                        "is more than there are elements to choose from", "give at most the size of dim 'axis'" } },
          .rule = kWhole },
        { .name = "argsort", .aliases = { "nonzero" }, .attributes = { kAxis }, .rule = "R -> R" },
    };
    return table;
}

} // namespace shardboard

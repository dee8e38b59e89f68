// SPDX-License-Identifier: Apache-2.0
// Pooling and images (max-sharding 2.5).
#include "model/picker/max/registry.h"

namespace shardboard {

namespace {

constexpr const char* kTransformed = "the dim that is transformed is cut: the rule takes the last one, whatever the axis is";

} // namespace

std::span<const OpFamily> poolFamilies()
{
    static const std::vector<OpFamily> table {
        // NHWC
        { .name = "pool", .aliases = { "max_pool2d", "max_pool" }, .rule = "R -> R ; S(0) -> S(0) ; S(3) -> S(3)" },
        { .name = "linear_pool", .aliases = { "avg_pool2d", "avg_pool" }, .rule = "R -> R ; S(0) -> S(0) ; S(3) -> S(3) ; P -> P" },
        { .name = "band_part", .rule = "R -> R ; S(k) -> S(k) for k in 0..r-2 ; P -> P" },
        { .name = "fold", .rule = "R -> R ; S(k) -> S(k) for k in 0..r if k != 1 && k != 2 ; P -> P" },
        { .name = "as_interleaved_complex", .rule = "R -> R ; S(k) -> S(k) for k in 0..r-1 ; P -> P" },
        { .name = "irfft",
          .attributes = { { "axis", AttributeKind::Axis, "-1" } },
          .rule = "R -> R ; "
                  "S(k) -> S(k) max for k in 0..r-1 unsound if k == axis ; "
                  "S(k) -> S(k) ours for k in 0..r if k != axis ; "
                  "P -> P",
          .reasons = { kTransformed } },
        { .name = "resize",
          .aliases = { "resize_nearest", "resize_linear", "resize_bilinear", "resize_bicubic" },
          .rule = "R -> R ; S(0) -> S(0) ; P -> P" },
    };
    return table;
}

} // namespace shardboard

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
        { .name = "pool",
          .aliases = { "max_pool2d", "max_pool" },
          .rows = { { kEvery, "R -> R" }, { kEvery, "S(0) -> S(0)" }, { kEvery, "S(3) -> S(3)" } } },
        { .name = "linear_pool",
          .aliases = { "avg_pool2d", "avg_pool" },
          .rows = { { kEvery, "R -> R" }, { kEvery, "S(0) -> S(0)" }, { kEvery, "S(3) -> S(3)" }, { kEvery, "P -> P" } } },
        { .name = "band_part", .rows = { { kEvery, "R -> R" }, { kEvery, "S(k) -> S(k) for k in 0..r-2" }, { kEvery, "P -> P" } } },
        { .name = "fold",
          .rows = { { kEvery, "R -> R" }, { kEvery, "S(k) -> S(k) for k in 0..r if k != 1 && k != 2" }, { kEvery, "P -> P" } } },
        { .name = "as_interleaved_complex",
          .rows = { { kEvery, "R -> R" }, { kEvery, "S(k) -> S(k) for k in 0..r-1" }, { kEvery, "P -> P" } } },
        { .name = "irfft",
          .attributes = { { "axis", AttributeKind::Axis, "-1" } },
          .rows = { { kEvery, "R -> R" },
                    { kMax, "S(k) -> S(k) for k in 0..r-1", kTransformed, "k == axis" },
                    { kOurs, "S(k) -> S(k) for k in 0..r if k != axis" },
                    { kEvery, "P -> P" } } },
        { .name = "resize",
          .aliases = { "resize_nearest", "resize_linear", "resize_bilinear", "resize_bicubic" },
          .rows = { { kEvery, "R -> R" }, { kEvery, "S(0) -> S(0)" }, { kEvery, "P -> P" } } },
    };
    return table;
}

} // namespace shardboard

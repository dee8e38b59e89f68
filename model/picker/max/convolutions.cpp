// SPDX-License-Identifier: Apache-2.0
// Convolutions (max-sharding 2.1): batch first, channels last (NHWC) or second (NCHW), filters RSCF. A bias is the third
// operand.
#include "model/picker/max/registry.h"

namespace shardboard {

namespace {

constexpr const char* kBias = "the rule does not see the bias, so that every device adds all of it";
constexpr const char* kGroups = "every device takes its filters for those of all groups";

const AttributeSpec kLayout { "layout", AttributeKind::Choice, "NHWC", "r", { "NHWC", "NCHW", "NDHWC", "NCDHW" } };
const AttributeSpec kFilterLayout { "filter_layout", AttributeKind::Choice, "RSCF", "r", { "RSCF", "QRSCF" } };
const AttributeSpec kGroupCount { "groups", AttributeKind::Integer, "1" };

const std::vector<CheckText> kRanks { { "r0 >= 3 && r1 >= 3", UpstreamError::ValueError, "inputs",
                                        "a convolution takes an image and filters of at least three dims", "" },
                                      { "groups >= 1", UpstreamError::ValueError, "attrs.groups",
                                        "there must be at least one group", "give 1 or more" } };

} // namespace

std::span<const OpFamily> convolutionFamilies()
{
    // layout is the place in its choices: 0 and 2 have the channels last
    static const std::vector<OpFamily> table {
        { .name = "conv2d",
          .aliases = { "conv3d", "conv" },
          .fewest = 2,
          .most = 3,
          .attributes = { kLayout, kFilterLayout, kGroupCount },
          .checks = kRanks,
          .rule = "R R =* -> R early ; "
                  "S(0) R =* -> S(0) early ; "
                  "R S(r1-1) =* -> S(layout == 1 || layout == 3 ? 1 : r0-1) early if n == 2 unsound if groups != 1 ; "
                  "R S(r1-1) =* -> S(layout == 1 || layout == 3 ? 1 : r0-1) early if n == 3 unsound 1 ; "
                  "S(layout == 1 || layout == 3 ? 1 : r0-1) S(r1-2) =* -> P early if groups == 1 unsound 1 if n == 3 ; "
                  "P R =* -> P early unsound 1 if n == 3 ; "
                  "R P =* -> P early unsound 1 if n == 3 ; "
                  "R R R* -> R late ours ; "
                  "S(0) R R* -> S(0) late ours ; "
                  "R S(r1-1) S(0)* -> S(layout == 1 || layout == 3 ? 1 : r0-1) late unsound if groups != 1 ; "
                  "R S(r1-1) S(0)* -> S(layout == 1 || layout == 3 ? 1 : r0-1) ours if groups == 1 ; "
                  "S(layout == 1 || layout == 3 ? 1 : r0-1) S(r1-2) -> P late ours if groups == 1 ; "
                  "P R -> P late ours ; "
                  "R P -> P late ours",
          .reasons = { kGroups, kBias } },
        // the last two dims of the filters are swapped; counts as one group
        { .name = "conv2d_transpose",
          .aliases = { "conv_transpose", "conv3d_transpose" },
          .fewest = 2,
          .most = 3,
          .attributes = { kLayout, kFilterLayout, kGroupCount },
          .checks = kRanks,
          .rule = "R R =* -> R early ; "
                  "S(0) R =* -> S(0) early ; "
                  "R S(r1-2) =* -> S(layout == 1 || layout == 3 ? 1 : r0-1) early unsound if n == 3 ; "
                  "S(layout == 1 || layout == 3 ? 1 : r0-1) S(r1-1) =* -> P early unsound if n == 3 ; "
                  "P R =* -> P early unsound if n == 3 ; "
                  "R P =* -> P early unsound if n == 3 ; "
                  "R R R* -> R late ours ; "
                  "S(0) R R* -> S(0) late ours ; "
                  "R S(r1-2) S(0)* -> S(layout == 1 || layout == 3 ? 1 : r0-1) late ours ; "
                  "S(layout == 1 || layout == 3 ? 1 : r0-1) S(r1-1) -> P late ours ; "
                  "P R -> P late ours ; "
                  "R P -> P late ours",
          .reasons = { kBias } },
    };
    return table;
}

} // namespace shardboard

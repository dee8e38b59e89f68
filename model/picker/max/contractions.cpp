// SPDX-License-Identifier: Apache-2.0
// Products of matrices (max-sharding 2.1).
#include "model/picker/max/registry.h"

namespace shardboard {

namespace {

constexpr const char* kLeftAligned = "batch dims of unequal ranks are aligned at the left, broadcasting aligns them at the right";
constexpr const char* kBlocks = "the parts of the scales are not those of the blocks that they scale";

} // namespace

std::span<const OpFamily> contractionFamilies()
{
    static const std::vector<OpFamily> table {
        { .name = "matmul",
          .aliases = { "batched_matmul" },
          .fewest = 2,
          .most = 2,
          .checks = { { "r0 >= 1 && r1 >= 1", UpstreamError::ValueError, "inputs", "an operand of a product has no dims",
                        "give operands of at least one dim" },
                      { "size(0,r0-1) < 0 || size(1,max(r1-2,0)) < 0 || same(0,r0-1,1,max(r1-2,0))", UpstreamError::ValueError,
                        "inputs", "the dims that are contracted differ in size",
                        "the last dim of the first operand must be the "
                        "last but one of the second" },
                      { "r0 < 2 || r1 < 2 || broadcast(2)", UpstreamError::ValueError, "inputs",
                        "the batch dims do not broadcast: aligned at the right, two sizes differ and neither is 1",
                        "give sizes that are the same or 1" } },
          .rule = "R R -> R ; "
                  // both of rank 2 or more; MAX uses the same index on both sides
                  "S(d) S(d) -> S(d) max for d in 0..min(r0,r1)-2 if !one(0,d) && !one(1,d) unsound if r0 != r1 ; "
                  "S(d) R -> S(d) max for d in min(r0,r1)-2..r0-2 if r0 >= 2 && r1 >= 2 "
                  "unsound if r0 < r1 || (d >= r0-r1 && !one(1,d-(r0-r1))) ; "
                  "S(d) R -> S(d) max for d in 0..min(r0,r1)-2 if one(1,d) && !one(0,d) "
                  "unsound if r0 < r1 || (d >= r0-r1 && !one(1,d-(r0-r1))) ; "
                  "R S(d) -> S(d) max for d in min(r0,r1)-2..r1-2 if r0 >= 2 && r1 >= 2 "
                  "unsound if r1 < r0 || (d >= r1-r0 && !one(0,d-(r1-r0))) ; "
                  "R S(d) -> S(d) max for d in 0..min(r0,r1)-2 if one(0,d) && !one(1,d) "
                  "unsound if r1 < r0 || (d >= r1-r0 && !one(0,d-(r1-r0))) ; "
                  "B(o) B(o) -> S(o) ours for o in 0..rmax-2 if r0 >= 2 && r1 >= 2 ; "
                  "S(r0-2) R -> S(rmax-2) if r0 >= 2 && r1 >= 2 ; "
                  "R S(r1-1) -> S(rmax-1) if r0 >= 2 && r1 >= 2 ; "
                  "S(r0-1) S(r1-2) -> P if r0 >= 2 && r1 >= 2 ; "
                  // a vector on either side
                  "S(0) S(0) -> P if r0 == 1 && r1 == 1 ; "
                  "R S(d) -> S(d) for d in 0..r1-2 if r0 == 1 ; "
                  "R S(r1-1) -> S(r1-2) if r0 == 1 && r1 >= 2 ; "
                  "S(0) S(r1-2) -> P if r0 == 1 && r1 >= 2 ; "
                  "S(d) R -> S(d) for d in 0..r0-2 if r1 == 1 ; "
                  "S(r0-2) R -> S(r0-2) if r0 >= 2 && r1 == 1 ; "
                  "S(r0-1) S(0) -> P if r0 >= 2 && r1 == 1 ; "
                  "P R -> P ; "
                  "R P -> P",
          .reasons = { kLeftAligned } },
        { .name = "outer",
          .fewest = 2,
          .most = 2,
          .checks = { { "r0 == 1 && r1 == 1", UpstreamError::ValueError, "inputs", "an outer product takes two vectors",
                        "give operands of one dim each" } },
          .rule = "m, n -> m n ; P R -> P ; R P -> P" },
        { .name = "qmatmul", .most = -1, .rule = "R* -> R" },
        // a[M,K] b[N,K]^T, scales of a [K/block, M], of b [N/block, K/block]
        { .name = "block_scaled_matmul",
          .aliases = { "fp8_matmul", "fp8_block_scaled_matmul", "block_scaled_fp8_matmul", "dynamic_scaled_matmul" },
          .fewest = 4,
          .most = 4,
          .checks = { { "r0 == 2 && r1 == 2 && r2 == 2 && r3 == 2", UpstreamError::ValueError, "inputs",
                        "a block-scaled product takes four matrices: a, b and their scales", "" },
                      { "size(0,1) < 0 || size(1,1) < 0 || same(0,1,1,1)", UpstreamError::ValueError, "inputs",
                        "the dims that are contracted differ in size", "a is [M, K] and b is [N, K]" } },
          .rule = "R R R R -> R ; "
                  "R S(0) R S(0) -> S(1) needs even(1,0) even(1,0,3,0) unsound ; "
                  "S(1) S(1) S(0) S(1) -> P needs even(0,1) even(0,1,2,0) unsound ; "
                  "S(0) R S(1) R -> S(0)",
          .reasons = { kBlocks } },
    };
    return table;
}

} // namespace shardboard

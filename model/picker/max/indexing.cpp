// SPDX-License-Identifier: Apache-2.0
// Operations that look up and write by index (max-sharding 2.4). MAX has no row for a gather from a table that is cut by
// the rows that are looked up: every device must have it all.
#include "model/picker/max/registry.h"

namespace shardboard {

namespace {

constexpr const char* kCross = "the output is cut in two ways at once, and is told to be cut in one";
constexpr const char* kSizes = "the dims differ in size, so that their parts do not lie side by side";

const AttributeSpec kIndexedAxis { "axis", AttributeKind::Axis, "0" };

/// MAX 26.7 writes where the operands lie alike, or where nothing is known of one of them.
std::optional<Refusal> storeRows(const RuleQuestion& question, Menu& menu)
{
    if (question.profile != PickerProfile::Max267)
        return std::nullopt;
    menu.rows.clear();
    const bool runs = addPassThrough(question, menu, [](const std::vector<Placement>& placed) -> std::optional<Placement> {
        if (placed[0] == placed[1] || placed[0].unknown() || placed[1].unknown())
            return placed[0];
        return std::nullopt;
    });
    if (runs)
        return std::nullopt;
    return Refusal { UpstreamError::ShardingError, "inputs",
                     "the operands lie differently on a mesh axis, and a store moves neither", "reshard one of them first" };
}

} // namespace

std::span<const OpFamily> indexFamilies()
{
    static const std::vector<OpFamily> table {
        // x, indices
        { .name = "gather",
          .aliases = { "embedding", "take" },
          .fewest = 2,
          .most = 2,
          .attributes = { kIndexedAxis },
          .rule = "R R -> R ; "
                  "S(k) R -> S(k < axis ? k : k+r1-1) for k in 0..r0 if k != axis ; "
                  "R S(j) -> S(axis+j) for j in 0..r1 ; "
                  "S(k) S(j) -> S(axis+j) early for k in 0..r0 for j in 0..r1 if k != axis unsound ; "
                  // an index into another device's rows gives zeros
                  "S(axis) R -> P ours ; "
                  "P R -> P",
          .reasons = { kCross } },
        { .name = "gather_nd",
          .fewest = 2,
          .most = 2,
          .attributes = { { "batch_dims", AttributeKind::Integer, "0" } },
          .checks = { { "batch_dims >= 0 && batch_dims <= min(r0,r1)", UpstreamError::ValueError, "attrs.batch_dims",
                        "is not a number of leading dims of both operands", "" } },
          .rule = "R R -> R ; S(k) S(k) -> S(k) for k in 0..batch_dims ; P R -> P" },
        // x, updates, indices
        { .name = "scatter",
          .aliases = { "scatter_add", "scatter_max", "scatter_min", "scatter_mul" },
          .fewest = 3,
          .most = 3,
          .attributes = { kIndexedAxis },
          .checks = { { "r0 == r1 && r1 == r2", UpstreamError::ValueError, "inputs",
                        "the operands of a scatter differ in how many dims they have", "give operands of as many dims" } },
          .rule = "R R R -> R ; "
                  "S(k) S(k) S(k) -> S(k) max for k in 0..r if k != axis unsound if !same(0,k,1,k) || !same(0,k,2,k) ; "
                  "S(k) S(k) S(k) -> S(k) ours for k in 0..r if k != axis && same(0,k,1,k) && same(0,k,2,k)",
          .reasons = { kSizes } },
        { .name = "buffer_store",
          .aliases = { "buffer_store_slice" },
          .fewest = 2,
          .most = 2,
          .rule = "R R -> R ; "
                  "S(k) S(k) -> S(k) max for k in 0..r0 unsound if !same(0,k,1,k) ; "
                  "S(k) S(k) -> S(k) ours for k in 0..r0 if same(0,k,1,k) ; "
                  "P P -> P",
          .reasons = { kSizes },
          .code = storeRows,
          .note = "MAX only checks the operands of a store: its source is not moved" },
    };
    return table;
}

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Operations that join, cut out and repeat (max-sharding 2.4).
#include "model/picker/max/registry.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr const char* kInterleaved = "every device joins its own parts, so that the parts of the operands are interleaved";
constexpr const char* kOwnSplit = "every device splits its own part, whose pieces are not one piece of the whole";
constexpr const char* kOwnTile = "every device repeats its own part, so that the repetitions are interleaved";
constexpr const char* kRenumbered =
    "dims that are added or dropped change the numbers of those behind them, and the output is cut along the wrong one";

const AttributeSpec kJoinedAxis { "axis", AttributeKind::Axis, "0" };

/// Dims with a full slice. G0 to G2 forget that dims which are dropped or added before them change their numbers.
std::optional<Refusal> sliceRows(const RuleQuestion& question, Menu& menu)
{
    const auto& touched = question.attributes[0].list;
    const auto& removed = question.attributes[1].list;
    const auto& inserted = question.attributes[2].list;
    const auto has = [](const std::vector<std::int64_t>& list, int v) {
        return std::find(list.begin(), list.end(), v) != list.end();
    };
    int out = 0;
    for (int k = 0; k < static_cast<int>(question.operands[0].shape.size()); ++k) {
        while (has(inserted, out))
            ++out;
        if (has(removed, k))
            continue;
        if (!has(touched, k)) {
            const int to = isEarly(question.profile) ? k : out;
            menu.rows.push_back({ .operands = { shardedPlacement(k) },
                                  .result = shardedPlacement(to),
                                  .unsound = to != out ? kRenumbered : nullptr });
        }
        ++out;
    }
    menu.rows.push_back({ .operands = { partialPlacement() }, .result = partialPlacement() });
    return std::nullopt;
}

} // namespace

std::span<const OpFamily> joinFamilies()
{
    static const std::vector<OpFamily> table {
        { .name = "concat",
          .aliases = { "concatenate" },
          .most = -1,
          .attributes = { kJoinedAxis },
          .checks = { { "alike(axis)", UpstreamError::ValueError, "inputs",
                        "the operands differ in another dim than the one they are joined along",
                        "give operands that differ in dim 'axis' alone" } },
          .rule = "R* -> R ; "
                  "S(k)* -> S(k) max for k in 0..r unsound if k == axis && n > 1 ; "
                  "S(k)* -> S(k) ours for k in 0..r if k != axis || n == 1 ; "
                  "P* -> P",
          .reasons = { kInterleaved } },
        { .name = "stack",
          .most = -1,
          .attributes = { { "axis", AttributeKind::Axis, "0", "r+1" } },
          .checks = { { "alike(-1)", UpstreamError::ValueError, "inputs", "the operands that are stacked differ in shape",
                        "give operands of one shape" } },
          .rule = "R* -> R ; S(k)* -> S(k < axis ? k : k+1) for k in 0..r ; P* -> P" },
        { .name = "chunk",
          .attributes = { kJoinedAxis, { "chunks", AttributeKind::Integer, "1" } },
          .checks = { { "chunks >= 1", UpstreamError::ValueError, "attrs.chunks", "there must be at least one chunk",
                        "give 1 or more" } },
          .rule = "R -> R ; S(k) -> S(k) for k in 0..r if k != axis ; P -> P" },
        { .name = "split",
          .attributes = { kJoinedAxis, { "split_sizes", AttributeKind::Sizes, "none" } },
          .checks = { { "none(split_sizes) || size(0,axis) < 0 || sum(split_sizes) < 0 || sum(split_sizes) == size(0,axis)",
                        UpstreamError::ValueError, "attrs.split_sizes", "the sizes do not add up to the dim that is split",
                        "give sizes whose sum is that of dim 'axis'" } },
          .rule = "R -> R ; "
                  "S(k) -> S(k) early for k in 0..r if k != axis || multiples(split_sizes,gmax) unsound if k == axis ; "
                  "S(k) -> S(k) late ours for k in 0..r if k != axis ; "
                  "P -> P",
          .reasons = { kOwnSplit } },
        // `touched`: dims whose index is not a full slice; `removed`: those of them that an index drops; `inserted`: new
        // dims, by their place in the output
        { .name = "slice",
          .aliases = { "slice_tensor" },
          .attributes = { { "touched", AttributeKind::Axes, "none" },
                          { "removed", AttributeKind::Axes, "none" },
                          { "inserted", AttributeKind::Integers, "none" } },
          .rule = "R -> R",
          .code = sliceRows },
        // two paddings a dim; a tensor as `value` is one more operand in G3
        { .name = "pad",
          .most = 2,
          .attributes = { { "paddings", AttributeKind::Sizes },
                          { "mode",
                            AttributeKind::Choice,
                            "constant",
                            "r",
                            { "constant", "reflect", "edge", "replicate", "symmetric", "circular" } },
                          { "value", AttributeKind::Number, "0" } },
          .checks = { { "len(paddings) == r+r", UpstreamError::ValueError, "attrs.paddings",
                        "must be two numbers for each dim of the operand", "" } },
          .rule = "R* -> R ; "
                  "S(k) R* -> S(k) for k in 0..r if at(paddings,k+k) == 0 && at(paddings,k+k+1) == 0 ; "
                  "P R* -> P if mode != 0 || (value == 0 && n == 1)" },
        { .name = "tile",
          .attributes = { { "repeats", AttributeKind::Sizes } },
          .checks = { { "len(repeats) == r", UpstreamError::ValueError, "attrs.repeats",
                        "must be one number for each dim of the operand", "" } },
          .rule = "R -> R ; "
                  "S(k) -> S(k) early for k in 0..r unsound if at(repeats,k) != 1 ; "
                  "S(k) -> S(k) late ours for k in 0..r if at(repeats,k) == 1 ; "
                  "P -> P",
          .reasons = { kOwnTile } },
        { .name = "repeat_interleave",
          .attributes = { { "axis", AttributeKind::Axis, "none" }, { "repeats", AttributeKind::Sizes, "none" } },
          .rule = "R -> R ; S(k) -> S(k) for k in 0..r if !none(axis) && k != axis ; P -> P if !none(axis)" },
    };
    return table;
}

} // namespace shardboard

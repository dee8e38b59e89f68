// SPDX-License-Identifier: Apache-2.0
// Operations that rename and move dims (max-sharding 2.4).
#include "model/picker/max/registry.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Source dims must be 1 or those of the target, aligned at the right; bare names in the target cannot be cut.
std::optional<Refusal> broadcastTargets(const RuleQuestion& question, Menu& menu);

} // namespace

std::span<const OpFamily> shapeFamilies()
{
    static const std::vector<OpFamily> table {
        { .name = "permute",
          .attributes = { { "dims", AttributeKind::Axes } },
          .rule = "R -> R ; S(k) -> S(index(dims,k)) for k in 0..r ; P -> P",
          .code = [](const RuleQuestion& question, Menu&) -> std::optional<Refusal> {
              const auto& dims = question.attributes[0].list;
              std::uint64_t seen = 0;
              for (const std::int64_t dim : dims)
                  seen |= std::uint64_t { 1 } << dim;
              if (dims.size() != question.operands[0].shape.size() || seen != (std::uint64_t { 1 } << dims.size()) - 1)
                  return Refusal { UpstreamError::ValueError, "attrs.dims", "is not an order of the dims of the operand",
                                   "name each of them once" };
              return std::nullopt;
          } },
        { .name = "transpose",
          .attributes = { { "axis_1", AttributeKind::Axis, "-2" }, { "axis_2", AttributeKind::Axis, "-1" } },
          .rule = "R -> R ; S(k) -> S(k == axis_1 ? axis_2 : k == axis_2 ? axis_1 : k) for k in 0..r ; P -> P" },
        { .name = "unsqueeze",
          .attributes = { { "axis", AttributeKind::Axis, nullptr, "r+1" } },
          .rule = "R -> R ; S(k) -> S(k < axis ? k : k+1) for k in 0..r ; P -> P" },
        { .name = "squeeze",
          .attributes = { { "axis", AttributeKind::Axis } },
          .checks = { { "size(0,axis) < 0 || one(0,axis)", UpstreamError::ValueError, "attrs.axis",
                        "the dim that is dropped has another size than 1", "drop a dim of size 1" } },
          .rule = "R -> R ; S(k) -> S(k < axis ? k : k-1) for k in 0..r if k != axis ; P -> P" },
        { .name = "flatten",
          .attributes = { { "start_dim", AttributeKind::Axis, "0" }, { "end_dim", AttributeKind::Axis, "-1" } },
          .checks = { { "start_dim <= end_dim", UpstreamError::ValueError, "attrs.start_dim", "is behind end_dim",
                        "use a start_dim of at most end_dim" } },
          .rule = "R -> R ; "
                  "S(k) -> S(k) for k in 0..start_dim ; "
                  "S(k) -> S(k-(end_dim-start_dim)) for k in end_dim+1..r ; "
                  "P -> P" },
        // G3 never moves the operand: what would need a gather is refused
        { .name = "broadcast_to",
          .attributes = { { "shape", AttributeKind::Dims } },
          .rule = "R -> R early ours ; R -> R late stay",
          .code = broadcastTargets },
        { .name = "rebind", .aliases = { "identity" }, .rule = "= -> =" },
    };
    return table;
}

namespace {

std::optional<Refusal> broadcastTargets(const RuleQuestion& question, Menu& menu)
{
    const Shape& source = question.operands[0].shape;
    const auto& target = question.attributes[0].dims;
    const auto refuse = [](const std::string& reason) {
        return Refusal { UpstreamError::ValueError, "attrs.shape", reason,
                         "a dim of the source must be 1 or that of the target, aligned at the right" };
    };
    if (target.size() < source.size())
        return refuse("has fewer dims than the source");
    const std::size_t offset = target.size() - source.size();
    const auto cut = [&](std::size_t k) {
        return std::ranges::any_of(question.operands[0].placements,
                                   [&](const Placement& p) { return p.shards(static_cast<int>(k)); });
    };
    const auto add = [&](const Placement& from, const Placement& to) {
        menu.rows.push_back({ .operands = { from }, .result = to, .stay = isLate(question.profile) });
    };
    for (std::size_t k = 0; k < source.size(); ++k) {
        const TargetDim& to = target[k + offset];
        const bool same = to.sourceDims.empty() ? to.size == source[k]
                                                : to.size == 1 && to.sourceDims == std::vector<int> { static_cast<int>(k) };
        const bool sameSize =
            same || (to.sourceDims.size() == 1 && to.size == 1 && source[static_cast<std::size_t>(to.sourceDims[0])] == source[k]);
        if (source[k] != 1 && !sameSize && to.size != kWildcard)
            return refuse("dim " + std::to_string(k) + " of the source is neither 1 nor the target's");
        if (question.profile == PickerProfile::Max266 && cut(k) && isSymbol(source[k]) && to.sourceDims.empty())
            return refuse("dim " + std::to_string(k) + " of the source is a name of its own on each device, not the target's");
        if (question.profile == PickerProfile::Max267 && cut(k) && isStatic(source[k]) && to.sourceDims.empty() && isStatic(to.size)
            && to.size != source[k])
            return Refusal { UpstreamError::ShardingError, "attrs.shape",
                             "dim " + std::to_string(k) + " of the source is cut, and the target has another size for it",
                             "reshard the source first" };
        if (source[k] == 1 && (question.profile != PickerProfile::Max267 || !cut(k)))
            continue;
        add(shardedPlacement(static_cast<int>(k)), shardedPlacement(static_cast<int>(k + offset)));
        if (to.sourceDims.empty() && isSymbol(to.size) && question.profile != PickerProfile::Max267)
            menu.bareNames.push_back(static_cast<int>(k + offset));
    }
    add(partialPlacement(), partialPlacement());
    return std::nullopt;
}

} // namespace

} // namespace shardboard

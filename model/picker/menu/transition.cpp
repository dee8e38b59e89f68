// SPDX-License-Identifier: Apache-2.0
#include "model/picker/menu/transition.h"

namespace shardboard {

namespace {

enum class Move { None, Slice, KeepOne, Gather, AllToAll, AllReduce, ReduceScatter, Impossible };

Move moveOf(PriceRules rules, const Placement& from, const Placement& to)
{
    using Kind = Placement::Kind;
    if (from == to)
        return Move::None;
    // minima and maxima are reduced by nothing that MAX has
    const bool reducible = from.reduce == PartialReduce::Sum || from.reduce == PartialReduce::Avg || rules.extrema;
    switch (from.kind) {
    case Kind::Replicated:
        if (to.kind == Kind::Sharded)
            return Move::Slice;
        return to == partialPlacement() && rules.copies ? Move::KeepOne : Move::Impossible;
    case Kind::Sharded:
        if (to.kind == Kind::Replicated)
            return Move::Gather;
        return to.kind == Kind::Sharded ? Move::AllToAll : Move::Impossible;
    case Kind::Partial:
        if (!reducible)
            return Move::Impossible;
        if (to.kind == Kind::Replicated)
            return Move::AllReduce;
        return to.kind == Kind::Sharded ? Move::ReduceScatter : Move::Impossible;
    case Kind::Unknown:
        return Move::Impossible;
    }
    return Move::Impossible;
}

} // namespace

double transitionPrice(PriceRules rules, const Placement& from, const Placement& to, double bytes, std::int64_t n)
{
    constexpr double kSliceShare = 64; // a local copy counts as so much less than a message
    const auto devices = static_cast<double>(n);
    const double share = n > 1 ? (devices - 1) / devices : 0.0;
    switch (moveOf(rules, from, to)) {
    case Move::None:
        return 0;
    case Move::Slice:
        return rules.copies ? bytes / devices / kSliceShare : 0;
    case Move::KeepOne:
        return bytes / devices / kSliceShare;
    case Move::Gather:
    case Move::AllToAll:
    case Move::ReduceScatter:
        return bytes * share;
    case Move::AllReduce:
        return 2 * bytes * share;
    case Move::Impossible:
        break;
    }
    return kInfiniteCost;
}

const char* transitionName(PickerProfile profile, const Placement& from, const Placement& to)
{
    switch (moveOf(priceRulesOf(profile), from, to)) {
    case Move::None:
        return "noop";
    case Move::Slice:
        return "local_slice";
    case Move::KeepOne:
        return "keep_one_copy";
    case Move::Gather:
        return "allgather";
    case Move::AllToAll:
        return "all_to_all";
    case Move::AllReduce:
        return "allreduce";
    case Move::ReduceScatter:
        return "reduce_scatter";
    case Move::Impossible:
        break;
    }
    return "infeasible";
}

std::int64_t partsOver(std::span<const Placement> placements, int dim, const Mesh& mesh)
{
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < placements.size(); ++axis)
        if (placements[axis].shards(dim))
            parts *= mesh.axis(static_cast<int>(axis)).size;
    return parts;
}

double countedBytes(PickerProfile profile, const PickOperand& operand, const Mesh& mesh)
{
    constexpr double kBitsPerByte = 8;
    double bytes = bitsOf(operand.dtype) / kBitsPerByte;
    for (std::size_t dim = 0; dim < operand.shape.size(); ++dim) {
        const std::int64_t size = operand.shape[dim];
        if (!isStatic(size))
            continue;
        const std::int64_t parts = isEarly(profile) ? partsOver(operand.placements, static_cast<int>(dim), mesh) : 1;
        const std::int64_t largest = size / parts + (size % parts != 0 ? 1 : 0);
        bytes *= static_cast<double>(largest) * static_cast<double>(parts);
    }
    return bytes * operand.density;
}

} // namespace shardboard

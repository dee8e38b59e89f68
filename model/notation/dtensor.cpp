// SPDX-License-Identifier: Apache-2.0
// torch DTensor: one placement per mesh axis, applied from the first axis to the last, each cutting what the ones
// before left. Axes on a tensor dim in mesh order are plain shards. For another order the private _StridedShard(d, f)
// cuts the dim into f parts first and then each part: f is the product of the later mesh axes that the order puts
// before this one.
//
// The placements depend on the mesh alone, never on a tensor's sizes. They are this layout exactly where the dim
// divides by the product of its mesh axes; torch cuts other sizes by its own rule (ceil, axis after axis), which for a
// strided shard need not be a cut of this layout at all. Axes of size 1 always get plain shards: they cut nothing.
#include "model/notation/canonical.h"
#include "model/notation/notations.h"
#include "model/notation/placementlist.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <optional>

namespace shardboard {

namespace {

constexpr std::array<const char*, 3> kOperators { "sum", "max", "min" }; // in the order of ReduceOp

constexpr const char* kForm = "write it like R, S(0) or [Replicate(), Shard(0)], partial values P(sum)";

/// The product of the sizes of later mesh axes that stand before `place` in the order of the dim.
std::int64_t splitFactor(const std::vector<AxisRef>& order, std::size_t place, const Mesh& mesh)
{
    std::int64_t factor = 1;
    for (std::size_t i = 0; i < place; ++i)
        if (order[i].axis > order[place].axis)
            factor *= sizeOf(order[i], mesh);
    return factor;
}

/// The placement of one mesh axis, read.
struct TorchPlacement {
    enum class Kind { Replicate, Shard, Partial } kind = Kind::Replicate;
    int dim = 0;
    std::int64_t factor = 1;
    ReduceOp op = ReduceOp::Sum;
};

Result<ReduceOp> readOperator(const PlacementCall& call, const std::string& where)
{
    if (call.arguments.empty())
        return ReduceOp::Sum;
    const auto& argument = call.arguments.front();
    const std::string name = lowered(argument.value);
    for (std::size_t i = 0; i < kOperators.size(); ++i)
        if (call.arguments.size() == 1 && (argument.name.empty() || argument.name == "reduce_op") && name == kOperators[i])
            return static_cast<ReduceOp>(i);
    return placementError(call, "combines values in a way that a layout here does not have", where, "use sum, max or min");
}

Result<std::int64_t> readFactor(const PlacementCall& call, const std::string& where)
{
    const auto& argument = call.arguments[1];
    const auto factor = parseInteger(argument.value);
    const bool named = argument.name.empty() || argument.name == "split_factor" || argument.name == "sf";
    if (!factor || !named || *factor < 1)
        return placementError(call, "has no split factor of at least 1", where, kForm);
    return *factor;
}

Result<TorchPlacement> readPlacement(const PlacementCall& call, std::size_t rank, const std::string& where)
{
    using Kind = TorchPlacement::Kind;
    const std::string& word = call.word;
    const std::size_t count = call.arguments.size();
    TorchPlacement placement;
    if ((word == "R" || word == "Replicate") && count == 0)
        return placement;
    if (word == "P" || word == "Partial" || word == "_Partial") {
        const auto op = readOperator(call, where);
        if (!op.ok())
            return op.error();
        return TorchPlacement { Kind::Partial, 0, 1, op.value() };
    }
    const bool plain = (word == "S" || word == "Shard") && count == 1;
    const bool strided = (word == "_S" || word == "_StridedShard") && count == 2;
    if (!plain && !strided)
        return placementError(call, "is none of DTensor's", where, kForm);
    const auto dim = placementDim(call, rank, true, where);
    if (!dim.ok())
        return dim.error();
    placement = { Kind::Shard, dim.value(), 1, ReduceOp::Sum };
    if (strided) {
        const auto factor = readFactor(call, where);
        if (!factor.ok())
            return factor.error();
        placement.factor = factor.value();
    }
    return placement;
}

/// Where in the order of later axes this axis stands: after those whose sizes multiply to the factor.
std::optional<std::size_t> placeOf(std::int64_t factor, const std::vector<AxisRef>& later, const Mesh& mesh)
{
    std::int64_t product = 1;
    for (std::size_t place = 0;; ++place) {
        if (product == factor)
            return place;
        if (place == later.size())
            return std::nullopt;
        product *= sizeOf(later[place], mesh);
    }
}

Status addPlacement(Layout& layout, const TorchPlacement& placement, int axis, const Mesh& mesh, const std::string& where)
{
    using Kind = TorchPlacement::Kind;
    if (placement.kind == Kind::Partial) {
        if (!layout.partial.empty() && layout.op != placement.op)
            return inputError(where,
                              "partial values over mesh axis '" + mesh.axis(axis).name + "' are combined in another way than over '"
                                  + mesh.axis(layout.partial.front().axis).name + "'",
                              "a layout has one way: sum, max or min");
        layout.op = placement.op;
        layout.partial.insert(layout.partial.begin(), AxisRef { axis });
    } else if (placement.kind == Kind::Shard) {
        auto& order = layout.dims[static_cast<std::size_t>(placement.dim)];
        const auto place = placeOf(placement.factor, order, mesh);
        if (!place && mesh.axis(axis).size > 1)
            return inputError(where,
                              "split factor " + std::to_string(placement.factor) + " on mesh axis '" + mesh.axis(axis).name
                                  + "' stands for no order of the mesh axes on dim " + std::to_string(placement.dim),
                              "it must be the product of later mesh axes on that dim; fused segments are not a partition spec");
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(place.value_or(0)), AxisRef { axis });
    }
    return done();
}

} // namespace

Result<std::string> writeDTensor(const Layout& layout, const Mesh& mesh)
{
    if (const AxisRef* ref = firstSubAxis(layout))
        return subAxisError("DTensor", *ref, mesh);
    std::vector<std::string> placements(static_cast<std::size_t>(mesh.axisCount()), "R");
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        const auto& order = layout.dims[dim];
        for (std::size_t place = 0; place < order.size(); ++place) {
            const std::int64_t factor = sizeOf(order[place], mesh) == 1 ? 1 : splitFactor(order, place, mesh);
            placements[static_cast<std::size_t>(order[place].axis)] =
                factor == 1 ? "S(" + std::to_string(dim) + ")" : "_S(" + std::to_string(dim) + "," + std::to_string(factor) + ")";
        }
    }
    for (const AxisRef& ref : layout.partial)
        placements[static_cast<std::size_t>(ref.axis)] = std::string("P(") + kOperators[static_cast<std::size_t>(layout.op)] + ")";
    return placementListText(placements);
}

Result<Layout> readDTensor(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    const auto calls = readPlacements(text, mesh, where, kForm);
    if (!calls.ok())
        return calls.error();
    Layout layout = Layout::replicated(rank);
    for (int axis = mesh.axisCount(); axis-- > 0;) { // a split factor speaks of later axes
        const auto placement = readPlacement(calls.value()[static_cast<std::size_t>(axis)], rank, where);
        if (!placement.ok())
            return placement.error();
        if (auto status = addPlacement(layout, placement.value(), axis, mesh, where); !status.ok())
            return status.error();
    }
    return layout;
}

} // namespace shardboard

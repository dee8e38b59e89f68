// SPDX-License-Identifier: Apache-2.0
// MAX's placements: one per mesh axis, Replicated, Sharded(dim) or Partial(). Several axes on a dim split it in mesh
// order, always; a layout with another order has no form. Partial values are sums.
#include "model/notation/canonical.h"
#include "model/notation/notations.h"
#include "model/notation/placementlist.h"
#include "model/text/text.h"

namespace shardboard {

namespace {

constexpr const char* kMaxForm = "write it like Replicated, Sharded(0), partial values Partial(), or in codes R, S0, P";

bool isReplicated(const PlacementCall& call) { return (call.word == "Replicated" || call.word == "R") && call.arguments.empty(); }

bool isPartial(const PlacementCall& call)
{
    if (call.word != "Partial" && call.word != "P")
        return false;
    return call.arguments.empty() || (call.arguments.size() == 1 && lowered(call.arguments.front().value) == "sum");
}

/// The code S0 as the call Sharded(0).
PlacementCall spelledOut(const PlacementCall& call)
{
    if (call.word.size() < 2 || call.word.front() != 'S' || !call.arguments.empty() || !parseInteger(call.word.substr(1)))
        return call;
    return { "Sharded", { { {}, call.word.substr(1) } } };
}

} // namespace

Result<std::string> writeMax(const Layout& layout, const Mesh& mesh)
{
    if (const AxisRef* ref = firstSubAxis(layout))
        return subAxisError("MAX", *ref, mesh);
    if (withoutSizeOneAxes(layout, mesh).op != ReduceOp::Sum)
        return inputError("MAX",
                          std::string("its partial values are sums, and this one is a partial ")
                              + (layout.op == ReduceOp::Max ? "maximum" : "minimum"),
                          "reduce it first, or use shardy or dtensor");
    std::vector<std::string> placements(static_cast<std::size_t>(mesh.axisCount()), "Replicated");
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        int last = -1;
        for (const AxisRef& ref : layout.dims[dim]) {
            placements[static_cast<std::size_t>(ref.axis)] = "Sharded(" + std::to_string(dim) + ")";
            if (sizeOf(ref, mesh) == 1)
                continue; // its place in the order means nothing
            if (ref.axis < last)
                return inputError("MAX",
                                  "it splits dim " + std::to_string(dim) + " over mesh axis '" + mesh.axis(ref.axis).name
                                      + "' before '" + mesh.axis(last).name + "', in mesh order",
                                  "put the mesh axes of that dim in mesh order");
            last = ref.axis;
        }
    }
    for (const AxisRef& ref : layout.partial)
        placements[static_cast<std::size_t>(ref.axis)] = "Partial()";
    return placementListText(placements);
}

Result<Layout> readMax(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    const auto calls = readPlacements(text, mesh, where, kMaxForm);
    if (!calls.ok())
        return calls.error();
    Layout layout = Layout::replicated(rank);
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const PlacementCall call = spelledOut(calls.value()[static_cast<std::size_t>(axis)]);
        if (isPartial(call)) {
            layout.partial.push_back(AxisRef { axis });
        } else if (call.word == "Sharded" && call.arguments.size() == 1) {
            const auto dim = placementDim(call, rank, false, where);
            if (!dim.ok())
                return dim.error();
            layout.dims[static_cast<std::size_t>(dim.value())].push_back(AxisRef { axis });
        } else if (!isReplicated(call)) {
            return placementError(call, "is none of MAX's", where, kMaxForm);
        }
    }
    return layout;
}

} // namespace shardboard

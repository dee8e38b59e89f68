// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/rowchoice.h"

#include <algorithm>

namespace shardboard::conformance {

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

void place(Layout& layout, const Placement& placement, int axis)
{
    if (placement.sharded())
        layout.dims[at(placement.dim)].push_back(AxisRef { axis });
    if (placement.partial()) {
        layout.partial.push_back(AxisRef { axis });
        layout.op = placement.reduce == PartialReduce::Max ? ReduceOp::Max : ReduceOp::Sum;
    }
}

/// Query heads that are cut over one axis with their KV heads and over another without them need an order.
int cutsHeads(const Row& row, const std::vector<Shape>& operands)
{
    const auto heads = [&](bool cut) {
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (operands[i].size() == 4 && row.operands[i].shards(2) == cut)
                return true;
        return false;
    };
    if (operands.size() == 2) // a state, whose heads are another dim
        return row.result.shards(2) ? (row.operands.front().shards(2) ? 2 : 1) : 0;
    return operands.size() > 2 && heads(true) ? (heads(false) ? 1 : 2) : 0;
}

bool conditionsHold(const Row& row, const RowChoice& choice, const std::vector<Shape>& operands, const Shape& result,
                    const Mesh& mesh)
{
    for (const WholeUnits& unit : row.conditions)
        if (unit.units % partsOf(choice.operands[at(unit.operand)].dims[at(unit.dim)], mesh) != 0)
            return false;
    for (const FusedDim& fused : row.fused) {
        const Layout& layout = fused.operand < 0 ? choice.result : choice.operands[at(fused.operand)];
        const Shape& shape = fused.operand < 0 ? result : operands[at(fused.operand)];
        if (shape[at(fused.dim)] / fused.unitElements % partsOf(layout.dims[at(fused.dim)], mesh) != 0)
            return false;
    }
    return true;
}

} // namespace

RowChoice chooseRows(const std::vector<Row>& rows, const std::vector<std::size_t>& byAxis, const std::vector<Shape>& operands,
                     const Shape& result, const Mesh& mesh)
{
    RowChoice out;
    for (const Shape& shape : operands)
        out.operands.push_back(Layout::replicated(shape.size()));
    out.result = Layout::replicated(result.size());
    int cutHeads = 0;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const Row& row = rows[byAxis[at(axis)]];
        for (std::size_t i = 0; i < operands.size(); ++i)
            place(out.operands[i], row.operands[i], axis);
        place(out.result, row.result, axis);
        cutHeads += cutsHeads(row, operands);
        for (const int operand : row.ring) {
            auto known = std::find_if(out.rings.begin(), out.rings.end(),
                                      [&](const RowChoice::Ring& r) { return r.operand == at(operand); });
            if (known == out.rings.end())
                known = out.rings.insert(out.rings.end(), RowChoice::Ring { at(operand), {} });
            known->axes.push_back(axis);
        }
    }
    out.fits = cutHeads < 3;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        out.fits = out.fits && conditionsHold(rows[byAxis[at(axis)]], out, operands, result, mesh);
    return out;
}

std::string textOf(const RowChoice& choice, const Mesh& mesh)
{
    std::string text = mesh.text() + ":";
    for (const Layout& layout : choice.operands)
        text += " " + specText(layout, mesh);
    return text + " -> " + specText(choice.result, mesh);
}

} // namespace shardboard::conformance

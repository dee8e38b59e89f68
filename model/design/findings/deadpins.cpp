// SPDX-License-Identifier: Apache-2.0
// Pins that do nothing: they name a mesh axis, a label, an activation, an operation or a row that is not there. Presets pin
// more than every workload has, so of theirs only mesh axes count.
#include "model/design/findings/finders.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"
#include "model/plan/planner/pinning.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <optional>

namespace shardboard {

namespace {

/// The operations that a pin names.
std::vector<OpId> namedBy(const Pin& pin, const Graph& graph)
{
    std::vector<OpId> out;
    for (const Segment& segment : graph.segments)
        for (const OpId op : segment.ops)
            if (pinNames(pin, graph, op, segment.name))
                out.push_back(op);
    return out;
}

std::vector<std::string> rowsOf(const FinderInput& input, OpId id)
{
    const Graph& graph = input.evaluation.graph;
    const Op& op = graph.op(id);
    std::vector<Shape> shapes;
    for (const TensorId operand : op.operands)
        shapes.push_back(graph.tensor(operand).shape);
    std::vector<std::string> rows;
    for (const Row& row : ruleOf(op.kind).rows(shapes, graph.tensor(op.result).shape, input.design.picker.profile))
        rows.push_back(rowText(row));
    return rows;
}

struct Dead {
    std::string message;
    std::string repair;
    std::optional<Pin> mended; ///< else it is to be removed
};

std::optional<Dead> unknownAxes(const FinderInput& input, const Pin& pin)
{
    std::vector<std::string> unknown;
    const auto isUnknown = [&](const std::string& name) {
        if (input.mesh().find(name) >= 0)
            return false;
        if (!contains(unknown, name))
            unknown.push_back(name);
        return true;
    };
    if (!pin.row.empty() && isUnknown(pin.axis))
        return Dead { "the mesh has no axis '" + pin.axis + "'", "correct the name or remove the pin", std::nullopt };
    Pin mended = pin;
    for (Pin::Dim& dim : mended.dims)
        std::erase_if(dim.axes, isUnknown);
    std::erase_if(mended.whole, isUnknown);
    if (unknown.empty())
        return std::nullopt;
    std::erase_if(mended.dims, [](const Pin::Dim& dim) { return dim.axes.empty(); });
    Dead dead { "the mesh has no axis '" + joined(unknown, "' and no axis '") + "'", "correct the name or remove it from the pin",
                std::nullopt };
    if (!mended.dims.empty() || !mended.whole.empty())
        dead.mended = std::move(mended);
    return dead;
}

std::optional<Dead> matchesNothing(const FinderInput& input, const Pin& pin)
{
    const Graph& graph = input.evaluation.graph;
    const std::vector<OpId> ops = namedBy(pin, graph);
    if (ops.empty())
        return Dead { std::string("the pattern matches no ") + (pin.row.empty() ? "activation" : "operation"),
                      "correct the pattern or remove the pin", std::nullopt };
    if (!pin.row.empty()) {
        for (const OpId op : ops) {
            const auto rows = rowsOf(input, op);
            if (contains(rows, pin.row))
                return std::nullopt;
        }
        return Dead { graph.op(ops.front()).name + " has no row " + pin.row, "its rows are " + joined(rowsOf(input, ops.front())),
                      std::nullopt };
    }
    if (!pin.whole.empty())
        return std::nullopt;
    std::vector<std::string> labels;
    for (const Pin::Dim& dim : pin.dims) {
        labels.push_back(dim.label);
        for (const OpId op : ops) {
            const auto& known = graph.tensor(graph.op(op).result).dimLabels;
            if (contains(known, dim.label))
                return std::nullopt;
        }
    }
    return Dead { "no activation that it names has a dim '" + joined(labels, "' or '") + "'",
                  "dims of " + graph.tensor(graph.op(ops.front()).result).name + " are "
                      + joined(graph.tensor(graph.op(ops.front()).result).dimLabels),
                  std::nullopt };
}

std::optional<Dead> deadOf(const FinderInput& input, const Pin& pin)
{
    auto dead = unknownAxes(input, pin);
    if (!dead && pin.source.empty())
        dead = matchesNothing(input, pin);
    return dead;
}

} // namespace

bool isDeadPin(const FinderInput& input, const Pin& pin)
{
    const auto dead = deadOf(input, pin);
    return dead && !dead->mended;
}

void findDeadPins(const FinderInput& input, FindingList& out)
{
    if (!input.design.model.hasGraph() || input.design.picker.profile != PickerProfile::Shardboard)
        return; // findUnknownPins tells of all at once
    const auto& pins = input.design.pins;
    for (std::size_t i = 0; i < pins.size(); ++i) {
        const Pin& pin = pins[i];
        const auto dead = deadOf(input, pin);
        if (!dead)
            continue;
        const auto index = static_cast<int>(i);
        Repair fix { "Remove the pin " + pinText(pin), { RemovePin { index } } };
        if (dead->mended)
            fix = { "Make the pin " + pinText(*dead->mended), { ReplacePin { index, *dead->mended } } };
        out.add({ "dead-pin", pin.source.empty() ? Severity::Warning : Severity::Note, pinText(pin), 0,
                  "pin " + std::to_string(i + 1) + (pin.source.empty() ? std::string() : " of " + pin.source)
                      + " does nothing: " + dead->message,
                  dead->repair },
                std::move(fix));
    }
}

} // namespace shardboard

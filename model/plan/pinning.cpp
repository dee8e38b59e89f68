// SPDX-License-Identifier: Apache-2.0
#include "model/plan/pinning.h"

#include "model/core/text.h"
#include "model/design/design.h"

#include <algorithm>
#include <optional>

namespace shardboard {

namespace {

std::string by(const Pin& pin) { return pin.source.empty() ? "a pin" : pin.source; }

bool matches(const Pin& pin, const Graph& graph, TensorId id)
{
    if (pin.match == "*" || globMatch(pin.match, graph.tensor(id).name))
        return true;
    const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    return (tensor.gradientOf != kNoTensor && globMatch(pin.match, graph.tensor(tensor.gradientOf).name))
        || (tensor.again != kNoTensor && globMatch(pin.match, graph.tensor(tensor.again).name));
}

void set(std::vector<AxisPin>& pins, AxisPin pin)
{
    const auto same = std::find_if(pins.begin(), pins.end(), [&](const AxisPin& p) { return p.axis == pin.axis; });
    if (same == pins.end())
        pins.push_back(std::move(pin));
    else
        *same = std::move(pin);
}

} // namespace

Pinning::Pinning(const Graph& graph, const Mesh& mesh, const std::vector<Pin>& pins)
    : m_pins(graph.ops.size())
{
    for (const Pin& pin : pins) {
        if (!pin.row.empty()) {
            const int axis = mesh.find(pin.axis);
            for (std::size_t op = 0; axis >= 0 && op < graph.ops.size(); ++op)
                if (globMatch(pin.match, graph.ops[op].name))
                    set(m_pins[op], { axis, std::nullopt, pin.row, by(pin) + " takes the row " + pin.row });
            continue;
        }
        struct Where {
            int axis;
            const std::string* label; ///< null: whole
        };
        std::vector<Where> places;
        for (const Pin::Dim& dim : pin.dims)
            for (const std::string& name : dim.axes)
                if (const int axis = mesh.find(name); axis >= 0)
                    places.push_back({ axis, &dim.label });
        for (const std::string& name : pin.whole)
            if (const int axis = mesh.find(name); axis >= 0)
                places.push_back({ axis, nullptr });
        if (places.empty())
            continue;
        for (std::size_t op = 0; op < graph.ops.size(); ++op) {
            const TensorId result = graph.ops[op].result;
            if (!matches(pin, graph, result))
                continue;
            const TensorSpec& spec = graph.tensor(result);
            for (const Where& place : places) {
                if (place.label == nullptr) {
                    set(m_pins[op], { place.axis, Placement {}, {}, by(pin) + " keeps " + spec.name + " whole" });
                    continue;
                }
                const auto label = std::find(spec.dimLabels.begin(), spec.dimLabels.end(), *place.label);
                if (label == spec.dimLabels.end())
                    continue;
                const auto dim = static_cast<int>(label - spec.dimLabels.begin());
                set(m_pins[op], { place.axis, shardedPlacement(dim), {},
                                  by(pin) + " keeps dim " + std::to_string(dim) + " (" + *label + ") of " + spec.name + " on it" });
            }
        }
    }
}

const std::vector<AxisPin>& Pinning::of(OpId op) const
{
    static const std::vector<AxisPin> none;
    const auto index = static_cast<std::size_t>(op);
    return index < m_pins.size() ? m_pins[index] : none;
}

} // namespace shardboard

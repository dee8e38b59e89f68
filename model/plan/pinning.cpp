// SPDX-License-Identifier: Apache-2.0
#include "model/plan/pinning.h"

#include "model/core/text.h"
#include "model/design/design.h"

#include <algorithm>
#include <optional>

namespace shardboard {

namespace {

std::string by(const Pin& pin) { return pin.source.empty() ? "a pin" : pin.source; }

/// A pattern with a `/` is one of names with the segment before them.
bool named(const Pin& pin, const std::string& name, const std::string& segment)
{
    return pin.match == "*" || globMatch(pin.match, name)
        || (pin.match.find('/') != std::string::npos && globMatch(pin.match, segment + "/" + name));
}


/// The segment of every operation.
std::vector<const std::string*> segmentNames(const Graph& graph)
{
    static const std::string none;
    std::vector<const std::string*> names(graph.ops.size(), &none);
    for (const Segment& segment : graph.segments)
        for (const OpId op : segment.ops)
            names[static_cast<std::size_t>(op)] = &segment.name;
    return names;
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

bool pinNames(const Pin& pin, const Graph& graph, OpId op, const std::string& segment)
{
    if (!pin.row.empty())
        return named(pin, graph.op(op).name, segment);
    const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(graph.op(op).result)];
    return named(pin, tensor.spec.name, segment)
        || (tensor.gradientOf != kNoTensor && named(pin, graph.tensor(tensor.gradientOf).name, segment))
        || (tensor.again != kNoTensor && named(pin, graph.tensor(tensor.again).name, segment));
}

Pinning::Pinning(const Graph& graph, const Mesh& mesh, const std::vector<Pin>& pins, PickerProfile profile)
    : m_known(profile == PickerProfile::Shardboard)
    , m_pins(graph.ops.size())
{
    if (pins.empty() || !m_known)
        return;
    m_gradient.assign(graph.tensors.size(), -1);
    for (std::size_t op = 0; op < graph.ops.size(); ++op)
        if (const TensorId of = graph.tensors[static_cast<std::size_t>(graph.ops[op].result)].gradientOf; of != kNoTensor)
            m_gradient[static_cast<std::size_t>(of)] = static_cast<OpId>(op);
    const std::vector<const std::string*> segments = segmentNames(graph);
    int index = -1;
    for (const Pin& pin : pins) {
        ++index;
        if (!pin.row.empty()) {
            const int axis = mesh.find(pin.axis);
            for (std::size_t op = 0; axis >= 0 && op < graph.ops.size(); ++op)
                if (pinNames(pin, graph, static_cast<OpId>(op), *segments[op]))
                    set(m_pins[op], { axis, std::nullopt, pin.row, by(pin) + " takes the row " + pin.row, false, index });
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
            if (!pinNames(pin, graph, static_cast<OpId>(op), *segments[op]))
                continue;
            const TensorSpec& spec = graph.tensor(graph.ops[op].result);
            for (const Where& place : places) {
                if (place.label == nullptr) {
                    set(m_pins[op], { place.axis, Placement {}, {}, by(pin) + " keeps " + spec.name + " whole", false, index });
                    continue;
                }
                const auto label = std::find(spec.dimLabels.begin(), spec.dimLabels.end(), *place.label);
                if (label == spec.dimLabels.end())
                    continue;
                const auto dim = static_cast<int>(label - spec.dimLabels.begin());
                set(m_pins[op], { place.axis, shardedPlacement(dim), {},
                                  by(pin) + " keeps dim " + std::to_string(dim) + " (" + *label + ") of " + spec.name + " on it", false, index });
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

const std::vector<AxisPin>& Pinning::ofGradient(TensorId tensor) const
{
    const auto index = static_cast<std::size_t>(tensor);
    return of(index < m_gradient.size() && m_gradient[index] >= 0 ? m_gradient[index] : static_cast<OpId>(m_pins.size()));
}

std::vector<AxisPin> operationPins(const Graph& graph, const Pinning& pinning, OpId op, const std::vector<Layout>& layouts,
                                   const std::function<const Layout&(std::size_t)>& arriving)
{
    std::vector<AxisPin> pins = pinning.of(op);
    const TensorId weight = graph.tensors[static_cast<std::size_t>(graph.op(op).result)].addendOf; // or an activation
    if (weight == kNoTensor || !pinning.known())
        return pins;
    if (graph.tensor(weight).role != TensorRole::Weight) {
        if (graph.op(op).kind != OpKind::Add)
            return pins;
        const auto partial = [&](std::size_t addend, int axis) {
            return placementOn(arriving(addend), axis).kind == Placement::Kind::Partial;
        };
        for (const AxisPin& pin : pinning.ofGradient(weight))
            if (pin.result && partial(0, pin.axis) != partial(1, pin.axis)
                && std::none_of(pins.begin(), pins.end(), [&](const AxisPin& p) { return p.axis == pin.axis; }))
                pins.push_back(pin);
        return pins;
    }
    const Layout& wanted = layouts[static_cast<std::size_t>(weight)];
    for (std::size_t dim = 0; dim < wanted.dims.size(); ++dim)
        for (const AxisRef& ref : wanted.dims[dim])
            if (std::none_of(pins.begin(), pins.end(), [&](const AxisPin& pin) { return pin.axis == ref.axis; }))
                pins.push_back({ ref.axis, shardedPlacement(static_cast<int>(dim)), {}, {}, true });
    return pins;
}

} // namespace shardboard

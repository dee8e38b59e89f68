// SPDX-License-Identifier: Apache-2.0
#include "model/plan/planner/pinning.h"

#include "model/text/glob.h"
#include "model/text/text.h"

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
    const auto same = std::ranges::find_if(pins, [&](const AxisPin& p) { return p.axis == pin.axis; });
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
    const GraphTensor& tensor = graph.entry(graph.op(op).result);
    return named(pin, tensor.spec.name, segment)
        || (tensor.gradientOf != kNoTensor && named(pin, graph.tensor(tensor.gradientOf).name, segment))
        || (tensor.again != kNoTensor && named(pin, graph.tensor(tensor.again).name, segment));
}

Pinning::Pinning(const Graph& graph, const Mesh& mesh, const std::vector<Pin>& pins, PickerProfile profile)
    : m_graph(graph)
    , m_known(profile == PickerProfile::Shardboard)
{
    if (!m_known)
        return;
    int index = -1;
    for (const Pin& pin : pins) {
        Pinned pinned { &pin, ++index, {} };
        const auto place = [&](const std::string& name, const std::string* label) {
            if (const int axis = mesh.find(name); axis >= 0)
                pinned.places.push_back({ axis, label });
        };
        if (!pin.row.empty())
            place(pin.axis, nullptr);
        for (const Pin::Dim& dim : pin.dims)
            for (const std::string& name : dim.axes)
                if (pin.row.empty())
                    place(name, &dim.label);
        for (const std::string& name : pin.whole)
            if (pin.row.empty())
                place(name, nullptr);
        if (!pinned.places.empty())
            m_pins.push_back(std::move(pinned));
    }
    if (m_pins.empty())
        return;
    m_segments = segmentNames(graph);
    m_gradient.assign(graph.tensors.size(), OpId());
    for (std::size_t op = 0; op < graph.ops.size(); ++op)
        if (const TensorId of = graph.entry(graph.ops[op].result).gradientOf; of != kNoTensor)
            m_gradient[of] = OpId(op);
}

void Pinning::add(std::vector<AxisPin>& out, const Pinned& pinned, const TensorSpec& result) const
{
    const Pin& pin = *pinned.pin;
    for (const Place& place : pinned.places) {
        if (!pin.row.empty()) {
            set(out, { place.axis, std::nullopt, pin.row, by(pin) + " takes the row " + pin.row, false, pinned.index });
            continue;
        }
        if (place.label == nullptr) {
            set(out, { place.axis, Placement {}, {}, by(pin) + " keeps " + result.name + " whole", false, pinned.index });
            continue;
        }
        const auto label = std::ranges::find(result.dimLabels, *place.label);
        if (label == result.dimLabels.end())
            continue;
        const auto dim = static_cast<int>(label - result.dimLabels.begin());
        set(out,
            { place.axis,
              shardedPlacement(dim),
              {},
              by(pin) + " keeps dim " + std::to_string(dim) + " (" + *label + ") of " + result.name + " on it",
              false,
              pinned.index });
    }
}

std::vector<AxisPin> Pinning::of(OpId op) const
{
    std::vector<AxisPin> out;
    for (const Pinned& pinned : m_pins)
        if (pinNames(*pinned.pin, m_graph, op, *m_segments[static_cast<std::size_t>(op)]))
            add(out, pinned, m_graph.tensor(m_graph.op(op).result));
    return out;
}

std::vector<AxisPin> Pinning::ofGradient(TensorId tensor) const
{
    return tensor < m_gradient.size() && m_gradient[tensor].valid() ? of(m_gradient[tensor]) : std::vector<AxisPin>();
}

std::vector<AxisPin> operationPins(const Graph& graph, const Pinning& pinning, OpId op, const std::vector<Layout>& layouts,
                                   const std::function<const Layout&(std::size_t)>& arriving)
{
    std::vector<AxisPin> pins = pinning.of(op);
    const TensorId weight = graph.entry(graph.op(op).result).addendOf; // or an activation
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
                && std::ranges::none_of(pins, [&](const AxisPin& p) { return p.axis == pin.axis; }))
                pins.push_back(pin);
        return pins;
    }
    const Layout& wanted = layouts[static_cast<std::size_t>(weight)];
    for (std::size_t dim = 0; dim < wanted.dims.size(); ++dim)
        for (const AxisRef& ref : wanted.dims[dim])
            if (std::ranges::none_of(pins, [&](const AxisPin& pin) { return pin.axis == ref.axis; }))
                pins.push_back({ ref.axis, shardedPlacement(static_cast<int>(dim)), {}, {}, true });
    return pins;
}

} // namespace shardboard

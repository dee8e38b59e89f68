// SPDX-License-Identifier: Apache-2.0
#include "model/plan/planner/reasons.h"

#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <string_view>

namespace shardboard {

namespace {

std::string axisNames(const Mesh& mesh, const std::vector<int>& axes)
{
    std::vector<std::string> names;
    for (const int axis : axes)
        names.push_back(mesh.axis(axis).name);
    return joined(names, " and ");
}

/// `o_proj` of `self_attn.o_proj`, `down_proj` of `model.layers.*.mlp.down_proj.weight`, `grad of norm` of its gradient.
std::string shortName(std::string name)
{
    // A gradient is named by what it is of and by what made it.
    constexpr std::string_view kGradient = "grad of ";
    if (const auto from = name.find(" from "); name.starts_with(kGradient) && from != std::string::npos)
        return std::string(kGradient) + shortName(name.substr(kGradient.size(), from - kGradient.size()));
    if (name.ends_with(".weight"))
        name.erase(name.size() - 7);
    const auto dot = name.rfind('.');
    return dot == std::string::npos ? name : name.substr(dot + 1);
}

/// The tensor dim that a layout cuts over an axis, or -1.
int dimOver(const Layout& layout, int axis)
{
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
        for (const AxisRef& ref : layout.dims[dim])
            if (ref.axis == axis)
                return static_cast<int>(dim);
    return -1;
}

std::string dimText(const TensorSpec& spec, int dim)
{
    const auto index = static_cast<std::size_t>(dim);
    const std::string label = index < spec.dimLabels.size() ? ", " + spec.dimLabels[index] : std::string();
    return "dim " + std::to_string(dim) + label;
}

/// `self_attn.o_proj is cut over model on dim 1, in (…): every device holds partial sums`
std::string partialBecause(const Graph& graph, const Mesh& mesh, const Collective& collective, const Producer& producer)
{
    const std::string over = " over " + axisNames(mesh, collective.axes);
    if (!producer.op.valid())
        return graph.tensor(collective.tensor).name + " is partial" + over;
    const Op& op = graph.op(producer.op);
    for (const OperandUse& use : producer.operands) {
        if (graph.tensor(use.tensor).role != TensorRole::Weight)
            continue;
        const int dim = dimOver(use.layout, collective.axes.front());
        if (dim >= 0)
            return op.name + (use.before == use.layout ? " is cut" : " works on slices") + over + " on "
                + dimText(graph.tensor(use.tensor), dim) + ": every device holds partial sums";
    }
    return "the result of " + op.name + " is partial" + over;
}

/// `28 heads do not divide by 8: whole heads must lie on each device`, or nothing.
std::string wholeHeads(const Op& op, std::int64_t groupSize)
{
    const bool reshape = op.kind == OpKind::SplitHeads || op.kind == OpKind::MergeHeads;
    if (!reshape || op.attributes.heads % groupSize == 0)
        return {};
    return std::to_string(op.attributes.heads) + " heads do not divide by " + std::to_string(groupSize)
        + ": whole heads must lie on each device";
}

std::string gatherBecause(const Graph& graph, const Mesh& mesh, const Collective& collective, const std::string& pinned)
{
    const Op& op = graph.op(collective.op);
    const TensorSpec& spec = graph.tensor(collective.tensor);
    const std::string over = axisNames(mesh, collective.axes);
    const int dim = dimOver(collective.step.before, collective.axes.front());
    const std::string start = spec.name + " is cut over " + over + " on " + dimText(spec, dim) + ", but ";
    if (const std::string heads = wholeHeads(op, collective.groupSize); !heads.empty())
        return start + heads;
    if (!pinned.empty())
        return start + op.name + " needs it whole: " + pinned;
    if (op.kind == OpKind::Embedding)
        return start + "this picker has no row for a table cut by vocabulary";
    if (op.kind == OpKind::GatherLast)
        return start + "the module hands all of it to every device";
    return start + op.name + " runs cheapest with it whole there";
}

} // namespace

std::string collectiveCause(const Graph& graph, const Mesh& mesh, const Collective& collective, const Producer& producer)
{
    const int axis = collective.axes.front();
    const std::string over = axisNames(mesh, collective.axes);
    const std::string name = shortName(graph.tensor(collective.tensor).name);
    const std::string op = shortName(graph.op(collective.op).name);
    const auto cut = [&](const Layout& layout) { return " [dim " + std::to_string(dimOver(layout, axis)) + " = " + over + "]"; };
    switch (collective.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
        for (const OperandUse& use : producer.operands)
            if (graph.tensor(use.tensor).role == TensorRole::Weight && dimOver(use.layout, axis) >= 0)
                return shortName(graph.op(producer.op).name) + cut(use.layout) + ", partial sums";
        return name + " is partial over " + over;
    case CollectiveKind::AllGather:
        return name + cut(collective.step.before) + ", wanted whole by " + op;
    case CollectiveKind::AllToAll:
        return name + cut(collective.step.before) + ", wanted" + cut(collective.step.after) + " by " + op;
    case CollectiveKind::LocalSlice:
        return op + " takes " + name + cut(collective.step.after);
    case CollectiveKind::SendRecv:
        return name + ": " + over + " change places, wanted by " + op;
    case CollectiveKind::Broadcast:
        break;
    }
    return "wanted by " + op;
}

std::string collectiveReason(const Graph& graph, const Mesh& mesh, const Collective& collective, const Producer& producer,
                             const Route& route, const std::string& pinned)
{
    const Op& op = graph.op(collective.op);
    const TensorSpec& spec = graph.tensor(collective.tensor);
    const int axis = collective.axes.front();
    const std::string over = axisNames(mesh, collective.axes);
    const int before = dimOver(collective.step.before, axis);
    const int after = dimOver(collective.step.after, axis);
    // A shorter or faster way over a layout that nobody wants as such.
    const bool passing = after != dimOver(route.after, axis);
    switch (collective.kind) {
    case CollectiveKind::AllReduce:
        return partialBecause(graph, mesh, collective, producer) + ", and " + op.name + " needs whole values";
    case CollectiveKind::ReduceScatter:
        return partialBecause(graph, mesh, collective, producer)
            + (passing ? ", which are summed in shards first, so that the steps that follow move less"
                       : ", and " + op.name + " takes a shard of the sum");
    case CollectiveKind::AllGather:
        if (contains(route.before.partial, AxisRef { axis }))
            return "the shards of the sum over " + over + " are joined again: " + op.name + " needs whole values";
        return gatherBecause(graph, mesh, collective, pinned);
    case CollectiveKind::AllToAll:
        if (before == after) {
            const std::string heads = wholeHeads(op, collective.groupSize);
            return spec.name + " is cut over " + over + " on " + dimText(spec, before) + ", but "
                + (heads.empty() ? op.name + " needs its parts to begin elsewhere" : heads);
        }
        if (passing)
            return "the cut over " + over + " goes to " + dimText(spec, after) + " for a while: that moves less than a gather of "
                + dimText(spec, before);
        return op.name + " needs " + spec.name + " cut on " + dimText(spec, after) + " instead of " + dimText(spec, before);
    case CollectiveKind::LocalSlice:
        return op.name + " works on shards: every device takes its part of " + dimText(spec, after) + " from the whole it holds";
    case CollectiveKind::SendRecv:
        return "the parts of " + spec.name + " are the right ones, but " + over
            + " must change places: every device takes over the shard of one other";
    case CollectiveKind::Broadcast:
        break;
    }
    return op.name + " needs " + spec.name + " elsewhere";
}

std::string refusalText(const Graph& graph, const Mesh& mesh, OpId op, const JudgedRow& row)
{
    const Refusal& it = *row.refusal;
    const TensorSpec& spec = graph.tensor(graph.op(op).operands[static_cast<std::size_t>(it.operand)]);
    if (it.kind == Refusal::Kind::Policy || it.kind == Refusal::Kind::Profile)
        return it.reason;
    const std::string beside = it.kind == Refusal::Kind::Together ? ", with what the other mesh axes take" : "";
    if (it.kind == Refusal::Kind::NotPartial)
        return spec.name + " is not partial over " + mesh.axis(row.axis).name;
    if (!it.units.empty())
        return it.units + (it.have == 1 ? " does" : " do") + " not divide by " + countText(it.parts) + beside;
    const auto dim = static_cast<std::size_t>(it.dim);
    const std::string label = dim < spec.dimLabels.size() ? " (" + spec.dimLabels[dim] + ")" : std::string();
    return "dim " + std::to_string(it.dim) + label + " of " + spec.name + " has " + countText(it.have)
        + (it.have == 1 ? " element" : " elements") + " for " + countText(it.parts) + " devices" + beside;
}

} // namespace shardboard

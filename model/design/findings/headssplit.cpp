// SPDX-License-Identifier: Apache-2.0
// Heads that are cut in two: an attention projection whose cut does not fall between heads, and activations that the
// plan has to gather for that reason.
#include "model/core/numbers.h"
#include "model/design/findings/cutalignment.h"
#include "model/design/findings/finder.h"

#include <map>

namespace shardboard {

namespace {

/// The weight of the projection that made a tensor, behind its bias.
TensorId projectionOf(const Graph& graph, const std::vector<OpId>& producers, TensorId tensor)
{
    for (int steps = 0; steps < 2; ++steps) {
        const OpId id = producers[static_cast<std::size_t>(tensor)];
        if (id < 0)
            return kNoTensor;
        const Op& op = graph.op(id);
        if (op.kind == OpKind::Linear)
            return op.operands[1];
        if (op.kind != OpKind::Add)
            return kNoTensor;
        tensor = op.operands[0];
    }
    return kNoTensor;
}

std::vector<OpId> producersOf(const Graph& graph)
{
    std::vector<OpId> producers(graph.tensors.size(), -1);
    for (std::size_t i = 0; i < graph.ops.size(); ++i)
        producers[static_cast<std::size_t>(graph.ops[i].result)] = static_cast<OpId>(i);
    return producers;
}

bool isHeadsGather(const Graph& graph, const Collective& collective)
{
    const OpKind kind = graph.op(collective.op).kind;
    return collective.kind == CollectiveKind::AllGather && (kind == OpKind::SplitHeads || kind == OpKind::MergeHeads);
}

/// The weight with axes that divide its heads, or with cuts between heads; else whole.
Repair wholeHeads(const FinderInput& input, const WeightLayout& weight, std::size_t dim)
{
    Layout layout = weight.layout;
    layout.dims[dim] = dividingAxes(weight, dim, layout.dims[dim], input.mesh());
    if (!layout.dims[dim].empty())
        if (const auto proposal = propose(input, weight, layout))
            return giveStrategy(input, weight, *proposal);
    const std::int64_t heads = weight.spec.shape[dim] / weight.spec.grains[dim];
    if (weight.resolution || weight.entry < 0 || heads < partsOf(weight.layout.dims[dim], input.mesh())) {
        const auto proposal = propose(input, weight, layout);
        return giveStrategy(input, weight, proposal.value_or(Proposal {}));
    }
    const auto proposal = propose(input, weight, weight.strategy, CutRule::GrainBalanced);
    return giveStrategy(input, weight, proposal.value_or(Proposal {}));
}

void addGathers(const FinderInput& input, const std::vector<bool>& told, FindingList& out)
{
    const Graph& graph = input.evaluation.graph;
    const auto producers = producersOf(graph);
    for (const Collective& collective : input.evaluation.plan.collectives) {
        if (!isHeadsGather(graph, collective))
            continue;
        const TensorId weight = projectionOf(graph, producers, collective.tensor);
        if (weight != kNoTensor && told[static_cast<std::size_t>(weight)])
            continue;
        out.add({ "heads-split", Severity::Warning, graph.op(collective.op).name, collective.bytes, collective.reason,
                  "cut by a number of devices that divides the heads, or keep the projection whole" });
    }
}

std::map<TensorId, std::int64_t> gatheredBytes(const FinderInput& input)
{
    const Graph& graph = input.evaluation.graph;
    std::map<TensorId, std::int64_t> bytes;
    std::vector<OpId> producers;
    for (const Collective& collective : input.evaluation.plan.collectives) {
        if (!isHeadsGather(graph, collective))
            continue;
        if (producers.empty())
            producers = producersOf(graph);
        bytes[projectionOf(graph, producers, collective.tensor)] += collective.bytes;
    }
    return bytes;
}

} // namespace

void findHeadsSplit(const FinderInput& input, FindingList& out)
{
    if (!input.design.model.hasGraph())
        return;
    const auto gathered = gatheredBytes(input);
    std::vector<bool> told(input.evaluation.graph.tensors.size(), false);
    for (const WeightLayout& weight : input.evaluation.weights) {
        for (std::size_t dim = 0; dim < weight.spec.grains.size() && !weight.misfit; ++dim) {
            const DimCut& cut = weight.shards.cuts()[dim];
            const std::int64_t grain = weight.spec.grains[dim];
            if (!cutsThrough(cut, grain))
                continue;
            told[static_cast<std::size_t>(weight.tensor)] = true;
            const auto bytes = gathered.find(weight.tensor);
            out.add({ "heads-split", Severity::Warning, weight.spec.name, bytes == gathered.end() ? 0 : bytes->second,
                      "dim " + std::to_string(dim) + " holds " + countText(weight.spec.shape[dim] / grain)
                          + " heads of " + countText(grain) + " and is cut over " + countText(cut.count())
                          + " devices of " + axesText(cut.axes(), input.mesh())
                          + ", so that heads lie on two devices and what they make has to be gathered",
                      "cut by a number of devices that divides the heads, or keep the projection whole" },
                    wholeHeads(input, weight, dim));
        }
    }
    if (!gathered.empty())
        addGathers(input, told, out);
}

} // namespace shardboard

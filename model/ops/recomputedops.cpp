// SPDX-License-Identifier: Apache-2.0
#include "model/ops/recomputedops.h"

#include "model/ops/opdefinition.h"
#include "model/text/contains.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

using Part = RecomputePart;

/// Of a matrix product, by the logical names of its weight's dims, [out, in].
Recompute partsOfProduct(const Graph& graph, const Op& op)
{
    const auto weight = std::ranges::find_if(op.operands, [&](TensorId id) {
        return graph.tensor(id).role == TensorRole::Weight && graph.tensor(id).logicalNames.size() == 2;
    });
    if (weight == op.operands.end())
        return Recompute::None;
    const std::string& out = graph.tensor(*weight).logicalNames[0];
    const std::string& in = graph.tensor(*weight).logicalNames[1];
    if (contains({ "q_lora", "kv_lora" }, in))
        return Recompute::None.with(Part::LatentUp);
    if (contains({ "q_heads", "kv_heads", "q_lora_up_proj", "kv_lora_up_proj" }, out))
        return Recompute::None.with(Part::Qkv);
    if (contains({ "q_heads", "heads" }, in))
        return Recompute::None.with(Part::Output);
    if (out == "mlp")
        return Recompute::None.with(Part::MlpIn);
    return in == "mlp" ? Recompute::None.with(Part::MlpOut) : Recompute::None;
}

Recompute partsOf(const Graph& graph, const Op& op)
{
    const OpDefinition& definition = definitionOf(op.kind);
    Recompute out = definition.gemm != nullptr ? partsOfProduct(graph, op) : Recompute::None;
    if (op.kind == OpKind::RmsNorm || op.kind == OpKind::LayerNorm)
        out = out.with(Part::Norms);
    if (definition.group == OpGroup::Activation || op.kind == OpKind::Mul)
        out = out.with(Part::Activations);
    if (definition.statistics != nullptr)
        out = out.with(Part::Attention);
    if (op.kind == OpKind::Rope)
        out = out.with(Part::Rotation);
    if (contains(std::array { OpKind::JoinKeys, OpKind::AbsorbKeys, OpKind::AbsorbValues }, op.kind))
        out = out.with(Part::LatentUp);
    if (op.kind == OpKind::Add && graph.isStream(op.result) && !addsBias(graph, op))
        out = out.with(Part::Residuals);
    if (op.name.find("shared_expert") != std::string::npos)
        return (out.has(Part::Activations) ? Recompute::None.with(Part::Activations) : Recompute::None).with(Part::SharedExperts);
    if (definition.dispatches || contains(graph.tensor(op.result).dimLabels, "experts") || op.kind == OpKind::Combine)
        out = out.with(Part::Experts);
    return out;
}

} // namespace

std::set<OpId> recomputedOps(const Graph& graph, const std::vector<OpId>& ops, Recompute recompute)
{
    std::set<OpId> out;
    if (recompute == Recompute::None || recompute == Recompute::Selective)
        return out;
    std::set<TensorId> made; // by them
    int products = 0;
    for (const OpId id : ops) {
        const Op& op = graph.op(id);
        const OpDefinition& definition = definitionOf(op.kind);
        const bool product = op.kind == OpKind::Linear;
        products += product ? 1 : 0;
        const Recompute parts = partsOf(graph, op);
        const bool wanted = recompute.has(Part::Layer) || (recompute.has(Part::SecondProducts) && product && products % 2 == 0)
            || std::ranges::any_of(kRecomputeParts, [&](Part part) { return recompute.has(part) && parts.has(part); });
        const bool handsOn = definition.view || (addsBias(graph, op) && made.contains(op.operands.front()));
        if (!wanted && !handsOn)
            continue;
        out.insert(id);
        made.insert(op.result);
    }
    return out;
}

} // namespace shardboard

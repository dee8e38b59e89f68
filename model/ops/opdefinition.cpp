// SPDX-License-Identifier: Apache-2.0
#include "model/ops/opdefinition.h"

#include "model/ops/shardingrule.h"

#include <algorithm>

namespace shardboard {

double volume(const Shape& shape)
{
    double product = 1;
    for (const std::int64_t size : shape)
        product *= static_cast<double>(size);
    return product;
}

const std::vector<const OpDefinition*>& allDefinitions()
{
    static const std::vector<const OpDefinition*> all = [] {
        std::vector<const OpDefinition*> out;
        for (const auto& table : { denseDefinitions(), elementwiseDefinitions(), normDefinitions(), attentionDefinitions(),
                                   latentDefinitions(), expertDefinitions(), recurrentDefinitions(), selectionDefinitions(),
                                   viewDefinitions(), lossDefinitions(), updateDefinitions() })
            for (const OpDefinition& definition : table)
                out.push_back(&definition);
        std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->kind < b->kind; });
        return out;
    }();
    return all;
}

KernelClass kernelClassOf(const OpDefinition& definition)
{
    if (definition.view || definition.fused)
        return KernelClass::None;
    if (definition.gemm != nullptr)
        return KernelClass::Gemm;
    if (definition.flops != nullptr)
        return KernelClass::Attention;
    return definition.lookedUp >= 0 ? KernelClass::Lookup : definition.kernel;
}

GemmDims rowsTimesWeight(const LocalShapes& local)
{
    const double n = static_cast<double>(local.result.back());
    return { 1, volume(local.result) / std::max(1.0, n), n, static_cast<double>(local.operands.front().back()) };
}

GemmDims weightGradient(const LocalShapes& local)
{
    const Shape& dy = local.operands.front();
    return { 1, static_cast<double>(local.result[0]), static_cast<double>(local.result[1]),
             volume(dy) / std::max(1.0, static_cast<double>(dy.back())) };
}

const OpDefinition& definitionOf(OpKind kind) { return *allDefinitions()[static_cast<std::size_t>(kind)]; }

OpGroup groupOf(const Graph& graph, const Op& op)
{
    const OpDefinition& definition = definitionOf(op.kind);
    return definition.groupOf != nullptr ? definition.groupOf(graph, op) : definition.group;
}

const ShardingRule& ruleOf(OpKind kind)
{
    static const std::vector<ShardingRule> rules = [] {
        std::vector<ShardingRule> out;
        for (const OpDefinition* definition : allDefinitions()) {
            auto rule = ShardingRule::parse(definition->rule, definition->where);
            out.push_back(rule.ok() ? std::move(rule).value() : ShardingRule {}); // a test reads them all
        }
        return out;
    }();
    return rules[static_cast<std::size_t>(kind)];
}

Status verifyOp(const Graph& graph, const Op& op)
{
    return ruleOf(op.kind).shapes().verify(opKindName(op.kind), OperandShapes(graph, op), graph.tensor(op.result).shape,
                                           op.attributes);
}

Result<Shape> resultShape(const Graph& graph, const Op& op, std::span<const OpenSize> open)
{
    return ruleOf(op.kind).shapes().resultOf(op.name, OperandShapes(graph, op), op.attributes, open);
}

} // namespace shardboard

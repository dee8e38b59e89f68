// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/gradientcases.h"

#include "engine/conformance/opcase.h"
#include "engine/conformance/opsample.h"
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"

#include <algorithm>

namespace shardboard::conformance {

namespace {

void addCases(const OpDefinition& definition, std::int64_t most, std::vector<GradientCase>& all)
{
    const auto sample = sampleOf(definition.kind, most);
    if (!sample)
        return;
    GraphMaker maker;
    std::vector<TensorId> operands;
    for (const Shape& shape : sample->operands)
        operands.push_back(maker.weight(shape));
    const TensorId dy = maker.input(sample->result);
    maker.op(definition.kind, operands, sample->result, sample->attributes);
    Graph graph = maker.done({}).graph;
    const auto& sides = ruleOf(definition.kind).shapes().operands();
    const auto operandOf = [&](TensorId tensor) {
        const auto found = std::find(operands.begin(), operands.end(), tensor);
        return tensor == dy ? kGradient : static_cast<int>(found - operands.begin());
    };
    for (const Op& op : GradientBuilder(graph).gradientsOf(OpId(0), dy)) {
        if (definitionOf(op.kind).gradient != nullptr)
            continue; // an operation of the forward pass as well
        GradientCase one;
        one.of = operandOf(graph.entry(op.result).addendOf);
        one.name = std::string(definition.name) + ", " + sides[static_cast<std::size_t>(one.of)].name + " of "
            + shapeText(sample->operands.front());
        one.gradient = op.kind;
        one.forward = definition.kind;
        one.operands = sample->operands;
        one.result = sample->result;
        for (const TensorId operand : op.operands)
            one.gradientOperands.push_back(operandOf(operand));
        if (std::find(one.gradientOperands.begin(), one.gradientOperands.end(), static_cast<int>(operands.size()))
            != one.gradientOperands.end())
            continue; // it goes on from another operation
        one.attributes = op.attributes;
        for (std::size_t i = 0; i < sides.size(); ++i) {
            if (sides[i].name == "gates")
                one.gates = static_cast<int>(i);
            if (sides[i].dims.size() == 4 && sides[i].dims.front().name == "experts")
                one.ofExperts = static_cast<int>(i);
        }
        all.push_back(std::move(one));
    }
}

} // namespace

const std::vector<GradientCase>& gradientCases()
{
    static const std::vector<GradientCase> all = [] {
        std::vector<GradientCase> out;
        for (const OpDefinition* definition : allDefinitions())
            if (definition->gradient != nullptr && definition->runs)
                for (const std::int64_t most : { 300, 700 })
                    addCases(*definition, most, out);
        return out;
    }();
    return all;
}

} // namespace shardboard::conformance

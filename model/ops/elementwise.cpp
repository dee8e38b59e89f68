// SPDX-License-Identifier: Apache-2.0
// Operations on single elements.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

/// The gradient of a + b is dy for both; for a bias, its sum over the dims that the bias does not have.
void addGradient(GradientBuilder& builder, const Op& op)
{
    const Graph& graph = builder.graph();
    const bool bias = graph.tensor(op.operands[1]).shape.size() < graph.tensor(op.result).shape.size();
    builder.give(1, bias ? builder.add(OpKind::SumLeading, "grad_b", { builder.dy() }, op.operands[1]) : builder.dy());
}

void mulGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, builder.add(OpKind::Mul, "grad_a", { builder.dy(), op.operands[1] }, op.operands[0]));
    builder.give(1, builder.add(OpKind::Mul, "grad_b", { builder.dy(), op.operands[0] }, op.operands[1]));
}

template <OpKind Kind>
void unaryGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, builder.add(Kind, "grad", { builder.dy(), op.operands[0] }, op.operands[0]));
}

void scaleGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, builder.add(OpKind::Scale, "grad", { builder.dy() }, op.operands[0], op.attributes));
}

void softCapGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, builder.add(OpKind::SoftCapGrad, "grad", { builder.dy(), op.operands[0] }, op.operands[0], op.attributes));
}

void swigluGradient(GradientBuilder& builder, const Op& op)
{
    const std::vector<TensorId> all { builder.dy(), op.operands[0], op.operands[1] };
    builder.give(0, builder.add(OpKind::ClampedSwigluGradGate, "grad_gate", all, op.operands[0], op.attributes));
    builder.give(1, builder.add(OpKind::ClampedSwigluGradUp, "grad_up", all, op.operands[1], op.attributes));
}

const std::array kElementwiseOps {
    OpDefinition { .kind = OpKind::Add,
                   .name = "add",
                   .operands = 2,
                   .rule = "~, ~ -> ~ ; P P -> P",
                   .gradient = addGradient,
                   .passes = true },
    OpDefinition { .kind = OpKind::Mul, .name = "mul", .operands = 2, .rule = "~, ~ -> ~", .gradient = mulGradient, .cheap = true },
    OpDefinition {
        .kind = OpKind::Silu, .name = "silu", .rule = "... -> ...", .gradient = unaryGradient<OpKind::SiluGrad>, .cheap = true },
    OpDefinition {
        .kind = OpKind::Gelu, .name = "gelu", .rule = "... -> ...", .gradient = unaryGradient<OpKind::GeluGrad>, .cheap = true },
    OpDefinition { .kind = OpKind::SumLeading, .name = "sum_leading", .rule = "... n -> n ; P -> P", .contracts = true },
    OpDefinition { .kind = OpKind::SiluGrad, .name = "silu_grad", .operands = 2, .rule = "..., ... -> ... ; P R -> P" },
    OpDefinition { .kind = OpKind::GeluGrad, .name = "gelu_grad", .operands = 2, .rule = "..., ... -> ... ; P R -> P" },
    OpDefinition { .kind = OpKind::GeluTanh,
                   .name = "gelu_tanh",
                   .rule = "... -> ...",
                   .gradient = unaryGradient<OpKind::GeluTanhGrad>,
                   .cheap = true },
    OpDefinition { .kind = OpKind::SoftCap, .name = "soft_cap", .rule = "... -> ...", .gradient = softCapGradient, .cheap = true },
    OpDefinition {
        .kind = OpKind::Scale, .name = "scale", .rule = "... -> ... ; P -> P", .gradient = scaleGradient, .cheap = true },
    OpDefinition { .kind = OpKind::ClampedSwiglu,
                   .name = "clamped_swiglu",
                   .operands = 2,
                   .rule = "..., ... -> ...",
                   .gradient = swigluGradient,
                   .cheap = true },
    OpDefinition { .kind = OpKind::GeluTanhGrad, .name = "gelu_tanh_grad", .operands = 2, .rule = "..., ... -> ... ; P R -> P" },
    OpDefinition { .kind = OpKind::SoftCapGrad, .name = "soft_cap_grad", .operands = 2, .rule = "..., ... -> ... ; P R -> P" },
    OpDefinition { .kind = OpKind::ClampedSwigluGradGate,
                   .name = "clamped_swiglu_grad_gate",
                   .operands = 3,
                   .rule = "..., ..., ... -> ... ; P R R -> P" },
    OpDefinition { .kind = OpKind::ClampedSwigluGradUp,
                   .name = "clamped_swiglu_grad_up",
                   .operands = 3,
                   .rule = "..., ..., ... -> ... ; P R R -> P" },
};

} // namespace

std::span<const OpDefinition> elementwiseDefinitions() { return kElementwiseOps; }

} // namespace shardboard

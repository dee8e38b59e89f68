// SPDX-License-Identifier: Apache-2.0
// Operations on single elements.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <algorithm>
#include <array>
#include <cmath>

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
    builder.give(0, builder.add(Kind, "grad", { builder.dy(), op.operands[0] }, op.operands[0], op.attributes));
}

void scaleGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, builder.add(OpKind::Scale, "grad", { builder.dy() }, op.operands[0], op.attributes));
}

void swigluGradient(GradientBuilder& builder, const Op& op)
{
    const std::vector<TensorId> all { builder.dy(), op.operands[0], op.operands[1] };
    builder.give(0, builder.add(OpKind::ClampedSwigluGradGate, "grad_gate", all, op.operands[0], op.attributes));
    builder.give(1, builder.add(OpKind::ClampedSwigluGradUp, "grad_up", all, op.operands[1], op.attributes));
}

double silu(const double* x, const OpAttributes&) { return x[0] / (1 + std::exp(-x[0])); }

double gelu(const double* x, const OpAttributes&) { return 0.5 * x[0] * std::erfc(-x[0] / std::sqrt(2.0)); }

double geluTanh(const double* x, const OpAttributes&)
{
    return 0.5 * x[0] * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x[0] + 0.044715 * x[0] * x[0] * x[0])));
}

double softCap(const double* x, const OpAttributes& attributes) { return attributes.cap * std::tanh(x[0] / attributes.cap); }

double scaled(const double* x, const OpAttributes& attributes) { return attributes.scale * x[0]; }

double clampedSwiglu(const double* x, const OpAttributes& attributes)
{
    const double gate = std::min(x[0], attributes.cap);
    return gate / (1 + std::exp(-1.702 * gate)) * (std::clamp(x[1], -attributes.cap, attributes.cap) + 1);
}

const std::array kElementwiseOps {
    OpDefinition { .kind = OpKind::Add,
                   .name = "add",
                   .rule = "a [~], b [~] -> [~] ; P P -> P",
                   .group = OpGroup::Small,
                   .gradient = addGradient,
                   .passes = true },
    OpDefinition { .kind = OpKind::Mul,
                   .name = "mul",
                   .rule = "a [~], b [~] -> [~]",
                   .group = OpGroup::Activation,
                   .gradient = mulGradient,
                   .cheap = true },
    OpDefinition { .kind = OpKind::Silu,
                   .name = "silu",
                   .rule = "x [...] -> [...]",
                   .group = OpGroup::Activation,
                   .value = silu,
                   .gradient = unaryGradient<OpKind::SiluGrad>,
                   .cheap = true },
    OpDefinition { .kind = OpKind::Gelu,
                   .name = "gelu",
                   .rule = "x [...] -> [...]",
                   .group = OpGroup::Activation,
                   .value = gelu,
                   .gradient = unaryGradient<OpKind::GeluGrad>,
                   .cheap = true },
    OpDefinition { .kind = OpKind::SumLeading, .name = "sum_leading", .rule = "dy [... n] -> [n] ; P -> P", .contracts = true },
    OpDefinition { .kind = OpKind::SiluGrad, .name = "silu_grad", .rule = "dy [...], x [...] -> [...] ; P R -> P" },
    OpDefinition { .kind = OpKind::GeluGrad, .name = "gelu_grad", .rule = "dy [...], x [...] -> [...] ; P R -> P" },
    OpDefinition { .kind = OpKind::GeluTanh,
                   .name = "gelu_tanh",
                   .rule = "x [...] -> [...]",
                   .group = OpGroup::Activation,
                   .value = geluTanh,
                   .gradient = unaryGradient<OpKind::GeluTanhGrad>,
                   .cheap = true },
    OpDefinition { .kind = OpKind::SoftCap,
                   .name = "soft_cap",
                   .rule = "x [...] -> [...]",
                   .where = "0 < @cap",
                   .value = softCap,
                   .gradient = unaryGradient<OpKind::SoftCapGrad>,
                   .cheap = true },
    OpDefinition { .kind = OpKind::Scale,
                   .name = "scale",
                   .rule = "x [...] -> [...] ; P -> P",
                   .where = "@scale",
                   .value = scaled,
                   .gradient = scaleGradient,
                   .cheap = true },
    OpDefinition { .kind = OpKind::ClampedSwiglu,
                   .name = "clamped_swiglu",
                   .rule = "gate [...], up [...] -> [...]",
                   .where = "0 < @cap",
                   .group = OpGroup::Activation,
                   .value = clampedSwiglu,
                   .gradient = swigluGradient,
                   .cheap = true },
    OpDefinition { .kind = OpKind::GeluTanhGrad, .name = "gelu_tanh_grad", .rule = "dy [...], x [...] -> [...] ; P R -> P" },
    OpDefinition { .kind = OpKind::SoftCapGrad,
                   .name = "soft_cap_grad",
                   .rule = "dy [...], x [...] -> [...] ; P R -> P",
                   .where = "0 < @cap" },
    OpDefinition { .kind = OpKind::ClampedSwigluGradGate,
                   .name = "clamped_swiglu_grad_gate",
                   .rule = "dy [...], gate [...], up [...] -> [...] ; P R R -> P",
                   .where = "0 < @cap",
                   .group = OpGroup::Gradient },
    OpDefinition { .kind = OpKind::ClampedSwigluGradUp,
                   .name = "clamped_swiglu_grad_up",
                   .rule = "dy [...], gate [...], up [...] -> [...] ; P R R -> P",
                   .where = "0 < @cap",
                   .group = OpGroup::Gradient },
};

} // namespace

std::span<const OpDefinition> elementwiseDefinitions() { return kElementwiseOps; }

} // namespace shardboard

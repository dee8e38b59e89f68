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
    if (bias)
        builder.give(1, OpKind::SumLeading, "grad_b", { builder.dy() });
    else
        builder.pass(1);
}

void mulGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::Mul, "grad_a", { builder.dy(), op.operands[1] });
    builder.give(1, OpKind::Mul, "grad_b", { builder.dy(), op.operands[0] });
}

template <OpKind Kind>
void unaryGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, Kind, "grad", { builder.dy(), op.operands[0] }, op.attributes);
}

void scaleGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::Scale, "grad", { builder.dy() }, op.attributes);
}

void swigluGradient(GradientBuilder& builder, const Op& op)
{
    const std::vector<TensorId> all { builder.dy(), op.operands[0], op.operands[1] };
    builder.give(0, OpKind::ClampedSwigluGradGate, "grad_gate", all, op.attributes);
    builder.give(1, OpKind::ClampedSwigluGradUp, "grad_up", all, op.attributes);
}

double silu(const double* x, const OpAttributes&) { return x[0] / (1 + std::exp(-x[0])); }

double gelu(const double* x, const OpAttributes&) { return 0.5 * x[0] * std::erfc(-x[0] / std::sqrt(2.0)); }

double geluTanh(const double* x, const OpAttributes&)
{
    return 0.5 * x[0] * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x[0] + 0.044715 * x[0] * x[0] * x[0])));
}

double squaredRelu(const double* x, const OpAttributes&) { return x[0] > 0 ? x[0] * x[0] : 0; }

double relu(const double* x, const OpAttributes&) { return x[0] > 0 ? x[0] : 0; }

double softCap(const double* x, const OpAttributes& attributes) { return attributes.cap * std::tanh(x[0] / attributes.cap); }

double sigmoid(const double* x, const OpAttributes&) { return 1 / (1 + std::exp(-x[0])); }

double softplus(const double* x, const OpAttributes&) { return std::max(x[0], 0.0) + std::log1p(std::exp(-std::abs(x[0]))); }

double negativeExp(const double* x, const OpAttributes&) { return -std::exp(x[0]); }

/// The slope of -exp(x) is itself.
void negativeExpGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::Mul, "grad", { builder.dy(), op.result });
}

double scaled(const double* x, const OpAttributes& attributes) { return attributes.scale * x[0]; }

double clampedSwiglu(const double* x, const OpAttributes& attributes)
{
    const double gate = std::min(x[0], attributes.cap);
    return gate / (1 + std::exp(-1.702 * gate)) * (std::clamp(x[1], -attributes.cap, attributes.cap) + 1);
}

/// A bias is part of its projection.
OpGroup groupOfSum(const Graph& graph, const Op& op) { return addsBias(graph, op) ? OpGroup::Projection : OpGroup::Small; }

/// A function of one element between two products.
constexpr OpDefinition activation(OpKind kind, const char* name, decltype(OpDefinition::value) value,
                                  decltype(OpDefinition::gradient) gradient)
{
    return { .kind = kind,
             .name = name,
             .rule = "x [...] -> [...]",
             .group = OpGroup::Activation,
             .value = value,
             .gradient = gradient,
             .cheap = true };
}

/// The gradient of a function of one element.
constexpr OpDefinition slope(OpKind kind, const char* name, const char* where = "")
{
    return { .kind = kind, .name = name, .rule = "dy [...], x [...] -> [...] ; P R -> P", .where = where };
}

/// Of several kernels in an eager framework: relu and square; by autograd the power, its factor, dy, and the threshold.
constexpr OpDefinition eager(OpDefinition definition, EagerPasses passes)
{
    definition.eager = passes;
    return definition;
}

/// One of those of a gated activation.
constexpr OpDefinition gatedSlope(OpKind kind, const char* name, const char* where)
{
    return { .kind = kind,
             .name = name,
             .rule = "dy [...], gate [...], up [...] -> [...] ; P R R -> P",
             .where = where,
             .group = OpGroup::Gradient };
}

const std::array kElementwiseOps {
    OpDefinition { .kind = OpKind::Add,
                   .name = "add",
                   .rule = "a [~], b [~] -> [~] ; P P -> P",
                   .groupOf = groupOfSum,
                   .gradient = addGradient,
                   .passes = true },
    OpDefinition { .kind = OpKind::Mul,
                   .name = "mul",
                   .rule = "a [~], b [~] -> [~]",
                   .group = OpGroup::Activation,
                   .gradient = mulGradient,
                   .cheap = true },
    OpDefinition { .kind = OpKind::SumLeading, .name = "sum_leading", .rule = "dy [... n] -> [n] ; P -> P", .contracts = true },
    activation(OpKind::Silu, "silu", silu, unaryGradient<OpKind::SiluGrad>),
    slope(OpKind::SiluGrad, "silu_grad"),
    activation(OpKind::Gelu, "gelu", gelu, unaryGradient<OpKind::GeluGrad>),
    slope(OpKind::GeluGrad, "gelu_grad"),
    activation(OpKind::GeluTanh, "gelu_tanh", geluTanh, unaryGradient<OpKind::GeluTanhGrad>),
    slope(OpKind::GeluTanhGrad, "gelu_tanh_grad"),
    activation(OpKind::Relu, "relu", relu, unaryGradient<OpKind::ReluGrad>),
    slope(OpKind::ReluGrad, "relu_grad"),
    activation(OpKind::Sigmoid, "sigmoid", sigmoid, unaryGradient<OpKind::SigmoidGrad>),
    slope(OpKind::SigmoidGrad, "sigmoid_grad"),
    activation(OpKind::Softplus, "softplus", softplus, unaryGradient<OpKind::SoftplusGrad>),
    slope(OpKind::SoftplusGrad, "softplus_grad"),
    activation(OpKind::NegativeExp, "negative_exp", negativeExp, negativeExpGradient),
    eager(activation(OpKind::SquaredRelu, "squared_relu", squaredRelu, unaryGradient<OpKind::SquaredReluGrad>), { 4, 0, 2 }),
    eager(slope(OpKind::SquaredReluGrad, "squared_relu_grad"), { 10, 0, 4 }),
    OpDefinition { .kind = OpKind::SoftCap,
                   .name = "soft_cap",
                   .rule = "x [...] -> [...]",
                   .where = "0 < @cap",
                   .value = softCap,
                   .gradient = unaryGradient<OpKind::SoftCapGrad>,
                   .cheap = true },
    slope(OpKind::SoftCapGrad, "soft_cap_grad", "0 < @cap"),
    OpDefinition { .kind = OpKind::Scale,
                   .name = "scale",
                   .rule = "x [...] -> [...] ; P -> P",
                   .where = "@scale",
                   .value = scaled,
                   .gradient = scaleGradient,
                   .cheap = true,
                   .between = true },
    OpDefinition { .kind = OpKind::ClampedSwiglu,
                   .name = "clamped_swiglu",
                   .rule = "gate [...], up [...] -> [...]",
                   .where = "0 < @cap",
                   .group = OpGroup::Activation,
                   .value = clampedSwiglu,
                   .gradient = swigluGradient,
                   .cheap = true },
    gatedSlope(OpKind::ClampedSwigluGradGate, "clamped_swiglu_grad_gate", "0 < @cap"),
    gatedSlope(OpKind::ClampedSwigluGradUp, "clamped_swiglu_grad_up", "0 < @cap"),
};

} // namespace

bool addsBias(const Graph& graph, const Op& op)
{
    if (op.kind != OpKind::Add)
        return false;
    const TensorSpec& added = graph.tensor(op.operands[1]);
    return added.role == TensorRole::Weight && added.shape.size() < graph.tensor(op.result).shape.size();
}

std::span<const OpDefinition> elementwiseDefinitions() { return kElementwiseOps; }

} // namespace shardboard

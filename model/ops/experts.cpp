// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: the router's choice, tokens to experts, their products, and the way back. Where the experts are cut and
// the tokens whole, every device serves the tokens that chose its experts, and sums are partial (the all-gather form); where
// the tokens are cut, they have to be brought to the experts' cut and back (the all-to-all form).
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

double expertFlops(const LocalShapes& local)
{
    return 2 * volume(local.result) * static_cast<double>(local.operands.front().back());
}

double expertGradientFlops(const LocalShapes& local)
{
    const Shape& dy = local.operands.front();
    return 2 * volume(local.result) * static_cast<double>(dy[1]) * static_cast<double>(dy[2]);
}

/// One product for each expert.
GemmDims expertProduct(const LocalShapes& local)
{
    const Shape& out = local.result;
    return { static_cast<double>(out[0]), static_cast<double>(out[1]) * static_cast<double>(out[2]), static_cast<double>(out[3]),
             static_cast<double>(local.operands.front().back()) };
}

GemmDims expertWeightGradient(const LocalShapes& local)
{
    const Shape& dy = local.operands.front();
    return { static_cast<double>(local.result[0]), static_cast<double>(local.result[1]), static_cast<double>(local.result[2]),
             static_cast<double>(dy[1]) * static_cast<double>(dy[2]) };
}

void gatesGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::TopKGatesGrad, "grad", { builder.dy(), op.operands[0] }, op.attributes);
}

/// The correction bias is not trained by its gradient.
void biasedGatesGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::BiasedTopKGatesGrad, "grad", { builder.dy(), op.operands[0], op.operands[1] }, op.attributes);
}

/// Gates only choose here; their own gradient comes from the combination.
void dispatchGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::DispatchGrad, "grad_x", { builder.dy(), op.operands[1] });
}

void expertLinearGradient(GradientBuilder& builder, const Op& op)
{
    const bool transposed = op.kind == OpKind::ExpertLinearT;
    const TensorId x = op.operands[0];
    const TensorId weight = op.operands[1];
    const TensorId dy = builder.dy();
    builder.give(0, transposed ? OpKind::ExpertLinear : OpKind::ExpertLinearT, "grad_x", { dy, weight });
    builder.give(1, OpKind::ExpertLinearGradW, "grad_w", transposed ? std::vector { x, dy } : std::vector { dy, x });
}

void expertBiasGradient(GradientBuilder& builder, const Op&)
{
    builder.give(1, OpKind::ExpertBiasGrad, "grad_b", { builder.dy() });
}

void combineGradient(GradientBuilder& builder, const Op& op)
{
    builder.give(0, OpKind::CombineGradY, "grad_y", { builder.dy(), op.operands[1] });
    builder.give(1, OpKind::CombineGradGates, "grad_gates", { builder.dy(), op.operands[0] });
}

// The best experts of the best groups.
constexpr const char* kChoice =
    "1 <= @chosen, @chosen <= experts, experts <= 16777216, 0 < @scale, @groups | experts, @chosen_groups <= @groups,"
    "@chosen*@groups <= experts*@chosen_groups, @sigmoid, @normalized";

const std::array kExpertOps {
    // A gate for each chosen expert, else 0.
    OpDefinition { .kind = OpKind::TopKGates,
                   .name = "top_k_gates",
                   .rule = "logits [b s experts!] -> [b s experts!]",
                   .where = kChoice,
                   .gradient = gatesGradient,
                   .chosenFrom = 0 },
    // Scores plus bias choose, scores alone are the gates.
    OpDefinition { .kind = OpKind::BiasedTopKGates,
                   .name = "biased_top_k_gates",
                   .rule = "logits [b s experts!], bias [experts!] -> [b s experts!]",
                   .where = kChoice,
                   .gradient = biasedGatesGradient,
                   .chosenFrom = 0 },
    // x where the gate of the expert is not 0, else 0.
    OpDefinition { .kind = OpKind::Dispatch,
                   .name = "dispatch",
                   .rule = "x [b s h], gates [b s experts] -> [experts b s h] ; P R -> P",
                   .gradient = dispatchGradient,
                   .dispatches = true },
    OpDefinition { .kind = OpKind::ExpertLinear,
                   .name = "expert_matmul",
                   .rule = "x [experts b s in], weight [experts out in] -> [experts b s out] ; P R -> P ; R P -> P",
                   .flops = expertFlops,
                   .gemm = expertProduct,
                   .gradient = expertLinearGradient,
                   .contracts = true,
                   .streamed = 1 },
    OpDefinition { .kind = OpKind::ExpertLinearT,
                   .name = "expert_matmul_t",
                   .rule = "x [experts b s in], weight [experts in out] -> [experts b s out] ; P R -> P ; R P -> P",
                   .flops = expertFlops,
                   .gemm = expertProduct,
                   .gradient = expertLinearGradient,
                   .contracts = true,
                   .streamed = 1 },
    // Rows of zeros stay so.
    OpDefinition { .kind = OpKind::ExpertBias,
                   .name = "expert_bias",
                   .rule = "x [experts b s n], bias [experts n] -> [experts b s n]",
                   .gradient = expertBiasGradient,
                   .passes = true },
    // The sum over the experts of gate times y.
    OpDefinition { .kind = OpKind::Combine,
                   .name = "combine",
                   .rule = "y [experts b s h], gates [b s experts] -> [b s h] ; P R -> P",
                   .gradient = combineGradient },
    OpDefinition { .kind = OpKind::TopKGatesGrad,
                   .name = "top_k_gates_grad",
                   .rule = "dy [b s experts!], logits [b s experts!] -> [b s experts!] ; P R -> P",
                   .where = kChoice,
                   .chosenFrom = 1 },
    OpDefinition { .kind = OpKind::BiasedTopKGatesGrad,
                   .name = "biased_top_k_gates_grad",
                   .rule = "dy [b s experts!], logits [b s experts!], bias [experts!] -> [b s experts!] ; P R R -> P",
                   .where = kChoice,
                   .chosenFrom = 1 },
    OpDefinition { .kind = OpKind::DispatchGrad,
                   .name = "dispatch_grad",
                   .rule = "dy [experts b s h], gates [b s experts] -> [b s h] ; P R -> P",
                   .contracts = true },
    OpDefinition { .kind = OpKind::ExpertLinearGradW,
                   .name = "expert_matmul_grad_w",
                   .rule = "dy [experts b s out], x [experts b s in] -> [experts out in] ; P R -> P ; R P -> P",
                   .group = OpGroup::Gradient,
                   .flops = expertGradientFlops,
                   .gemm = expertWeightGradient,
                   .sumsRows = true,
                   .contracts = true },
    OpDefinition { .kind = OpKind::ExpertBiasGrad,
                   .name = "expert_bias_grad",
                   .rule = "dy [experts b s n] -> [experts n] ; P -> P",
                   .contracts = true },
    // From here the gradient goes to the experts: a place where it may have to move.
    OpDefinition { .kind = OpKind::CombineGradY,
                   .name = "combine_grad_y",
                   .rule = "dy [b s h], gates [b s experts] -> [experts b s h] ; P R -> P",
                   .moves = true },
    OpDefinition { .kind = OpKind::CombineGradGates,
                   .name = "combine_grad_gates",
                   .rule = "dy [b s h], y [experts b s h] -> [b s experts] ; P R -> P ; R P -> P",
                   .contracts = true },
};

} // namespace

std::span<const OpDefinition> expertDefinitions() { return kExpertOps; }

} // namespace shardboard

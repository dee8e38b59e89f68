// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: the router's choice, tokens to experts, their products, and the way back. Where the experts are cut and
// the tokens whole, every device serves the tokens that chose its experts, and sums are partial (the all-gather form); where
// the tokens are cut, they have to be brought to the experts' cut and back (the all-to-all form).
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

double productFlops(const LocalShapes& local)
{
    return 2 * volume(local.result) * static_cast<double>(local.operands.front().back());
}

const std::array kTable {
    OpDefinition { .kind = OpKind::TopKGates, .name = "top_k_gates", .rule = "... experts! -> ... experts!" },
    OpDefinition { .kind = OpKind::BiasedTopKGates, .name = "biased_top_k_gates", .operands = 2,
                   .rule = "... experts!, experts! -> ... experts!" },
    OpDefinition { .kind = OpKind::Dispatch, .name = "dispatch", .operands = 2,
                   .rule = "b s h, b s experts -> experts b s h ; P R -> P" },
    OpDefinition { .kind = OpKind::ExpertLinear, .name = "expert_matmul", .operands = 2,
                   .rule = "experts b s in, experts out in -> experts b s out ; P R -> P ; R P -> P", .flops = productFlops },
    OpDefinition { .kind = OpKind::ExpertLinearT, .name = "expert_matmul_t", .operands = 2,
                   .rule = "experts b s in, experts in out -> experts b s out ; P R -> P ; R P -> P", .flops = productFlops },
    OpDefinition { .kind = OpKind::ExpertBias, .name = "expert_bias", .operands = 2,
                   .rule = "experts b s n, experts n -> experts b s n" },
    OpDefinition { .kind = OpKind::Combine, .name = "combine", .operands = 2,
                   .rule = "experts b s h, b s experts -> b s h ; P R -> P" },
};

} // namespace

std::span<const OpDefinition> expertDefinitions() { return kTable; }

} // namespace shardboard

// SPDX-License-Identifier: Apache-2.0
// Cross-entropy in pieces, so that it can be computed where every device has a part of the vocabulary.
#include "model/ops/differentiate.h"
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

/// From the loss straight to the logits: the pieces in between have no gradients of their own.
void tokenLossGradient(GradientBuilder& builder, const Op& op)
{
    const Op& target = builder.producer(op.operands[2]);
    const TensorId logits = target.operands[0];
    builder.giveTo(logits, OpKind::LogitGrad, "grad", { logits, op.operands[0], op.operands[1], target.operands[1] });
}

// F.cross_entropy(logits.float(), …): the cast, log_softmax; backward the gradients of both over a tensor of zeros with the
// targets' entries in it, and the cast back.
const std::array kLossOps {
    // Where v is cut, every device has the largest of its own.
    OpDefinition {
        .kind = OpKind::LogitMax, .name = "logit_max", .rule = "logits [... v] -> [...] ; reduce max", .eager = { 1, 1, 1 } },
    // The sum of exp(logit - max).
    OpDefinition { .kind = OpKind::SumExp,
                   .name = "sum_exp",
                   .rule = "logits [... v], max [...] -> [...]",
                   .where = "v <= 16777216",
                   .eager = { 0, 2, 1 } },
    OpDefinition { .kind = OpKind::TargetLogit,
                   .name = "target_logit",
                   .rule = "logits [... v], targets [...] -> [...]",
                   .where = "v <= 16777216",
                   .elementsOf = 0 },
    // log(sum) + max - target, over the number of tokens.
    OpDefinition { .kind = OpKind::TokenLoss,
                   .name = "token_loss",
                   .rule = "max [...], sum [...], target [...] -> [...]",
                   .gradient = tokenLossGradient },
    // (softmax - onehot) over the number of tokens.
    OpDefinition { .kind = OpKind::LogitGrad,
                   .name = "logit_grad",
                   .rule = "logits [... v], max [...], sum [...], targets [...] -> [... v]",
                   .where = "v <= 16777216",
                   .eager = { 1, 5, 3 } },
};

} // namespace

std::span<const OpDefinition> lossDefinitions() { return kLossOps; }

} // namespace shardboard

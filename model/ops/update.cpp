// SPDX-License-Identifier: Apache-2.0
// What happens to the gradients of weights.
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

const std::array kUpdateOps {
    OpDefinition { .kind = OpKind::ReduceGrad, .name = "reduce_grad", .rule = "... -> ... ; P -> P", .view = true },
    OpDefinition {
        .kind = OpKind::AdamStep, .name = "adam_step", .operands = 2, .rule = "..., ... -> ...", .kernel = KernelClass::Optimizer },
};

} // namespace

std::span<const OpDefinition> updateDefinitions() { return kUpdateOps; }

} // namespace shardboard

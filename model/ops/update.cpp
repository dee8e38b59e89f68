// SPDX-License-Identifier: Apache-2.0
// What happens to the gradients of weights.
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

const std::array kUpdateOps {
    // As the weight is laid out: where its sum is made.
    OpDefinition { .kind = OpKind::ReduceGrad,
                   .name = "reduce_grad",
                   .rule = "gradient [...] -> [...] ; P -> P",
                   .group = OpGroup::Reduction,
                   .view = true,
                   .taken = 0 },
    OpDefinition { .kind = OpKind::AdamStep,
                   .name = "adam_step",
                   .rule = "weight [...], gradient [...] -> [...]",
                   .group = OpGroup::Update,
                   .streamed = 0,
                   .taken = 1,
                   .moments = 2,
                   .kernel = KernelClass::Optimizer },
    // The weight may be cut where the gradient is whole: the iteration needs whole matrices, and what is no part of the shard is
    // thrown away.
    OpDefinition { .kind = OpKind::MuonStep,
                   .name = "muon_step",
                   .rule = "weight [... m! n!], gradient [... m! n!] -> [... m! n!]",
                   .group = OpGroup::Update,
                   .runs = false,
                   .moments = 1,
                   .kernel = KernelClass::Gemm },
    OpDefinition { .kind = OpKind::SgdStep,
                   .name = "sgd_step",
                   .rule = "weight [...], gradient [...] -> [...]",
                   .group = OpGroup::Update,
                   .streamed = 0,
                   .taken = 1,
                   .moments = 1,
                   .kernel = KernelClass::Optimizer },
};

} // namespace

std::span<const OpDefinition> updateDefinitions() { return kUpdateOps; }

} // namespace shardboard

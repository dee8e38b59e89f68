// SPDX-License-Identifier: Apache-2.0
// Embedding and matrix products.
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

/// Every element of the result is a sum of as many products as the last dim of the first operand has elements.
double productFlops(const LocalShapes& local)
{
    return 2 * volume(local.result) * static_cast<double>(local.operands.front().back());
}

const std::array kTable {
    // Tokens of other devices' rows give zeros where the table is cut by vocabulary. MAX has no such row.
    OpDefinition { .kind = OpKind::Embedding, .name = "embedding", .operands = 2,
                   .rule = "..., v! h -> ... h ; first h ; R S0 -> P ours ; R P -> P", .lookedUp = 1 },
    OpDefinition { .kind = OpKind::Linear, .name = "matmul", .operands = 2,
                   .rule = "... in, out in -> ... out ; P R -> P ; R P -> P", .flops = productFlops },
};

} // namespace

std::span<const OpDefinition> denseDefinitions() { return kTable; }

} // namespace shardboard

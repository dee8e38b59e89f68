// SPDX-License-Identifier: Apache-2.0
// Parts of the last dim and what they are joined to again: fused projections, latent attention.
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
    OpDefinition { .kind = OpKind::SliceLast, .name = "slice_last", .rule = "... n! -> ... m! ; P -> P" },
    OpDefinition { .kind = OpKind::EveryOther, .name = "every_other", .rule = "... pairs*p! -> ... pairs ; P -> P" },
    OpDefinition { .kind = OpKind::SplitGroups, .name = "split_groups", .rule = "b s groups n! -> b s groups*g! d! ; P -> P",
                   .view = true },
    OpDefinition { .kind = OpKind::JoinLast, .name = "join_last", .operands = 2, .rule = "... n!, ... m! -> ... d! ; P P -> P" },
    OpDefinition { .kind = OpKind::JoinKeys, .name = "join_keys", .operands = 2,
                   .rule = "b s h n!, b s one! m! -> b s h d! ; P P -> P" },
    OpDefinition { .kind = OpKind::AbsorbKeys, .name = "absorb_keys", .operands = 2,
                   .rule = "b s heads n!, heads*u! r -> b s heads r ; P R -> P", .flops = productFlops },
    OpDefinition { .kind = OpKind::AbsorbValues, .name = "absorb_values", .operands = 2,
                   .rule = "b s heads r, heads*u! r -> b s heads e! ; P R -> P", .flops = productFlops },
};

} // namespace

std::span<const OpDefinition> latentDefinitions() { return kTable; }

} // namespace shardboard

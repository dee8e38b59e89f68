// SPDX-License-Identifier: Apache-2.0
// The bodies that the CPU runs as they are. A body is called as body(lanes, item, entry): its lanes share an item, and its entries
// are a table, most often one for each logical device. Items that an entry does not have are skipped.
#pragma once

#include "engine/ops/bodies/arrange.h"
#include "engine/ops/bodies/elementwise.h"
#include "engine/ops/bodies/experts.h"
#include "engine/ops/bodies/loss.h"
#include "engine/ops/bodies/optimizer.h"
#include "engine/ops/bodies/rows.h"

/// Calls X(Body) for each of them.
#define SHARDBOARD_SHARED_BODIES(X)                                                                                                \
    X(EachBody)                                                                                                                    \
    X(MoveBody)                                                                                                                    \
    X(RouteBody)                                                                                                                   \
    X(NormBody)                                                                                                                    \
    X(NormGradientBody)                                                                                                            \
    X(LossBody)                                                                                                                    \
    X(AdamBody)                                                                                                                    \
    X(GateBody)                                                                                                                    \
    X(GateDotBody)                                                                                                                 \
    X(ExpertBiasBody)                                                                                                              \
    X(RowScaleBody)                                                                                                                \
    X(ColumnSumBody)                                                                                                               \
    X(ColumnTotalBody)                                                                                                             \
    X(RopeBody)                                                                                                                    \
    X(EmbeddingBody)                                                                                                               \
    X(EmbeddingGradientBody)

namespace shardboard::engine::bodies {

/// The items [first, last) of an entry, on the CPU.
#define SHARDBOARD_RUN(Body) void runItems(const Body& body, std::int64_t entry, std::int64_t first, std::int64_t last);
SHARDBOARD_SHARED_BODIES(SHARDBOARD_RUN)
#undef SHARDBOARD_RUN

} // namespace shardboard::engine::bodies

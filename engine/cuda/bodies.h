// SPDX-License-Identifier: Apache-2.0
// All kernels. A body is called as body(lanes, item, entry): its lanes share an item, and its entries are a table, most often
// one for each logical device, so that one launch works for all of them. Items that an entry does not have are skipped.
#pragma once

#include "engine/cuda/bodies/arrange.h"
#include "engine/cuda/bodies/attention.h"
#include "engine/cuda/bodies/compare.h"
#include "engine/cuda/bodies/elementwise.h"
#include "engine/cuda/bodies/exchange.h"
#include "engine/cuda/bodies/experts.h"
#include "engine/cuda/bodies/fill.h"
#include "engine/cuda/bodies/loss.h"
#include "engine/cuda/bodies/rows.h"

/// Calls X(Body) for every body that is launched.
#define SHARDBOARD_CUDA_BODIES(X)                                                                                                  \
    X(FillBody)                                                                                                                    \
    X(EachBody)                                                                                                                    \
    X(ExchangeBody<1>)                                                                                                             \
    X(ExchangeBody<2>)                                                                                                             \
    X(ExchangeBody<4>)                                                                                                             \
    X(ExchangeBody<8>)                                                                                                             \
    X(NormBody)                                                                                                                    \
    X(NormGradientBody)                                                                                                            \
    X(RowScaleBody)                                                                                                                \
    X(ColumnSumBody)                                                                                                               \
    X(ColumnTotalBody)                                                                                                             \
    X(MoveBody)                                                                                                                    \
    X(RopeBody)                                                                                                                    \
    X(EmbeddingBody)                                                                                                               \
    X(EmbeddingGradientBody)                                                                                                       \
    X(AdamBody)                                                                                                                    \
    X(LossBody)                                                                                                                    \
    X(ProbabilityBody)                                                                                                             \
    X(ScoreGradientBody)                                                                                                           \
    X(HeadRowBody)                                                                                                                 \
    X(SumBody)                                                                                                                     \
    X(StateBody)                                                                                                                   \
    X(GateBody)                                                                                                                    \
    X(RouteBody)                                                                                                                   \
    X(GateDotBody)                                                                                                                 \
    X(ExpertBiasBody)                                                                                                              \
    X(CompareBody)

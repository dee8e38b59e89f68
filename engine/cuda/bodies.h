// SPDX-License-Identifier: Apache-2.0
// All kernels. A body is called as body(lanes, item, entry): its lanes share an item, and its entries are a table, most often
// one for each logical device, so that one launch works for all of them. Items that an entry does not have are skipped.
#pragma once

#include "engine/ops/bodies/attention.h"
#include "engine/ops/bodies/compare.h"
#include "engine/ops/bodies/exchange.h"
#include "engine/ops/bodies/fill.h"
#include "engine/ops/bodies/shared.h"

/// Calls X(Body) for every body that is launched.
#define SHARDBOARD_CUDA_BODIES(X)                                                                                                  \
    X(FillBody)                                                                                                                    \
    SHARDBOARD_SHARED_BODIES(X)                                                                                                    \
    X(ExchangeBody<1>)                                                                                                             \
    X(ExchangeBody<2>)                                                                                                             \
    X(ExchangeBody<4>)                                                                                                             \
    X(ExchangeBody<8>)                                                                                                             \
    X(ProbabilityBody)                                                                                                             \
    X(ScoreGradientBody)                                                                                                           \
    X(HeadRowBody)                                                                                                                 \
    X(SumBody)                                                                                                                     \
    X(StateBody)                                                                                                                   \
    X(CompareBody)

// SPDX-License-Identifier: Apache-2.0
// What does the work of an operation. An operation names it once, in bodyOf(); every backend has a function for each, so that the
// compiler says what is missing.
#pragma once

#include "model/ops/graph.h"

namespace shardboard::engine {

/// Calls X(OpBody) for all of them, in order.
#define SHARDBOARD_OP_BODIES(X)                                                                                                    \
    X(Elementwise) /* all of engine/ops/bodies/elementwise.h */                                                                    \
    X(Output) /* Output, GatherLast, ReduceGrad; takes no time */                                                                  \
    X(Heads) /* SplitHeads, MergeHeads */                                                                                          \
    X(Groups) /* SplitGroups, MergeGroups */                                                                                       \
    X(Norm)                                                                                                                        \
    X(NormGradient)                                                                                                                \
    X(RowSum) /* of norms' weights, and SumLeading */                                                                              \
    X(Slice) /* SliceLast, EveryOther, LastToken */                                                                                \
    X(Join) /* JoinLast, JoinKeys */                                                                                               \
    X(Pad) /* PadLast, SpreadOther */                                                                                              \
    X(SumHeads)                                                                                                                    \
    X(Embedding)                                                                                                                   \
    X(EmbeddingGrad)                                                                                                               \
    X(Linear)                                                                                                                      \
    X(LinearGradX)                                                                                                                 \
    X(LinearGradW)                                                                                                                 \
    X(Absorb) /* AbsorbKeys, AbsorbValues */                                                                                       \
    X(Rope)                                                                                                                        \
    X(KvAppend)                                                                                                                    \
    X(Attention)                                                                                                                   \
    X(AttentionGradient)                                                                                                           \
    X(Gates)                                                                                                                       \
    X(GatesGrad)                                                                                                                   \
    X(Dispatch)                                                                                                                    \
    X(DispatchGrad)                                                                                                                \
    X(Combine)                                                                                                                     \
    X(CombineGradY)                                                                                                                \
    X(CombineGradGates)                                                                                                            \
    X(ExpertLinear)                                                                                                                \
    X(ExpertLinearGradW)                                                                                                           \
    X(ExpertBias)                                                                                                                  \
    X(ExpertBiasGrad)                                                                                                              \
    X(Loss) /* the pieces of cross-entropy */                                                                                      \
    X(AdamStep) /* AdamStep, SgdStep */                                                                                            \
    X(HeadScale)                                                                                                                   \
    X(HeadRows) /* HeadGate, HeadOuter and their gradients */                                                                      \
    X(HeadScaleGradW)                                                                                                              \
    X(AddPositions)                                                                                                                \
    X(AddPositionsGrad)                                                                                                            \
    X(CausalConv) /* CausalConv, CausalConvGradX */                                                                                \
    X(CausalConvGradW)                                                                                                             \
    X(StateScan)                                                                                                                   \
    X(StateScanGradient)                                                                                                           \
    X(StateAppend)                                                                                                                 \
    X(StateRead)

#define SHARDBOARD_OP_BODY(Body) Body,
enum class OpBody { SHARDBOARD_OP_BODIES(SHARDBOARD_OP_BODY) };
#undef SHARDBOARD_OP_BODY

OpBody bodyOf(OpKind kind);

} // namespace shardboard::engine

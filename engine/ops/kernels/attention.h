// SPDX-License-Identifier: Apache-2.0
// Attention of one head with all its keys, and its gradients, which work out the probabilities again. The blockwise form is
// in ringattention.h.
#pragma once

#include "engine/ops/kernels/attentionblock.h"

namespace shardboard::engine {

/// out [queries, valueDim] = softmax(scale q kT over the keys that a query sees) v. A `sink` (may be null) is one more logit
/// that has no value. A query that sees nothing gets zeros. `scratch` holds attentionScratch(block.keys) floats.
void attendHead(const AttentionBlock& block, ConstRows q, ConstRows k, ConstRows v, const float* sink, float* scratch, Rows out);

/// What is null is left out, and what only it needs is not computed.
struct AttentionGradients {
    Rows dq; ///< [queries, headDim], written
    Rows dk; ///< [keys, headDim], added to: over the query heads of a KV head, and over ranges of queries
    Rows dv; ///< [keys, valueDim], added to
    float* dSink = nullptr; ///< added to
};

/// The gradients for dy [queries, valueDim].
void attendHeadBackward(const AttentionBlock& block, ConstRows q, ConstRows k, ConstRows v, const float* sink, ConstRows dy,
                        float* scratch, const AttentionGradients& gradients);

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
// Attention over keys and values that arrive block by block, as in a ring of devices that each hold a part of the sequence:
// a running maximum, sum and weighted sum of values stand for the blocks seen so far, in any order of the blocks.
//   forward:   ringStart, ringAttend for every block, ringFinish
//   backward:  ringDots, ringBackward for every block (with the state that the forward pass left), ringSinkGradient
#pragma once

#include "engine/ops/kernels/attention.h"

namespace shardboard::engine {

/// For each query the highest logit and the sum of e^(logit - highest), and the sum of e^(logit - highest) * value, which
/// ringFinish turns into the result.
struct RingState {
    float* highest = nullptr; ///< [queries]
    float* sum = nullptr; ///< [queries]
    Rows out; ///< [queries, valueDim]
};

/// Nothing seen yet but the sink, which may be null; in a ring or merge only one state starts with it.
void ringStart(std::int64_t queries, std::int64_t valueDim, const float* sink, const RingState& state);
/// One more block of keys and values; its positions are in `block`. `scratch` holds attentionScratch(block.keys) floats.
void ringAttend(const AttentionBlock& block, ConstRows q, ConstRows k, ConstRows v, float* scratch, const RingState& state);
/// What `other` has seen is added to `state`: of devices that each saw some of the keys (decoding with a cut cache).
void ringMerge(std::int64_t queries, std::int64_t valueDim, const float* otherHighest, const float* otherSum, ConstRows otherOut,
               const RingState& state);
/// out becomes the result; highest and sum stay for the backward pass. A query that saw nothing gets zeros.
void ringFinish(std::int64_t queries, std::int64_t valueDim, const RingState& state);

/// dots[query] = sum of dy * out, with the finished out.
void ringDots(std::int64_t queries, std::int64_t valueDim, ConstRows dy, ConstRows out, float* dots);
/// Adds one block's part to gradients.dq, and to the block's dk and dv (those that are not null; dSink is not used). `highest` and
/// `sum` are those after all blocks.
void ringBackward(const AttentionBlock& block, ConstRows q, ConstRows k, ConstRows v, ConstRows dy, const float* highest,
                  const float* sum, const float* dots, float* scratch, const AttentionGradients& gradients);
/// The gradient of the sink for these queries.
float ringSinkGradient(std::int64_t queries, float sink, const float* highest, const float* sum, const float* dots);

} // namespace shardboard::engine

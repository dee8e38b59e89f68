// SPDX-License-Identifier: Apache-2.0
// The pieces that the whole and the blockwise attention share. Not for callers of the kernels.
#pragma once

#include "engine/ops/kernels/attention.h"

namespace shardboard::engine {

/// A few queries of a block and the keys that at least one of them sees: rows of the scores are keyCount long.
struct QueryPiece {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t firstKey = 0;
    std::int64_t keyCount = 0;

    /// The keys that row `row` of the piece sees, as columns of the scores.
    std::int64_t seenFrom(const AttentionBlock& block, std::int64_t row) const
    {
        return std::clamp<std::int64_t>(block.seenFrom(first + row) - firstKey, 0, keyCount);
    }
    std::int64_t seenTo(const AttentionBlock& block, std::int64_t row) const
    {
        return std::clamp<std::int64_t>(block.seenTo(first + row) - firstKey, 0, keyCount);
    }
};

QueryPiece queryPiece(const AttentionBlock& block, std::int64_t first);

inline ConstRows from(ConstRows rows, std::int64_t first) { return { rows.data + first * rows.stride, rows.stride }; }
inline Rows from(Rows rows, std::int64_t first) { return { rows.data + first * rows.stride, rows.stride }; }

/// scores = scale q kT of a piece.
void pieceScores(const AttentionBlock& block, const QueryPiece& piece, ConstRows q, ConstRows k, float* scores);

/// The slopes of the cap at capped scores.
void pieceCapSlopes(const AttentionBlock& block, const QueryPiece& piece, const float* scores, float* capSlopes);

/// The scores' gradients from the probabilities: slopes = dy vT, then probability * (slope - dot of the row) * scale. `dots`
/// are the sums of slope * probability of the rows, or where it is null they are worked out and left in `dotsOut`. Where the
/// block has a cap, times `capSlopes`.
void pieceSlopes(const AttentionBlock& block, const QueryPiece& piece, const float* probabilities, ConstRows v, ConstRows dy,
                 const float* capSlopes, const float* dots, float* dotsOut, float* slopes);

/// All but dv come from the scores' gradients.
inline bool needsSlopes(const AttentionGradients& gradients)
{
    return gradients.dq.data != nullptr || gradients.dk.data != nullptr || gradients.dSink != nullptr;
}

/// dq (written, or added to with `addToQueries`), dk and dv from probabilities and the scores' gradients.
void pieceGradients(const AttentionBlock& block, const QueryPiece& piece, const float* probabilities, const float* slopes,
                    ConstRows q, ConstRows k, ConstRows dy, bool addToQueries, const AttentionGradients& gradients);

} // namespace shardboard::engine

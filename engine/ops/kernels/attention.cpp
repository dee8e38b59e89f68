// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/attention.h"

#include "engine/machine/gemm.h"
#include "engine/ops/kernels/attentionscores.h"
#include "engine/ops/kernels/capped.h"
#include "engine/ops/kernels/lanes.h"
#include "engine/simd/simd.h"
#include "engine/simd/vectors.h"

#include <algorithm>
#include <cmath>

namespace shardboard::engine {

void scoreGradientRow(const float* probabilities, float dot, float scale, std::int64_t n, float* slopes);

/// slopes = probabilities * (slopes - dot) * scale
SHARDBOARD_CLONES void scoreGradientRow(const float* probabilities, float dot, float scale, std::int64_t n, float* slopes)
{
    for (std::int64_t i = 0; i < n; ++i)
        slopes[i] = probabilities[i] * (slopes[i] - dot) * scale;
}

QueryPiece queryPiece(const AttentionBlock& block, std::int64_t first)
{
    const std::int64_t count = std::min(attentionStep(block.keys), block.queries - first);
    const std::int64_t lo = block.seenFrom(first);
    return { first, count, lo, std::max<std::int64_t>(0, block.seenTo(first + count - 1) - lo) };
}

void pieceScores(const AttentionBlock& block, const QueryPiece& piece, ConstRows q, ConstRows k, float* scores)
{
    sgemm(false, true, piece.count, piece.keyCount, block.headDim, block.scaleOfScores(), from(q, piece.first).data, q.stride,
          from(k, piece.firstKey).data, k.stride, 0, scores, piece.keyCount);
    if (block.slope != 0)
        for (std::int64_t row = 0; row < piece.count; ++row)
            for (std::int64_t key = 0; key < piece.keyCount; ++key)
                scores[row * piece.keyCount + key] += static_cast<float>(
                    block.slope
                    * static_cast<double>(block.firstKey + piece.firstKey + key - block.firstQuery - piece.first - row));
    if (block.cap > 0)
        softCapRow(scores, static_cast<float>(block.cap), piece.count * piece.keyCount, scores);
}

void pieceCapSlopes(const AttentionBlock& block, const QueryPiece& piece, const float* scores, float* capSlopes)
{
    if (block.cap > 0)
        capSlopeRow(scores, static_cast<float>(block.cap), piece.count * piece.keyCount, capSlopes);
}

void pieceSlopes(const AttentionBlock& block, const QueryPiece& piece, const float* probabilities, ConstRows v, ConstRows dy,
                 const float* capSlopes, const float* dots, float* dotsOut, float* slopes)
{
    const std::int64_t n = piece.keyCount;
    sgemm(false, true, piece.count, n, block.valueDim, 1, from(dy, piece.first).data, dy.stride, from(v, piece.firstKey).data,
          v.stride, 0, slopes, n);
    float lanes[kLanes];
    for (std::int64_t row = 0; row < piece.count; ++row) {
        const std::int64_t lo = piece.seenFrom(block, row);
        const std::int64_t hi = std::max(lo, piece.seenTo(block, row));
        const float* p = probabilities + row * n;
        float* s = slopes + row * n;
        float dot = dots != nullptr ? dots[row] : 0.0f;
        if (dots == nullptr) {
            sumOfProducts(p + lo, s + lo, hi - lo, lanes);
            dot = static_cast<float>(sumLanes(lanes));
            dotsOut[row] = dot;
        }
        std::fill(s, s + lo, 0.0f);
        scoreGradientRow(p + lo, dot, block.scaleOfScores(), hi - lo, s + lo);
        if (block.cap > 0)
            mulRow(s + lo, capSlopes + row * n + lo, hi - lo, s + lo);
        std::fill(s + hi, s + n, 0.0f);
    }
}

void pieceGradients(const AttentionBlock& block, const QueryPiece& piece, const float* probabilities, const float* slopes,
                    ConstRows q, ConstRows k, ConstRows dy, bool addToQueries, const AttentionGradients& gradients)
{
    const std::int64_t n = piece.keyCount;
    if (gradients.dq.data != nullptr)
        sgemm(false, false, piece.count, block.headDim, n, 1, slopes, n, from(k, piece.firstKey).data, k.stride,
              addToQueries ? 1.0f : 0.0f, from(gradients.dq, piece.first).data, gradients.dq.stride);
    if (gradients.dk.data != nullptr)
        sgemm(true, false, n, block.headDim, piece.count, 1, slopes, n, from(q, piece.first).data, q.stride, 1,
              from(gradients.dk, piece.firstKey).data, gradients.dk.stride);
    if (gradients.dv.data != nullptr)
        sgemm(true, false, n, block.valueDim, piece.count, 1, probabilities, n, from(dy, piece.first).data, dy.stride, 1,
              from(gradients.dv, piece.firstKey).data, gradients.dv.stride);
}

namespace {

/// Turns a row of scores into probabilities; what is not seen becomes 0. The sink's probability is returned.
float probabilityRow(float* scores, std::int64_t lo, std::int64_t hi, std::int64_t n, const float* sink)
{
    std::fill(scores, scores + std::min(lo, n), 0.0f);
    std::fill(scores + std::max(lo, hi), scores + n, 0.0f);
    if (hi <= lo)
        return sink != nullptr ? 1.0f : 0.0f;
    float highest = highestOf(scores + lo, hi - lo);
    if (sink != nullptr)
        highest = std::max(highest, *sink);
    float lanes[kLanes];
    expRow(scores + lo, hi - lo, highest, lanes);
    const double atSink = sink != nullptr ? std::exp(double { *sink } - double { highest }) : 0;
    const double sum = sumLanes(lanes) + atSink;
    scaleRow(scores + lo, static_cast<float>(1.0 / sum), hi - lo, scores + lo);
    return static_cast<float>(atSink / sum);
}

} // namespace

void attendHead(const AttentionBlock& block, ConstRows q, ConstRows k, ConstRows v, const float* sink, float* scratch, Rows out)
{
    const std::int64_t step = attentionStep(block.keys);
    for (std::int64_t first = 0; first < block.queries; first += step) {
        const QueryPiece piece = queryPiece(block, first);
        pieceScores(block, piece, q, k, scratch);
        for (std::int64_t row = 0; row < piece.count; ++row)
            probabilityRow(scratch + row * piece.keyCount, piece.seenFrom(block, row), piece.seenTo(block, row), piece.keyCount,
                           sink);
        sgemm(false, false, piece.count, block.valueDim, piece.keyCount, 1, scratch, piece.keyCount, from(v, piece.firstKey).data,
              v.stride, 0, from(out, first).data, out.stride);
    }
}

void attendHeadBackward(const AttentionBlock& block, ConstRows q, ConstRows k, ConstRows v, const float* sink, ConstRows dy,
                        float* scratch, const AttentionGradients& gradients)
{
    const std::int64_t step = attentionStep(block.keys);
    float* probabilities = scratch;
    float* slopes = probabilities + step * block.keys;
    float* dots = slopes + step * block.keys;
    float* atSink = dots + step;
    float* capSlopes = atSink + step;
    double dSink = 0;
    for (std::int64_t first = 0; first < block.queries; first += step) {
        const QueryPiece piece = queryPiece(block, first);
        pieceScores(block, piece, q, k, probabilities);
        if (needsSlopes(gradients))
            pieceCapSlopes(block, piece, probabilities, capSlopes);
        for (std::int64_t row = 0; row < piece.count; ++row)
            atSink[row] = probabilityRow(probabilities + row * piece.keyCount, piece.seenFrom(block, row), piece.seenTo(block, row),
                                         piece.keyCount, sink);
        if (needsSlopes(gradients))
            pieceSlopes(block, piece, probabilities, v, dy, capSlopes, nullptr, dots, slopes);
        pieceGradients(block, piece, probabilities, slopes, q, k, dy, false, gradients);
        for (std::int64_t row = 0; row < piece.count && gradients.dSink != nullptr; ++row)
            dSink -= double { atSink[row] } * double { dots[row] };
    }
    if (gradients.dSink != nullptr)
        *gradients.dSink += static_cast<float>(dSink);
}

} // namespace shardboard::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/ringattention.h"

#include "engine/machine/gemm.h"
#include "engine/ops/kernels/attentionscores.h"
#include "engine/ops/kernels/lanes.h"
#include "engine/simd/vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardboard::engine {

namespace {

/// What a sum that was kept relative to `from` is multiplied with to be relative to `to`; nothing seen counts 0.
float rescale(float from, float to)
{
    return from == -std::numeric_limits<float>::infinity() ? 0.0f : static_cast<float>(std::exp(double { from } - double { to }));
}

} // namespace

void ringStart(std::int64_t queries, std::int64_t valueDim, const float* sink, const RingState& state)
{
    std::fill(state.highest, state.highest + queries, sink != nullptr ? *sink : -std::numeric_limits<float>::infinity());
    std::fill(state.sum, state.sum + queries, sink != nullptr ? 1.0f : 0.0f);
    for (std::int64_t query = 0; query < queries; ++query)
        std::fill_n(from(state.out, query).data, valueDim, 0.0f);
}

void ringAttend(const AttentionBlock& block, ConstRows q, ConstRows k, ConstRows v, float* scratch, const RingState& state)
{
    const std::int64_t step = attentionStep(block.keys);
    float lanes[kLanes];
    for (std::int64_t first = 0; first < block.queries; first += step) {
        const QueryPiece piece = queryPiece(block, first);
        const std::int64_t n = piece.keyCount;
        if (n == 0)
            continue; // none of these queries sees a key of the block
        pieceScores(block, piece, q, k, scratch);
        for (std::int64_t row = 0; row < piece.count; ++row) {
            float* scores = scratch + row * n;
            const std::int64_t lo = piece.seenFrom(block, row);
            const std::int64_t hi = std::max(lo, piece.seenTo(block, row));
            std::fill(scores, scores + lo, 0.0f);
            std::fill(scores + hi, scores + n, 0.0f);
            if (hi == lo)
                continue;
            float& highest = state.highest[first + row];
            float& sum = state.sum[first + row];
            const float reached = std::max(highest, highestOf(scores + lo, hi - lo));
            const float factor = rescale(highest, reached);
            expRow(scores + lo, hi - lo, reached, lanes);
            sum = static_cast<float>(double { sum } * double { factor } + sumLanes(lanes));
            highest = reached;
            if (factor != 1)
                scaleRow(from(state.out, first + row).data, factor, block.valueDim, from(state.out, first + row).data);
        }
        sgemm(false, false, piece.count, block.valueDim, n, 1, scratch, n, from(v, piece.firstKey).data, v.stride, 1,
              from(state.out, first).data, state.out.stride);
    }
}

void ringMerge(std::int64_t queries, std::int64_t valueDim, const float* otherHighest, const float* otherSum, ConstRows otherOut,
               const RingState& state)
{
    for (std::int64_t query = 0; query < queries; ++query) {
        const float reached = std::max(state.highest[query], otherHighest[query]);
        const float mine = rescale(state.highest[query], reached);
        const float theirs = rescale(otherHighest[query], reached);
        state.highest[query] = reached;
        state.sum[query] = state.sum[query] * mine + otherSum[query] * theirs;
        float* out = from(state.out, query).data;
        const float* other = from(otherOut, query).data;
        for (std::int64_t i = 0; i < valueDim; ++i)
            out[i] = out[i] * mine + other[i] * theirs;
    }
}

void ringFinish(std::int64_t queries, std::int64_t valueDim, const RingState& state)
{
    for (std::int64_t query = 0; query < queries; ++query) {
        float* out = from(state.out, query).data;
        scaleRow(out, state.sum[query] == 0 ? 0.0f : 1.0f / state.sum[query], valueDim, out);
    }
}

void ringDots(std::int64_t queries, std::int64_t valueDim, ConstRows dy, ConstRows out, float* dots)
{
    float lanes[kLanes];
    for (std::int64_t query = 0; query < queries; ++query) {
        sumOfProducts(from(dy, query).data, from(out, query).data, valueDim, lanes);
        dots[query] = static_cast<float>(sumLanes(lanes));
    }
}

void ringBackward(const AttentionBlock& block, ConstRows q, ConstRows k, ConstRows v, ConstRows dy, const float* highest,
                  const float* sum, const float* dots, float* scratch, const AttentionGradients& gradients)
{
    const std::int64_t step = attentionStep(block.keys);
    float* probabilities = scratch;
    float* slopes = probabilities + step * block.keys;
    float* capSlopes = slopes + step * block.keys;
    float lanes[kLanes];
    for (std::int64_t first = 0; first < block.queries; first += step) {
        const QueryPiece piece = queryPiece(block, first);
        const std::int64_t n = piece.keyCount;
        if (n == 0)
            continue;
        pieceScores(block, piece, q, k, probabilities);
        if (needsSlopes(gradients))
            pieceCapSlopes(block, piece, probabilities, capSlopes);
        for (std::int64_t row = 0; row < piece.count; ++row) {
            float* p = probabilities + row * n;
            const std::int64_t lo = piece.seenFrom(block, row);
            const std::int64_t hi = std::max(lo, piece.seenTo(block, row));
            std::fill(p, p + lo, 0.0f);
            std::fill(p + hi, p + n, 0.0f);
            if (hi == lo)
                continue;
            expRow(p + lo, hi - lo, highest[first + row], lanes);
            scaleRow(p + lo, 1.0f / sum[first + row], hi - lo, p + lo);
        }
        if (needsSlopes(gradients))
            pieceSlopes(block, piece, probabilities, v, dy, capSlopes, dots + first, nullptr, slopes);
        pieceGradients(block, piece, probabilities, slopes, q, k, dy, true, gradients);
    }
}

float ringSinkGradient(std::int64_t queries, float sink, const float* highest, const float* sum, const float* dots)
{
    double gradient = 0;
    for (std::int64_t query = 0; query < queries; ++query)
        gradient -= std::exp(double { sink } - double { highest[query] }) / double { sum[query] } * double { dots[query] };
    return static_cast<float>(gradient);
}

} // namespace shardboard::engine

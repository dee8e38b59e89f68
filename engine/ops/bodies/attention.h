// SPDX-License-Identifier: Apache-2.0
// What attention does between its matrix products, row by row of the scores. The unit of a launch is a query head of a sequence
// on a device, with some of its queries.
#pragma once

#include "engine/ops/bodies/fill.h"

#include <math.h>

namespace shardboard::engine::bodies {

struct AttentionRows {
    float* scores = nullptr; ///< [rows, ld], of which the first n columns are
    float* slopes = nullptr; ///< for gradients: dy vT, likewise
    Elements out; ///< probabilities or the scores' gradients, likewise; n columns are written
    const float* sink = nullptr; ///< one more logit without a value, or null
    float* highest = nullptr; ///< of every row the highest logit so far; null: all keys are here
    float* sum = nullptr; ///< and the sum of e^(logit - highest)
    const float* dots = nullptr; ///< of every row the sum of dy * result; null: worked out
    float* result = nullptr; ///< [rows, valueDim]: what the values came to so far, to be scaled with the sum
    float* rowValues = nullptr; ///< of every row the sink's gradient, or null
    std::int64_t rows = 0;
    std::int64_t n = 0;
    std::int64_t ld = 0;
    std::int64_t seen = 0; ///< keys that row 0 sees, row r sees r more; may be negative or more than there are
    std::int64_t resultStride = 0;
    std::int32_t valueDim = 0;
    std::int32_t sinkHalf = 0;
};

struct AttentionRule {
    float scale = 1; ///< that the scores have been multiplied by
    float cap = 0; ///< 0: none
};

SHARDBOARD_BOTH float cappedScore(const AttentionRule& rule, float score)
{
    return rule.cap > 0 ? rule.cap * tanhf(score / rule.cap) : score;
}

SHARDBOARD_BOTH std::int64_t seenBy(const AttentionRows& e, std::int64_t row) { return larger(0, smaller(e.n, e.seen + row)); }

SHARDBOARD_BOTH float sinkOf(const AttentionRows& e)
{
    Elements sink;
    sink.data = const_cast<float*>(e.sink);
    sink.half = e.sinkHalf;
    return sink.at(0);
}

template <class Lanes>
SHARDBOARD_BOTH float highestScore(const Lanes& lanes, const AttentionRule& rule, const float* row, std::int64_t seen, float start)
{
    float highest = -INFINITY;
    for (std::int64_t i = lanes.lane(); i < seen; i += lanes.count())
        highest = largerOf(highest, row[i]);
    highest = lanes.highest(highest);
    return largerOf(start, highest == -INFINITY ? highest : cappedScore(rule, highest)); // the cap keeps the order
}

template <class Lanes>
SHARDBOARD_BOTH typename Lanes::Sum sumOfScores(const Lanes& lanes, const AttentionRule& rule, const float* row, std::int64_t seen,
                                                float highest)
{
    typename Lanes::Sum sum = 0;
    for (std::int64_t i = lanes.lane(); i < seen; i += lanes.count())
        sum += expf(cappedScore(rule, row[i]) - highest);
    return lanes.sum(sum);
}

/// Scores to probabilities. With running maxima and sums: to e^(score - highest), and what the values came to so far is scaled
/// to the new maximum.
struct ProbabilityBody {
    using Entry = AttentionRows;
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    AttentionRule rule;
    std::int32_t finished = 0; ///< 1: the maxima and sums are those of all keys already

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t unit) const
    {
        const Entry& e = entries[unit];
        if (row >= e.rows)
            return;
        const float* scores = e.scores + row * e.ld;
        const std::int64_t seen = seenBy(e, row);
        if (finished != 0) {
            const float top = e.highest[row];
            const float part = e.sum[row] > 0 ? 1.0f / e.sum[row] : 0.0f;
            for (std::int64_t i = lanes.lane(); i < e.n; i += lanes.count())
                e.out.set(row * e.ld + i, i < seen && part > 0 ? expf(cappedScore(rule, scores[i]) - top) * part : 0.0f);
            return;
        }
        const float before = e.highest != nullptr ? e.highest[row] : e.sink != nullptr ? sinkOf(e) : -INFINITY;
        const float highest = highestScore(lanes, rule, scores, seen, before);
        float factor = 0;
        if (highest > -INFINITY) {
            const double sum = static_cast<double>(sumOfScores(lanes, rule, scores, seen, highest));
            if (e.highest != nullptr) {
                const float keep = expf(before - highest);
                if (keep != 1.0f)
                    for (std::int64_t i = lanes.lane(); i < e.valueDim; i += lanes.count())
                        e.result[row * e.resultStride + i] *= keep;
                factor = 1;
                lanes.hostBarrier();
                if (lanes.lane() == 0) {
                    e.sum[row] = static_cast<float>(static_cast<double>(e.sum[row]) * static_cast<double>(keep) + sum);
                    e.highest[row] = highest;
                }
            } else {
                const double atSink = e.sink != nullptr ? static_cast<double>(expf(sinkOf(e) - highest)) : 0.0;
                factor = static_cast<float>(1.0 / (sum + atSink));
            }
        }
        for (std::int64_t i = lanes.lane(); i < e.n; i += lanes.count())
            e.out.set(row * e.ld + i, i < seen && factor > 0 ? expf(cappedScore(rule, scores[i]) - highest) * factor : 0.0f);
    }
};

/// The scores' gradients: probability * (slope - dot) * scale, times the slope of the cap.
struct ScoreGradientBody {
    using Entry = AttentionRows;
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;
    AttentionRule rule;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t unit) const
    {
        const Entry& e = entries[unit];
        if (row >= e.rows)
            return;
        const float* scores = e.scores + row * e.ld;
        const float* slopes = e.slopes + row * e.ld;
        const std::int64_t seen = seenBy(e, row);
        float highest = 0;
        double sum = 0;
        if (e.highest != nullptr) {
            highest = e.highest[row];
            sum = static_cast<double>(e.sum[row]);
        } else {
            highest = highestScore(lanes, rule, scores, seen, e.sink != nullptr ? sinkOf(e) : -INFINITY);
            sum = static_cast<double>(sumOfScores(lanes, rule, scores, seen, highest));
            if (e.sink != nullptr)
                sum += static_cast<double>(expf(sinkOf(e) - highest));
        }
        const float factor = sum > 0 ? static_cast<float>(1.0 / sum) : 0.0f;
        float dot = 0;
        if (e.dots != nullptr) {
            dot = e.dots[row];
        } else {
            typename Lanes::Sum dots = 0;
            for (std::int64_t i = lanes.lane(); i < seen; i += lanes.count())
                dots += static_cast<typename Lanes::Sum>(expf(cappedScore(rule, scores[i]) - highest) * factor * slopes[i]);
            dot = static_cast<float>(lanes.sum(dots));
        }
        if (e.rowValues != nullptr && lanes.lane() == 0)
            e.rowValues[row] = -expf(sinkOf(e) - highest) * factor * dot;
        if (e.out.data == nullptr)
            return;
        for (std::int64_t i = lanes.lane(); i < e.n; i += lanes.count()) {
            float value = 0;
            if (i < seen) {
                const float score = cappedScore(rule, scores[i]);
                value = expf(score - highest) * factor * (slopes[i] - dot) * rule.scale;
                if (rule.cap > 0)
                    value *= 1.0f - score / rule.cap * (score / rule.cap);
            }
            e.out.set(row * e.ld + i, value);
        }
    }
};

/// Rows of a head: out = result / sum, or the dots dy * result; an item is a row.
struct HeadRowBody {
    struct Entry {
        const float* result = nullptr; ///< [rows, resultStride]
        const float* sum = nullptr; ///< null: the result is finished
        Elements out; ///< the finished result, or null
        Elements dy; ///< for dots
        float* finished = nullptr; ///< the result once more, as floats, in place
        float* dots = nullptr;
        std::int64_t rows = 0;
        std::int64_t resultStride = 0;
        std::int64_t outStride = 0;
        std::int64_t dyStride = 0;
        std::int64_t n = 0;
    };
    static constexpr int kLanes = kWarp;
    const Entry* entries = nullptr;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t row, std::int64_t unit) const
    {
        const Entry& e = entries[unit];
        if (row >= e.rows)
            return;
        const float sum = e.sum != nullptr ? e.sum[row] : 1.0f;
        const float factor = sum > 0 ? 1.0f / sum : 0.0f;
        typename Lanes::Sum dots = 0;
        for (std::int64_t i = lanes.lane(); i < e.n; i += lanes.count()) {
            const float value = e.result[row * e.resultStride + i] * factor;
            if (e.out.data != nullptr)
                e.out.set(row * e.outStride + i, value);
            if (e.dots != nullptr)
                dots += static_cast<typename Lanes::Sum>(value * e.dy.at(row * e.dyStride + i));
        }
        if (e.dots != nullptr) {
            dots = lanes.sum(dots);
            if (lanes.lane() == 0)
                e.dots[row] = static_cast<float>(dots);
        }
    }
};

/// Sums of contiguous floats, one for every entry: the gradients of sinks.
struct SumBody {
    struct Entry {
        const float* values = nullptr;
        Elements out; ///< element 0 is written
        std::int64_t count = 0;
        std::int64_t write = 0; ///< 0: nothing to do
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t unit) const
    {
        const Entry& e = entries[unit];
        if (item > 0 || e.write == 0)
            return;
        typename Lanes::Sum sum = 0;
        for (std::int64_t i = lanes.lane(); i < e.count; i += lanes.count())
            sum += e.values[i];
        sum = lanes.sum(sum);
        if (lanes.lane() == 0)
            e.out.set(0, static_cast<float>(sum));
    }
};

/// Running maxima and sums before the first keys: of a sink, or nothing.
struct StateBody {
    struct Entry {
        float* highest = nullptr;
        float* sum = nullptr;
        Elements sink; ///< element 0, or null
        std::int64_t rows = 0;
    };
    static constexpr int kLanes = kAll;
    const Entry* entries = nullptr;

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t unit) const
    {
        const Entry& e = entries[unit];
        for (std::int64_t i = item * kAll + lanes.lane(); i < smaller(e.rows, (item + 1) * kAll); i += lanes.count()) {
            e.highest[i] = e.sink.data != nullptr ? e.sink.at(0) : -INFINITY;
            e.sum[i] = e.sink.data != nullptr ? 1.0f : 0.0f;
        }
    }
};

} // namespace shardboard::engine::bodies

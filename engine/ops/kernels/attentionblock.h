// SPDX-License-Identifier: Apache-2.0
// What the attention kernels work on: one query head of one sequence against the keys and values of its KV head. Heads and
// ranges of the sequence are the caller's loops, so that a device with some heads or a part of the sequence runs the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shardboard::engine {

/// The rows of one head: row i is at data + i * stride. Of a tensor [B,S,h,d] the stride is h * d.
struct ConstRows {
    const float* data = nullptr;
    std::int64_t stride = 0;
};
struct Rows {
    float* data = nullptr;
    std::int64_t stride = 0;
    operator ConstRows() const { return { data, stride }; }
};

/// Sizes and positions. With C cached tokens of which S are new, and rows [s0, s1) of the queries on this device:
/// queries = s1 - s0, firstQuery = C - S + s0, keys = C, firstKey = 0.
struct AttentionBlock {
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::int64_t headDim = 0; ///< of queries and keys
    std::int64_t valueDim = 0; ///< of values and results
    std::int64_t firstQuery = 0; ///< position of the first query
    std::int64_t firstKey = 0; ///< position of the first key
    bool causal = true; ///< a query sees the keys up to its own position
    std::int64_t window = 0; ///< of these only the last `window`; 0: all
    double scale = 0; ///< of the scores; 0: 1 / sqrt(headDim)
    double slope = 0; ///< of ALiBi: scores fall by it for every token between query and key
    double cap = 0; ///< the scaled scores become cap * tanh(score / cap); 0: no cap

    float scaleOfScores() const { return static_cast<float>(scale != 0 ? scale : 1.0 / std::sqrt(static_cast<double>(headDim))); }
    /// The keys that a query sees: [lo, hi) of the block's keys, possibly none.
    std::int64_t seenFrom(std::int64_t query) const
    {
        return window <= 0 ? 0 : std::clamp<std::int64_t>(firstQuery + query - window + 1 - firstKey, 0, keys);
    }
    std::int64_t seenTo(std::int64_t query) const
    {
        return causal ? std::clamp<std::int64_t>(firstQuery + query - firstKey + 1, 0, keys) : keys;
    }
};

/// Of ALiBi: of n heads, n a power of 2, the powers of 2^(-8/n); else those of the next lower n, and between them as many of twice
/// as many heads as are wanted (arXiv 2108.12409, section 3; transformers' build_alibi_tensor).
inline double alibiSlope(std::int64_t head, std::int64_t heads)
{
    std::int64_t whole = 1;
    while (2 * whole <= heads)
        whole *= 2;
    const double n = static_cast<double>(whole);
    return head < whole ? std::exp2(-8.0 * static_cast<double>(head + 1) / n)
                        : std::exp2(-4.0 * static_cast<double>(2 * (head - whole) + 1) / n);
}

/// Queries that are worked on at once.
inline std::int64_t attentionStep(std::int64_t keys)
{
    return std::clamp<std::int64_t>((std::int64_t { 1 } << 19) / std::max<std::int64_t>(1, keys), 1, 128);
}
/// Floats of scratch memory that a call with up to this many keys needs, forward and backward.
inline std::int64_t attentionScratch(std::int64_t keys)
{
    constexpr std::int64_t most = 4096; // keys for which all 128 queries are taken
    return keys <= most ? 384 * (keys + 1) : std::max(384 * (most + 1), 3 * attentionStep(keys) * (keys + 1));
}

} // namespace shardboard::engine

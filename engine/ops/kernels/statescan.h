// SPDX-License-Identifier: Apache-2.0
// The recurrence of linear attention and state spaces (model/ops/recurrent.cpp) for one column of the values of one head, token by
// token: its state is a row of n elements. A plain loop: kernels of GPUs work on chunks of tokens, with the same result.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// A value of every token: token t's is at data[t * stride].
struct PerToken {
    const float* data = nullptr;
    std::int64_t stride = 0;
    const float* at(std::int64_t t) const { return data + t * stride; }
};
struct PerTokenOut {
    float* data = nullptr;
    std::int64_t stride = 0;
    float* at(std::int64_t t) const { return data + t * stride; }
};

struct StateScanColumn {
    std::int64_t tokens = 0;
    std::int64_t n = 0; ///< elements of a key
    std::int64_t decays = 1; ///< of a token; each is for n / decays elements
    bool delta = false;
    float scale = 1; ///< of the result
    PerToken q, k, v, decay, rate;
};

/// `state` [n] is where the scan begins and, afterwards, where it ends. No result: only the state is wanted.
void scanForward(const StateScanColumn& column, float* state, PerTokenOut y);

/// What is null is left out. All are added to.
struct StateScanGradients {
    PerTokenOut dq, dk, dv, dDecay, dRate;
};
inline std::int64_t scanBackwardScratch(std::int64_t tokens, std::int64_t n) { return (tokens + 3) * n; }
/// From a state of zeros. `scratch` holds scanBackwardScratch() floats.
void scanBackward(const StateScanColumn& column, PerToken dy, float* scratch, const StateScanGradients& gradients);

} // namespace shardboard::engine

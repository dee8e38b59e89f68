// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/kernels/statescan.h"

#include <algorithm>
#include <cmath>

namespace shardboard::engine {

namespace {

/// The state after token t from the one before, in place.
void advance(const StateScanColumn& c, std::int64_t t, float* state)
{
    const float* k = c.k.at(t);
    const float* decay = c.decay.at(t);
    const std::int64_t each = c.n / c.decays;
    float under = 0; // what the state has under this key
    for (std::int64_t part = 0; part < c.decays; ++part) {
        const float factor = std::exp(decay[part]);
        for (std::int64_t i = part * each; i < (part + 1) * each; ++i) {
            state[i] *= factor;
            under += k[i] * state[i];
        }
    }
    const float written = *c.rate.at(t) * (*c.v.at(t) - (c.delta ? under : 0.0f));
    for (std::int64_t i = 0; i < c.n; ++i)
        state[i] += k[i] * written;
}

float dot(const float* a, const float* b, std::int64_t n)
{
    float sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

void add(const PerTokenOut& to, std::int64_t t, const float* values, float factor, std::int64_t n)
{
    if (to.data != nullptr)
        for (std::int64_t i = 0; i < n; ++i)
            to.at(t)[i] += factor * values[i];
}

} // namespace

void scanForward(const StateScanColumn& column, float* state, PerTokenOut y)
{
    for (std::int64_t t = 0; t < column.tokens; ++t) {
        advance(column, t, state);
        if (y.data != nullptr)
            *y.at(t) = column.scale * dot(column.q.at(t), state, column.n);
    }
}

void scanBackward(const StateScanColumn& c, PerToken dy, float* scratch, const StateScanGradients& out)
{
    const std::int64_t n = c.n;
    float* const states = scratch; // before the first token, then after each
    float* const slope = scratch + (c.tokens + 1) * n; // of the state after the token that is worked on
    float* const decayed = slope + n; // the state before that token, decayed
    std::fill(states, states + n, 0.0f);
    for (std::int64_t t = 0; t < c.tokens; ++t) {
        std::copy_n(states + t * n, n, states + (t + 1) * n);
        advance(c, t, states + (t + 1) * n);
    }
    std::fill(slope, slope + n, 0.0f);
    for (std::int64_t t = c.tokens; t-- > 0;) {
        const float* const after = states + (t + 1) * n;
        const float* const k = c.k.at(t);
        const float fromResult = c.scale * *dy.at(t);
        add(out.dq, t, after, fromResult, n);
        const float* const q = c.q.at(t);
        for (std::int64_t i = 0; i < n; ++i)
            slope[i] += fromResult * q[i];
        const std::int64_t each = n / c.decays;
        const float* const decay = c.decay.at(t);
        for (std::int64_t i = 0; i < n; ++i)
            decayed[i] = states[t * n + i] * std::exp(decay[i / each]);
        const float along = dot(k, slope, n);
        const float rate = *c.rate.at(t);
        const float written = *c.v.at(t) - (c.delta ? dot(k, decayed, n) : 0.0f);
        if (out.dRate.data != nullptr)
            *out.dRate.at(t) += written * along;
        if (out.dv.data != nullptr)
            *out.dv.at(t) += rate * along;
        add(out.dk, t, slope, rate * written, n);
        if (c.delta)
            add(out.dk, t, decayed, -rate * along, n);
        for (std::int64_t i = 0; i < n; ++i) {
            const float ofDecayed = slope[i] - (c.delta ? rate * along * k[i] : 0.0f);
            if (out.dDecay.data != nullptr)
                out.dDecay.at(t)[i / each] += ofDecayed * decayed[i];
            slope[i] = ofDecayed * std::exp(decay[i / each]);
        }
    }
}

} // namespace shardboard::engine

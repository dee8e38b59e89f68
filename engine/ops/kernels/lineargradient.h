// SPDX-License-Identifier: Apache-2.0
// The two gradients of y = x Wt as matrix products. Any of the sizes may be a device's part of the whole: a part of the
// outputs makes dx a partial sum, a part of the rows makes dw a partial sum.
#pragma once

#include "engine/machine/gemm.h"

namespace shardboard::engine {

/// Rows of x and y on this device, and its part of the weight [out, in].
struct LinearSizes {
    std::int64_t rows = 0;
    std::int64_t in = 0;
    std::int64_t out = 0;
};

/// dx [rows, in] = dy [rows, out] w [out, in]; added to what is there with `add`. `dyStride` is the distance between rows of
/// dy, so that a weight whose rows arrive in chunks can be taken chunk by chunk.
inline void linearInputGradient(const LinearSizes& sizes, const float* dy, std::int64_t dyStride, const float* w, bool add,
                                float* dx)
{
    sgemm(false, false, sizes.rows, sizes.in, sizes.out, 1, dy, dyStride, w, sizes.in, add ? 1.0f : 0.0f, dx, sizes.in);
}

/// dw [out, in] = dyt [out, rows] x [rows, in]; added to what is there with `add`.
inline void linearWeightGradient(const LinearSizes& sizes, const float* dy, std::int64_t dyStride, const float* x, bool add,
                                 float* dw)
{
    sgemm(true, false, sizes.out, sizes.in, sizes.rows, 1, dy, dyStride, x, sizes.in, add ? 1.0f : 0.0f, dw, sizes.in);
}

} // namespace shardboard::engine
